//! A private PostgreSQL for `dev` and for the tests; knows no other layer.
//!
//! One storage engine everywhere means that a first start on a bare machine has to bring a real
//! PostgreSQL along. A [`Cluster`] finds the machine's binaries or gets some, keeps its data in one
//! [`Folder`], listens on a Unix socket only its own account can reach, and ends with the process
//! that started it, also when that process is killed.
//!
//! Who may race with whom: two processes on one folder are kept apart by a file lock, which the
//! kernel releases with its holder. A server that outlived its holder is stopped before the next
//! one starts, never adopted: it may run with other settings, and nothing ties its end to ours.
//! Data is never deleted, but for ephemeral folders that this module made itself.

mod account;
mod cluster;
mod ephemeral;
mod error;
mod find;
mod folder;
mod initdb;
mod install;
mod janitor;
mod keeper;
mod launch;
mod lock;
mod postmaster;
#[cfg(test)]
mod tests;
mod tie;

pub use cluster::{Cluster, ClusterOptions, Durability};
pub use error::DevdbError;
pub use find::Search;
pub use folder::{Folder, default_folder};
pub use install::Install;
