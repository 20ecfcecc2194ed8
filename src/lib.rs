//! handoffd: a coordination server for AI agents on PostgreSQL. `ARCHITECTURE.md` is the map.

pub mod app;
pub mod bench;
pub mod ctl;
pub mod devdb;
pub mod domain;
#[cfg(test)]
mod fuzz;
pub mod grpc;
pub mod proto;
pub mod redact;
pub mod server;
pub mod store;
pub mod workers;
