//! What callers read: statements that lock nothing and change nothing, each one snapshot.

pub mod agents;
pub mod clock;
pub mod events;
pub mod gauges;
pub mod handoffs;
pub mod lineage;
pub mod lists;
pub mod mailbox;
pub mod server;
pub mod signals;
pub mod stats;
pub mod status;
pub mod stuck;
pub mod threads;
pub mod timeline;
pub mod turns;
