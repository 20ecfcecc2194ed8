//! ExtendDeadline.

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::domain::handoffs::extend::{ExtendDeadline, Extended};
use crate::domain::status::Texts;

impl App {
    /// Sets the execution limit of a handoff anew. A repeat is told its present state.
    ///
    /// # Errors
    /// See `Error`.
    pub async fn extend_deadline(
        &self,
        request: Request,
        command: ExtendDeadline,
    ) -> Result<Extended, Error> {
        let (namespace, deadline) = (request.namespace.clone(), request.deadline);
        let (caller, id) = (command.caller, command.handoff_id);
        let extended = self.submit(request, command).await;
        let extended = self.as_seen(extended, &namespace, caller, id).await;
        let mut extended = extended?;
        if extended.deduplicated {
            let observed = self.observe(&namespace, id, Texts::NONE, deadline).await?;
            extended.handoff = observed.facts.handoff.clone();
        }
        Ok(extended)
    }
}
