//! What operators ask of a server: proof of the promises, and what it stands on.

mod invariants;
mod server;

pub use invariants::{Cursor, Progress, named};
pub use server::ServerView;

pub use crate::store::invariants::{ALL, Invariant, Violation};
pub use crate::store::reads::server::LongTransaction;
