//! The product's rules as plain data and pure functions: no async, no SQL, no clock, no randomness.

pub mod agent;
pub mod caller;
pub mod command;
pub mod handoff;
pub mod history;
pub mod ids;
pub mod limits;
pub mod mail;
pub mod plan;
pub mod refusal;
pub mod runtime;
pub mod thread;
pub mod time;
pub mod turn;
pub mod world;
