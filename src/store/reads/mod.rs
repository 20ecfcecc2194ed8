//! What is read outside the pipeline, from the pool.

pub mod turns;
