//! The gRPC surface: parses requests, calls use cases, encodes answers.

pub mod agents;
pub(crate) mod check;
pub(crate) mod encode;
pub(crate) mod events;
mod json;
pub mod layers;
pub(crate) mod mail;
pub mod mailbox;
pub(crate) mod page;
pub(crate) mod request;
pub mod runtime;
pub(crate) mod signals;
mod status;
pub mod threads;
