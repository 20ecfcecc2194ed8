//! What callers read: statements that lock nothing and change nothing, each one snapshot.

pub mod agents;
pub mod events;
pub mod mailbox;
pub mod handoffs;
pub mod signals;
pub mod status;
pub mod threads;
pub mod turns;
pub mod timeline;
