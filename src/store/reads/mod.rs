//! Statements that only read, one snapshot each.

pub mod handoffs;
pub mod status;
pub mod timeline;
