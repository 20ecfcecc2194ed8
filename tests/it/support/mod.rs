//! What every test stands on: the real server in this process, on a database of its own.

pub(crate) mod clients;
pub(crate) mod database;
pub(crate) mod errors;
mod invariants;
pub(crate) mod server;
pub(crate) mod waiting;

pub(crate) use clients::Clients;
pub(crate) use errors::told;
pub(crate) use server::with_server;
pub(crate) use waiting::eventually;
