//! What operators ask of a server: proof of the promises, and what it stands on.

pub mod bulk_cancel;
mod explain;
mod force;
mod invariants;
mod server;
mod stuck;

pub use explain::{Explanation, SlotHolder, ThreadView};
pub use invariants::{Cursor, Progress, named};
pub use server::ServerView;
pub use stuck::{StuckItem, StuckPage};

pub use crate::store::invariants::{ALL, Invariant, Violation};
pub use crate::store::reads::server::LongTransaction;
