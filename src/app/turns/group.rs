//! The claims of one namespace that wait together.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::app::error::Error;
use crate::app::registry::Watch;
use crate::domain::ids::{AgentId, Namespace};
use crate::store::StoreError;

use super::claim::Waiter;

/// A look that saw more than it could lock looks again after this.
pub(super) const HELD: Duration = Duration::from_millis(10);
/// Looks in a row that the database did not finish in time before claims that were just made hear of it.
const SLOW_LOOKS: u32 = 2;
/// A look that failed for the database is tried again after this.
const RETRY: Duration = Duration::from_millis(200);

/// See the module.
#[derive(Default)]
pub(super) struct Group {
    pub(super) waiters: Vec<Waiter>,
    pub(super) watches: HashMap<AgentId, Watch>,
    /// Agents that may have something to do.
    pub(super) moved: BTreeSet<AgentId>,
    /// When to look whatever moved.
    pub(super) look_at: Option<Instant>,
    /// Looks in a row that the database did not finish in time.
    pub(super) slow_looks: u32,
}

/// Resolves when an agent that is waited for moved.
pub(super) async fn moved(groups: &mut HashMap<Namespace, Group>) {
    let watches = groups
        .values_mut()
        .flat_map(|group| group.watches.values_mut());
    let moves: Vec<_> = watches.map(|watch| Box::pin(watch.peek_moved())).collect();
    if moves.is_empty() {
        std::future::pending::<()>().await;
    }
    futures_util::future::select_all(moves).await;
}

impl Group {
    /// A look came to nothing, in a session that was `reused`. It is made again, soon where that helps.
    pub(super) fn failed(&mut self, error: StoreError, reused: bool) {
        let again = match &error {
            StoreError::Busy(_) | StoreError::Conflict | StoreError::Undone(_) => Some(HELD),
            // A session that died unnoticed is replaced once; nothing happened in it.
            StoreError::Unavailable(_) if reused => Some(Duration::ZERO),
            error if error.is_slow() && self.slow_looks < SLOW_LOOKS => {
                self.slow_looks += 1;
                Some(HELD)
            }
            _ => None,
        };
        if again.is_none() {
            self.fail(error);
        }
        self.look_at = Some(Instant::now() + again.unwrap_or(RETRY));
    }

    /// The database is away: claims that were just made hear it, those that wait go on waiting.
    fn fail(&mut self, error: StoreError) {
        let error = Error::from(error);
        for waiter in std::mem::take(&mut self.waiters) {
            if waiter.is_seen() {
                self.waiters.push(waiter);
            } else {
                drop(waiter.reply.send(Err(error.clone())));
            }
        }
    }
}
