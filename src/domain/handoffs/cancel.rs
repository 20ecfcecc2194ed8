//! CancelHandoff: stops tracking, in every state that is not terminal, with the same end and the same
//! notice for each. The child is told only where that is asked.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::caller::Caller;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::ids::{AgentId, HandoffId};
use crate::domain::plan::Event;
use crate::domain::world::World;

use super::notice::Ending;
use super::stop::stop;
use super::{Actor, ErrorCause, Handoff, HandoffError, Outcome, TerminalStatus, TimelineReason};

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct CancelHandoff {
    /// Who calls.
    #[serde(skip)]
    pub caller: Caller,
    /// Which.
    pub handoff_id: HandoffId,
    /// Why, for people; may be empty.
    pub reason: String,
    /// Asks the child's turn to stop and withdraws what it was to do.
    pub stop_child: bool,
    /// The parent's notice wakes it.
    pub wake_parent: bool,
}

/// What was found, or done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cancelled {
    /// Which; its present state is read after the commit.
    pub handoff_id: HandoffId,
    /// Whose thread the parent is, where that is known.
    pub parent_agent_id: Option<AgentId>,
    /// It had ended before, and nothing changed.
    pub already_ended: bool,
    /// A live turn was asked to stop.
    pub stop_requested: bool,
    /// It was cancelled before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for Cancelled {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for CancelHandoff {
    type Answer = Cancelled;
    const NAME: &'static str = "handoffs.cancel";

    fn lane_key(&self) -> u128 {
        self.handoff_id.into_untyped().as_u128()
    }

    fn caller(&self) -> &Caller {
        &self.caller
    }

    fn route(&self) -> RouteAsk {
        self.caller.route().handoff(self.handoff_id)
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let mut footprint = self.caller.footprint(None, route);
        footprint.merge(&route.work_of_handoff(self.handoff_id));
        footprint
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        ask.waking.extend(
            world
                .handoffs
                .get(&self.handoff_id)
                .and_then(|handoff| handoff.child_thread_id),
        );
    }

    fn decide(
        &self,
        world: &World,
        context: &mut Context<'_>,
    ) -> Result<Decision<Cancelled>, Stop> {
        let acting = self.caller.acting(world, None)?;
        let handoff = world.handoff(self.handoff_id)?;
        handoff.check_parent(acting.as_ref().map(|acting| acting.thread_id))?;
        let begin = acting
            .as_ref()
            .map_or_else(Vec::new, |acting| acting.begin.clone());
        if !handoff.is_unfinished() {
            let answer = Ok(self.answer(world, handoff, true, false));
            return Ok(Decision {
                events: begin,
                answer,
            });
        }
        let started = handoff.first_turn_time().is_none();
        let parent = handoff.parent_thread_id;
        let parent = parent.map(|parent| world.head(parent)).transpose()?;
        let mut events = begin;
        let by = acting.map_or(Actor::Operator, |acting| Actor::Thread(acting.thread_id));
        let asked = self.stop_child.then_some("cancelled");
        let stopping = stop(world, handoff, asked, &by)?;
        let requested = stopping
            .iter()
            .any(|event| matches!(event, Event::AbortRequested { .. }));
        let ending = self.ending(by, started, requested);
        events.extend(ending.events(handoff, parent, context));
        events.extend(stopping);
        Ok(Decision {
            events,
            answer: Ok(self.answer(world, handoff, false, requested)),
        })
    }
}

impl CancelHandoff {
    fn answer(
        &self,
        world: &World,
        handoff: &Handoff,
        already_ended: bool,
        stop_requested: bool,
    ) -> Cancelled {
        let parent = handoff
            .parent_thread_id
            .and_then(|parent| world.heads.get(&parent));
        Cancelled {
            handoff_id: self.handoff_id,
            parent_agent_id: parent.map(|head| head.agent_id.clone()),
            already_ended,
            stop_requested,
            deduplicated: false,
        }
    }

    fn ending(&self, actor: Actor, started: bool, stop_requested: bool) -> Ending {
        let mut summary = "The handoff was cancelled.".to_owned();
        if !self.reason.is_empty() {
            summary = format!("The handoff was cancelled: {}", self.reason);
        }
        let advice = if started {
            "No turn of the child ever began, and none will for this work."
        } else if stop_requested {
            "The child was asked to stop and has not acknowledged it yet; what it still does is kept as late."
        } else {
            "A child that was at work may go on, and its side effects can still land; results stay readable."
        };
        Ending {
            status: TerminalStatus::Cancelled,
            outcome: Outcome::Cancelled,
            error: HandoffError {
                cause: ErrorCause::Cancelled,
                failure_class: None,
                summary,
                advice: advice.to_owned(),
            },
            actor,
            reason: TimelineReason::Cancelled,
            turn_id: None,
            wakes: self.wake_parent,
            set_aside: None,
        }
    }
}
