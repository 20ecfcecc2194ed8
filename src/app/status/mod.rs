//! Status: what is true of handoffs now. Nothing here changes anything.

pub mod batch;
pub mod lineage;
pub mod list;
pub mod stats;
pub mod timeline;

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::app::error::Error;
use crate::domain::ids::{HandoffId, Namespace};
use crate::domain::limits::Rules;
use crate::domain::refusal::Refusal;
pub use crate::domain::status::Texts;
use crate::domain::status::{Assessment, Observed, assess};

impl App {
    /// Observes one handoff, with these texts at least.
    ///
    /// # Errors
    /// There is no such one; the database is away; the caller's time is up.
    pub async fn observe(
        &self,
        namespace: &Namespace,
        id: HandoffId,
        texts: Texts,
        deadline: Option<Instant>,
    ) -> Result<Arc<Observed>, Error> {
        let read = self.reader.read(namespace, id, texts);
        let found = match deadline {
            Some(deadline) => timeout_at(deadline, read)
                .await
                .map_err(|_| Error::DeadlineExceeded)??,
            None => read.await?,
        };
        found.ok_or_else(|| Refusal::HandoffNotFound(id).into())
    }

    /// The rules that status is judged by.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What follows from an observation, by this server's rules.
    #[must_use]
    pub fn assess(&self, observed: &Observed) -> Assessment {
        assess(&observed.facts, observed.now, &self.rules)
    }
}
