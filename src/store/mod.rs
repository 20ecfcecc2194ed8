//! The only SQL: one file per table family, and the statements a batch is made of.

mod agents;
mod codec;
pub mod due;
mod effects;
mod error;
mod handoffs;
mod heads;
mod hearts;
pub mod hints;
pub mod invariants;
mod keys;
mod load;
mod messages;
mod parts;
mod patience;
mod questions;
pub mod reads;
pub mod route;
pub mod runtimes;
pub mod session;
mod settle;
mod threads;
mod timelines;
mod turns;
pub mod txn;
mod write;

pub use error::StoreError;
pub use patience::connect;
pub use write::Composer;
