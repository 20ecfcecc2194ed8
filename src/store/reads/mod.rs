//! What callers read: statements that lock nothing and change nothing, each one snapshot.

pub mod agents;
pub mod events;
pub mod handoffs;
pub mod mailbox;
pub mod server;
pub mod signals;
pub mod status;
pub mod threads;
pub mod timeline;
pub mod turns;
