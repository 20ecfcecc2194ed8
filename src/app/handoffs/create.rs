//! CreateHandoff.

use tokio::time::Instant;

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::domain::handoffs::create::{CreateHandoff, Created};
use crate::domain::ids::Namespace;
use crate::domain::status::{Observed, Texts};

use super::watch::Watched;

impl App {
    /// Hands work off. A repeat is told the present state of what the first call made. A synchronous call
    /// watches for the end; `deadline` is the caller's own.
    ///
    /// # Errors
    /// See `Error`.
    pub async fn create_handoff(
        &self,
        request: Request,
        command: CreateHandoff,
        deadline: Option<Instant>,
    ) -> Result<(Created, Option<Watched>), Error> {
        let namespace = request.namespace.clone();
        let window = command.watch;
        let mut created = self.submit(request, command).await?;
        let id = created.handoff.handoff_id;
        if let Some(window) = window {
            let watched = self.watch(&namespace, id, window, deadline).await;
            let watched = watched.map_err(committed)?;
            present(&mut created, &watched.results.observed);
            return Ok((created, Some(watched)));
        }
        if created.deduplicated {
            self.tell_present(&namespace, &mut created, deadline)
                .await?;
        }
        Ok((created, None))
    }

    async fn tell_present(
        &self,
        namespace: &Namespace,
        created: &mut Created,
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        let id = created.handoff.handoff_id;
        let observed = self.observe(namespace, id, Texts::NONE, deadline).await?;
        present(created, &observed);
        Ok(())
    }
}

fn present(created: &mut Created, observed: &Observed) {
    created.handoff = observed.facts.handoff.clone();
    created
        .parent_agent_id
        .clone_from(&observed.parent_agent_id);
}

/// The handoff is there, so nobody may be told that nothing happened.
fn committed(error: Error) -> Error {
    match error {
        Error::Unavailable | Error::Overloaded | Error::Draining => Error::OutcomeUnknown,
        other => other,
    }
}
