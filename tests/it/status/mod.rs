//! What is told of handoffs.

mod lists;
mod live;
mod texts;
mod timelines;
