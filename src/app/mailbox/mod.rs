//! Use cases of mail that are more than one command.

mod ack;
mod list;
mod read;

pub use list::{ListMail, MailPage};
pub use read::{Reader, Received};

use crate::app::App;
use crate::app::error::Error;
use crate::app::signals::TurnSignals;
use crate::domain::caller::Caller;
use crate::domain::ids::Namespace;

impl App {
    /// What the calling turn is told; nothing where no turn calls.
    async fn signals_of(
        &self,
        namespace: &Namespace,
        caller: Caller,
    ) -> Result<TurnSignals, Error> {
        let Caller::Turn { turn_id, .. } = caller else {
            return Ok(TurnSignals::default());
        };
        let mut found = self.signals(namespace, &[turn_id]).await?;
        Ok(found.remove(&turn_id).unwrap_or_default())
    }
}
