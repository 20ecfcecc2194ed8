//! The claims of one namespace that wait together.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::app::error::Error;
use crate::app::registry::Watch;
use crate::domain::ids::{AgentId, Namespace};
use crate::store::StoreError;

use super::claim::Waiter;

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

/// The database is away: claims that were just made hear it, those that wait go on waiting.
pub(super) fn fail(group: &mut Group, error: StoreError) {
    let error = Error::from(error);
    for waiter in std::mem::take(&mut group.waiters) {
        if waiter.is_seen() {
            group.waiters.push(waiter);
        } else {
            drop(waiter.reply.send(Err(error.clone())));
        }
    }
    group.look_at = Some(Instant::now() + RETRY);
}
