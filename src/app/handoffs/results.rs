//! `GetHandoffResults`: whatever exists.

use std::sync::Arc;

use tokio::time::Instant;

use crate::app::App;
use crate::app::error::Error;
use crate::domain::ids::{HandoffId, Namespace};
use crate::domain::limits;
use crate::domain::status::{Observed, ReportView, Texts};
use crate::store::reads::handoffs::{self, Output};

/// What a handoff produced so far.
#[derive(Clone, Debug)]
pub struct Results {
    /// State, and the result where one was recorded.
    pub observed: Arc<Observed>,
    /// Newest first, as many as fit.
    pub reports: Vec<ReportView>,
    /// What the child said last, and its turns.
    pub output: Output,
}

impl App {
    /// Gives whatever exists. Reports and responses never change, so what is read after the state
    /// belongs to the state that was read.
    ///
    /// # Errors
    /// There is no such handoff; the database is away.
    pub async fn results(
        &self,
        namespace: &Namespace,
        id: HandoffId,
        deadline: Option<Instant>,
    ) -> Result<Results, Error> {
        let observed = self
            .observe(namespace, id, Texts::OF_STATUS, deadline)
            .await?;
        let handoff = &observed.facts.handoff;
        let head = observed.facts.head.as_ref();
        let output = match head {
            Some(head) => {
                let number = head.response_number;
                handoffs::output(
                    &*self.pool.place().await?,
                    namespace,
                    head.thread_id,
                    number,
                )
                .await?
            }
            None => Output::default(),
        };
        let result = observed.result.as_ref().map_or(0, String::len);
        let response = output.response.as_ref().map_or(0, String::len);
        let reports = if handoff.report_version == 0 {
            Vec::new()
        } else {
            handoffs::reports(
                &*self.pool.place().await?,
                namespace,
                handoff,
                handoff.report_version,
                limits::PAGE_BYTES.saturating_sub(result + response),
            )
            .await?
        };
        Ok(Results {
            observed,
            reports,
            output,
        })
    }
}
