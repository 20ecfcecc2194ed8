//! ClaimTurns: waits, without a connection, until turns are assigned or the time is up.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::domain::ids::{AgentId, Namespace};
use crate::domain::turns::assign::{ClaimedTurn, Claimer};
use crate::domain::turns::release::ReleaseTurn;

/// What a runtime asks for.
#[derive(Clone, Debug)]
pub struct ClaimTurns {
    /// Who asks.
    pub claimer: Claimer,
    /// The agents it hosts.
    pub agents: BTreeSet<AgentId>,
    /// Turns at most.
    pub max: usize,
    /// How long to wait for the first.
    pub wait: Duration,
}

/// A claim that waits in the dispatcher.
#[derive(Debug)]
pub(in crate::app) struct Waiter {
    pub(in crate::app) namespace: Namespace,
    pub(in crate::app) claimer: Claimer,
    pub(in crate::app) agents: BTreeSet<AgentId>,
    pub(in crate::app) max: usize,
    pub(in crate::app) reply: oneshot::Sender<Result<Vec<ClaimedTurn>, Error>>,
    /// It was part of a look already.
    pub(in crate::app) seen: bool,
}

impl App {
    /// Claims turns.
    ///
    /// # Errors
    /// The runtime is unknown or has a newer life; the server is stopping; the database is away.
    pub async fn claim(
        &self,
        request: &Request,
        claim: ClaimTurns,
    ) -> Result<Vec<ClaimedTurn>, Error> {
        if self.draining.is_cancelled() {
            return Err(Error::Draining);
        }
        let (reply, mut answer) = oneshot::channel();
        let waiter = Waiter {
            namespace: request.namespace.clone(),
            claimer: claim.claimer,
            agents: claim.agents,
            max: claim.max,
            reply,
            seen: false,
        };
        self.dispatcher.enter(waiter)?;
        let end = Instant::now() + claim.wait;
        let end = request.deadline.map_or(end, |deadline| end.min(deadline));
        tokio::select! {
            waited = timeout_at(end, &mut answer) => match waited {
                Ok(Ok(claimed)) => return claimed,
                Ok(Err(_)) => return Err(Error::Draining),
                Err(_) => {}
            },
            () = self.draining.cancelled() => {}
        }
        // Turns that were assigned in this very moment are not left to their lease.
        answer.close();
        answer.try_recv().unwrap_or(Ok(Vec::new()))
    }

    /// Gives back turns whose claimer went away before it heard of them.
    pub(super) fn give_back(&self, namespace: &Namespace, turns: Vec<ClaimedTurn>) {
        for turn in turns {
            let release = ReleaseTurn {
                turn_id: turn.turn_id,
                token: turn.token,
            };
            self.pipeline
                .detach(Request::internal(namespace.clone()), release);
        }
    }
}
