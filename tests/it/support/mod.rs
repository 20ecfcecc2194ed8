//! What every test stands on: the real server in this process, on a database of its own.

mod clients;
mod database;
mod errors;
mod invariants;
mod server;
mod waiting;

#[expect(unused_imports, reason = "each is there for the tests that need it")]
pub(crate) use {
    clients::Clients,
    errors::{Told, told},
    server::{TestServer, with_server, with_server_of},
    waiting::eventually,
};
