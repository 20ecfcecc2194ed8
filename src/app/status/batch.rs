//! `BatchGetHandoffStatus`.

use std::collections::HashMap;

use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::app::error::Error;
use crate::domain::ids::{HandoffId, Namespace};
use crate::domain::limits;
use crate::domain::status::{Observed, Texts};
use crate::store::reads::status;

/// What was observed of many handoffs.
#[derive(Debug)]
pub struct ObservedBatch {
    /// By id.
    pub found: HashMap<HandoffId, Observed>,
    /// Not all would have fitted an answer: of those that are missing nothing is known.
    pub cut: bool,
}

impl App {
    /// Observes handoffs at one moment, as many as fit an answer. Its own statement and not the
    /// readers', which would divide it among others'.
    ///
    /// # Errors
    /// The database is away; the caller's time is up.
    pub async fn observe_batch(
        &self,
        namespace: &Namespace,
        ids: &[HandoffId],
        deadline: Option<Instant>,
    ) -> Result<ObservedBatch, Error> {
        let mut asked = ids.to_vec();
        asked.sort_unstable();
        asked.dedup();
        let (texts, bytes) = (Texts::OF_STATUS, limits::PAGE_BYTES);
        let place = self.pool.place().await?;
        let read = status::read_within(&place, namespace, &asked, texts, bytes);
        let read = match deadline {
            Some(deadline) => timeout_at(deadline, read)
                .await
                .map_err(|_| Error::DeadlineExceeded)??,
            None => read.await?,
        };
        let found = read.observed.into_iter();
        Ok(ObservedBatch {
            found: found.map(|it| (it.facts.handoff.handoff_id, it)).collect(),
            cut: read.cut,
        })
    }
}
