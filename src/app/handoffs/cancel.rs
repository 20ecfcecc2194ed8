//! CancelHandoff.

use std::sync::Arc;

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::domain::caller::Caller;
use crate::domain::handoffs::cancel::{CancelHandoff, Cancelled};
use crate::domain::ids::{HandoffId, Namespace};
use crate::domain::refusal::Refusal;
use crate::domain::status::{Observed, Texts};
use crate::store::reads::handoffs;

impl App {
    /// Stops tracking a handoff, and tells its present state.
    ///
    /// # Errors
    /// See `Error`.
    pub async fn cancel_handoff(
        &self,
        request: Request,
        command: CancelHandoff,
    ) -> Result<(Cancelled, Arc<Observed>), Error> {
        let (namespace, deadline) = (request.namespace.clone(), request.deadline);
        let (caller, id) = (command.caller, command.handoff_id);
        let cancelled = self.submit(request, command).await;
        let cancelled = self.as_seen(cancelled, &namespace, caller, id).await?;
        let observed = self.observe(&namespace, id, Texts::NONE, deadline).await;
        let observed = observed.map_err(|error| match error {
            // It was committed, so nobody may be told that nothing happened.
            Error::Unavailable | Error::Overloaded | Error::Draining => Error::OutcomeUnknown,
            other => other,
        })?;
        Ok((cancelled, observed))
    }

    /// A thread sees everything below it: what it sees and may not steer is told apart from what does not
    /// exist for it.
    pub(super) async fn as_seen<A>(
        &self,
        answer: Result<A, Error>,
        namespace: &Namespace,
        caller: Caller,
        id: HandoffId,
    ) -> Result<A, Error> {
        match (answer, caller) {
            (Err(Error::Refused(Refusal::HandoffNotFound(_))), Caller::Turn { turn_id, .. })
                if handoffs::is_ancestor(&*self.pool.place().await?, namespace, turn_id, id)
                    .await? =>
            {
                Err(Refusal::NotParent { handoff_id: id }.into())
            }
            (answer, _) => answer,
        }
    }
}
