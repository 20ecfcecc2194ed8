//! Turns: claims, heartbeats, releases.

pub mod claim;
mod dispatcher;

pub(super) use dispatcher::Dispatcher;
