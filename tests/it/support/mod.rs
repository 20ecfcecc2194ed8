//! What every test stands on: the real server in this process, on a database of its own.

pub(crate) mod clients;
pub(crate) mod database;
pub(crate) mod errors;
pub(crate) mod invariants;
pub(crate) mod log;
pub(crate) mod server;
pub(crate) mod waiting;

pub(crate) use clients::Clients;
pub(crate) use errors::told;
pub(crate) use server::{TestServer, with_server, with_server_of};
pub(crate) use waiting::eventually;
