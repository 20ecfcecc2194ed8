//! Use cases, carried out by the pipeline.

pub mod error;
pub mod hints;
pub mod pipeline;
pub mod registry;
