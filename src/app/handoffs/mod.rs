//! Handoffs: create, cancel, wait, results.

mod cancel;
mod create;
pub mod results;
pub mod wait;
