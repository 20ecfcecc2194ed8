//! What is told of handoffs.

mod batches;
mod filters;
mod lineage;
mod lists;
mod live;
mod stats;
mod texts;
mod timelines;
