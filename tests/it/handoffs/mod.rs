//! Work handed from thread to thread.

mod cancels;
mod collections;
mod creates;
mod deadlines;
mod keys;
mod races;
mod refusals;
mod results;
pub(crate) mod scene;
mod waits;
mod watches;
