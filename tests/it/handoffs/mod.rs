//! Work handed from thread to thread.

mod cancels;
mod creates;
mod keys;
mod races;
mod refusals;
mod results;
pub(crate) mod scene;
mod waits;
