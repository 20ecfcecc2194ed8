//! What is read outside the pipeline, from the pool.

pub mod mailbox;
pub mod signals;
