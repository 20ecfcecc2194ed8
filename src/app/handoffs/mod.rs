//! Handoffs: create, cancel, wait, results.

mod cancel;
mod create;
mod extend;
pub mod results;
pub mod wait;
pub mod watch;
