//! The gRPC surface: parses requests, calls use cases, encodes answers.

pub mod agents;
pub(crate) mod check;
pub mod codec;
pub(crate) mod encode;
pub(crate) mod encode_handoff;
pub(crate) mod encode_status;
pub(crate) mod encode_timeline;
pub(crate) mod events;
pub mod handoff_status;
pub mod handoffs;
mod json;
pub mod layers;
mod link;
pub(crate) mod mail;
pub mod mailbox;
mod nesting;
pub mod operator;
pub(crate) mod page;
pub(crate) mod request;
pub mod runtime;
pub(crate) mod signals;
mod status;
pub mod threads;
