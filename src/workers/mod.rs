//! Background work: a generic driver and the reconciler's jobs.
//!
//! A job takes no input, is idempotent, retries nothing inside, and a full pass repairs whatever a
//! hint missed. Every server runs all of them; they share the work through the database.

mod driver;
mod jobs;

pub use driver::{Status, drive};
pub use jobs::{Job, JobName};
