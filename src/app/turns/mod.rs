//! Turns: claims, heartbeats, releases.

mod beat;
pub mod claim;
mod dispatcher;
mod group;
mod known;
mod received;
pub mod release;
mod share;

pub(super) use dispatcher::Dispatcher;
pub(super) use known::KnownRuntimes;
