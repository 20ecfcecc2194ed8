//! Signals: what a live turn is told in the answers of its calls. They are read again each time and
//! kept nowhere, so that a lost answer loses none.

use std::collections::HashMap;

use crate::domain::ids::{Namespace, TurnId};
use crate::domain::turns::Signals;
use crate::store::reads;

use super::App;
use super::error::Error;

impl App {
    /// The signals of `turns`, in one statement; turns that ended have none.
    ///
    /// # Errors
    /// The database is away.
    pub async fn signals(
        &self,
        namespace: &Namespace,
        turns: &[TurnId],
    ) -> Result<HashMap<TurnId, Signals>, Error> {
        if turns.is_empty() {
            return Ok(HashMap::new());
        }
        let found = reads::signals::list(&self.pool, namespace, turns).await?;
        Ok(found.into_iter().collect())
    }

    /// The signals of one turn.
    ///
    /// # Errors
    /// The database is away.
    pub(super) async fn signals_of(
        &self,
        namespace: &Namespace,
        turn: TurnId,
    ) -> Result<Signals, Error> {
        let mut found = self.signals(namespace, &[turn]).await?;
        Ok(found.remove(&turn).unwrap_or_default())
    }
}
