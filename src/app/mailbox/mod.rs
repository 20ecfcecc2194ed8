//! Use cases of mail that are more than one command.

mod ack;
mod list;
mod read;

pub use list::{ListMail, MailPage};
pub use read::{Reader, Received};
