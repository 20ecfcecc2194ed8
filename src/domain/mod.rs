//! The product's rules as plain data and pure functions: no async, no SQL, no clock, no randomness.

pub mod agents;
pub mod ask;
pub mod caller;
pub mod command;
pub mod digest;
pub mod effects;
pub mod handoffs;
pub mod history;
pub mod ids;
pub mod limits;
pub mod mailbox;
pub mod plan;
pub mod refusal;
pub mod runtime;
pub mod status;
pub mod threads;
pub mod time;
pub mod turns;
pub mod weight;
pub mod world;
