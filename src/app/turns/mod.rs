//! Turns: claims, heartbeats, releases.

mod beat;
mod beats;
pub mod claim;
mod dispatcher;
mod group;
mod known;
mod received;
pub mod release;
mod share;

pub(super) use beats::Beats;
pub(super) use dispatcher::Dispatcher;
pub(super) use known::KnownRuntimes;
