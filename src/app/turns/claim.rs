//! ClaimTurns: waits, without a connection, until turns are assigned or the time is up.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::app::signals::TurnSignals;
use crate::domain::ids::{AgentId, Namespace, TurnId};
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

type Reply = Result<Vec<ClaimedTurn>, Error>;

/// A claim that waits in the dispatcher.
#[derive(Debug)]
pub(in crate::app) struct Waiter {
    pub(in crate::app) namespace: Namespace,
    pub(in crate::app) claimer: Claimer,
    pub(in crate::app) agents: BTreeSet<AgentId>,
    pub(in crate::app) max: usize,
    /// When it stops waiting.
    pub(in crate::app) end: Instant,
    /// When its first look is due.
    pub(in crate::app) look_at: Instant,
    pub(in crate::app) reply: oneshot::Sender<Reply>,
    /// Dropped when it was part of a look: no claim leaves before it had one.
    pub(in crate::app) unseen: Option<oneshot::Sender<()>>,
}

impl Waiter {
    /// It was part of a look already.
    pub(super) fn is_seen(&self) -> bool {
        self.unseen.is_none()
    }
}

/// Turns on their way to a claimer. Where the call is dropped on the way they are given back, so that
/// nothing waits for a lease because a client went away.
struct Parcel<'a> {
    app: &'a App,
    namespace: &'a Namespace,
    answer: oneshot::Receiver<Reply>,
    turns: Vec<ClaimedTurn>,
}

impl Parcel<'_> {
    /// Ends the wait; turns that were assigned in this very moment still count.
    fn close(&mut self) -> Result<(), Error> {
        self.answer.close();
        if let Ok(reply) = self.answer.try_recv() {
            self.turns = reply?;
        }
        Ok(())
    }

    fn deliver(mut self) -> Vec<ClaimedTurn> {
        std::mem::take(&mut self.turns)
    }
}

impl Drop for Parcel<'_> {
    fn drop(&mut self) {
        self.answer.close();
        if let Ok(Ok(turns)) = self.answer.try_recv() {
            self.turns.extend(turns);
        }
        self.app
            .give_back(self.namespace, std::mem::take(&mut self.turns));
    }
}

impl App {
    /// Claims turns, each with what it is told at once.
    ///
    /// # Errors
    /// The runtime is unknown or has a newer life; an agent is unknown; the server is stopping; the
    /// database is away.
    pub async fn claim(
        &self,
        request: &Request,
        claim: ClaimTurns,
    ) -> Result<Vec<(ClaimedTurn, TurnSignals)>, Error> {
        if self.draining.is_cancelled() {
            return Err(Error::Draining);
        }
        let now = Instant::now();
        let end = now + claim.wait;
        let end = request.deadline.map_or(end, |deadline| end.min(deadline));
        let (reply, answer) = oneshot::channel();
        let (unseen, mut seen) = oneshot::channel();
        self.dispatcher.enter(Waiter {
            namespace: request.namespace.clone(),
            claimer: claim.claimer,
            agents: claim.agents,
            max: claim.max,
            end,
            look_at: now,
            reply,
            unseen: Some(unseen),
        })?;
        let mut parcel = Parcel {
            app: self,
            namespace: &request.namespace,
            answer,
            turns: Vec::new(),
        };
        let patience = async {
            let _ = timeout_at(end, std::future::pending::<()>()).await;
            // The time of a claim that does not wait is one look, however long that takes.
            let _ = (&mut seen).await;
        };
        tokio::select! {
            biased;
            reply = &mut parcel.answer => match reply {
                Ok(reply) => parcel.turns = reply?,
                Err(_) => return Err(Error::Draining),
            },
            () = patience => parcel.close()?,
            () = past(request.deadline) => parcel.close()?,
            () = self.draining.cancelled() => parcel.close()?,
        }
        let behind = parcel.turns.iter().filter(|turn| turn.waking_unread > 0);
        let behind: Vec<TurnId> = behind.map(|turn| turn.turn_id).collect();
        let mut signals = self.signals(&request.namespace, &behind).await?;
        let turns = parcel.deliver().into_iter();
        Ok(turns
            .map(|turn| {
                let told = signals.remove(&turn.turn_id).unwrap_or_default();
                (turn, told)
            })
            .collect())
    }

    /// Gives back turns whose claimer went away before it heard of them.
    pub(super) fn give_back(&self, namespace: &Namespace, turns: Vec<ClaimedTurn>) {
        for turn in turns {
            let release = ReleaseTurn {
                turn_id: turn.turn_id,
                token: turn.token,
                holder: None,
            };
            self.pipeline
                .detach(Request::internal(namespace.clone()), release);
        }
    }
}

/// Resolves when the caller stops waiting, where it said when.
async fn past(deadline: Option<Instant>) {
    match deadline {
        Some(at) => drop(timeout_at(at, std::future::pending::<()>()).await),
        None => std::future::pending().await,
    }
}
