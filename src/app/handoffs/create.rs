//! CreateHandoff.

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::domain::handoffs::create::{CreateHandoff, Created};
use crate::domain::status::Texts;

impl App {
    /// Hands work off. A repeat is told the present state of what the first call made.
    ///
    /// # Errors
    /// See `Error`.
    pub async fn create_handoff(
        &self,
        request: Request,
        command: CreateHandoff,
    ) -> Result<Created, Error> {
        let (namespace, deadline) = (request.namespace.clone(), request.deadline);
        let mut created = self.submit(request, command).await?;
        if created.deduplicated {
            let id = created.handoff.handoff_id;
            let observed = self.observe(&namespace, id, Texts::NONE, deadline).await?;
            created.handoff = observed.facts.handoff.clone();
            created
                .parent_agent_id
                .clone_from(&observed.parent_agent_id);
        }
        Ok(created)
    }
}
