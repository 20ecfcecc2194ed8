//! What live turns are told between their calls.

use std::collections::BTreeMap;

use super::App;
use super::error::Error;
use crate::domain::ids::{Namespace, TurnId};
use crate::store::reads::signals;

pub use crate::store::reads::signals::{TurnSignals, WaitingMail};

impl App {
    /// Reads the signals of turns, in one statement; a turn that is told nothing is left out.
    ///
    /// # Errors
    /// The database is away.
    pub async fn signals(
        &self,
        namespace: &Namespace,
        turns: &[TurnId],
    ) -> Result<BTreeMap<TurnId, TurnSignals>, Error> {
        if turns.is_empty() {
            return Ok(BTreeMap::new());
        }
        Ok(signals::get(&*self.pool.place().await?, namespace, turns).await?)
    }
}
