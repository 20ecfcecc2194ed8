//! `ForceEnd`, with the present state that its answer shows.

use std::sync::Arc;

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::app::status::Texts;
use crate::domain::handoffs::force_end::{ForceEnd, ForcedEnd};
use crate::domain::status::Observed;

impl App {
    /// Ends a handoff and its child's turn, and tells its present state.
    ///
    /// # Errors
    /// See `Error`.
    pub async fn force_end(
        &self,
        request: Request,
        command: ForceEnd,
    ) -> Result<(ForcedEnd, Arc<Observed>), Error> {
        let (namespace, deadline) = (request.namespace.clone(), request.deadline);
        let id = command.handoff_id;
        let ended = self.submit(request, command).await?;
        let observed = self.observe(&namespace, id, Texts::NONE, deadline).await;
        let observed = observed.map_err(|error| match error {
            // It was committed, so nobody may be told that nothing happened.
            Error::Unavailable | Error::Overloaded | Error::Draining => Error::OutcomeUnknown,
            other => other,
        })?;
        Ok((ended, observed))
    }
}
