//! The real binary, while something breaks: a server, a runtime, the database, the way to it.
//!
//! A workload with known answers runs all along. Whatever broke, at the end nothing is lost, nothing
//! doubled and nothing stuck, and every invariant holds.

mod agents;
mod database;
mod link;
mod network;
mod parents;
mod process;
mod proxy;
mod servers;
mod soak;
mod stage;
mod torture;
mod verdict;
mod workload;

use std::fmt::Display;

/// Tells people how a long run goes.
#[expect(clippy::print_stdout, reason = "a long run is for people to read")]
fn told(what: impl Display) {
    println!("{what}");
}
