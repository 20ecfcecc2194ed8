//! The gRPC surface: parses requests, calls use cases, encodes answers.

pub(crate) mod check;
pub(crate) mod encode;
mod json;
pub mod layers;
pub(crate) mod mail;
pub mod mailbox;
pub(crate) mod page;
pub(crate) mod request;
pub(crate) mod signals;
mod status;
