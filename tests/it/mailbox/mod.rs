//! Mail between threads.

mod acks;
mod limits;
mod lists;
mod reads;
mod reports;
mod requests;
pub(crate) mod scene;
mod sends;
mod waits;

pub(crate) use limits::seed_mail;
pub(crate) use scene::{note, peek, pull, raw, send};
