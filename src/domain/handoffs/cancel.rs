//! CancelHandoff: stops tracking, in every state that is not terminal, with the same end and the same
//! notice for each. The child is told only where that is asked.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::caller::Caller;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::ids::{AgentId, HandoffId};
use crate::domain::plan::{Event, GivenMail, Remark, Rerun, TurnEnd};
use crate::domain::refusal::Refusal;
use crate::domain::threads::Head;
use crate::domain::turns::{AbortRequest, TurnOutcome};
use crate::domain::world::World;

use super::notice::Ending;
use super::{
    Actor, ErrorCause, Handoff, HandoffError, Outcome, Progress, TerminalStatus, TimelineReason,
};

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
        let mut ask = self.caller.route();
        ask.handoffs.insert(self.handoff_id);
        ask
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let mut footprint = self.caller.footprint(None, route).handoff(self.handoff_id);
        if let Some(known) = route.handoffs.get(&self.handoff_id) {
            footprint = footprint.head(known.parent_thread_id);
            if let Some(child) = known.child_thread_id {
                footprint.merge(&route.work_of_thread(child));
            }
        }
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
        if let Some(acting) = acting
            .as_ref()
            .filter(|acting| Some(acting.thread_id) != handoff.parent_thread_id)
        {
            // The child sees its own handoff; to anybody else it does not exist.
            return Err(if Some(acting.thread_id) == handoff.child_thread_id {
                Refusal::NotParent {
                    handoff_id: self.handoff_id,
                }
                .into()
            } else {
                Refusal::HandoffNotFound(self.handoff_id).into()
            });
        }
        let begin = acting
            .as_ref()
            .map_or_else(Vec::new, |acting| acting.begin.clone());
        let started = match handoff.progress {
            Progress::Started => true,
            Progress::Running { .. } => false,
            Progress::Closed { .. } => {
                let answer = Ok(self.answer(world, handoff, true, false));
                return Ok(Decision {
                    events: begin,
                    answer,
                });
            }
        };
        if let Some(parent) = handoff.parent_thread_id {
            world.head(parent)?;
        }
        let child = handoff
            .child_thread_id
            .map(|child| world.head(child))
            .transpose()?;
        let mut events = begin;
        let by = acting.map_or(Actor::Operator, |acting| Actor::Thread(acting.thread_id));
        let stopping = self.stop(world, child, started, &by)?;
        let requested = stopping
            .iter()
            .any(|event| matches!(event, Event::AbortRequested { .. }));
        events.extend(self.ending(by, started, requested).events(handoff, context));
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

    /// What is taken from the child: work that no turn began is not begun any more, and a stop that
    /// was asked for reaches the live turn or withdraws the wake.
    fn stop(
        &self,
        world: &World,
        child: Option<&Head>,
        started: bool,
        by: &Actor,
    ) -> Result<Vec<Event>, Stop> {
        let Some(head) = child else {
            return Ok(Vec::new());
        };
        let thread_id = head.thread_id;
        let Some(turn_id) = head.turn_id else {
            let withdraw = started || self.stop_child;
            return Ok(withdraw
                .then_some(Event::WakeWithdrawn { thread_id })
                .into_iter()
                .collect());
        };
        if started && !head.turn_running {
            let turn = world.turn(turn_id)?;
            if turn.holds_slot {
                world.slots(&turn.agent_id)?;
            }
            return Ok(vec![Event::TurnEnded(TurnEnd {
                turn_id,
                outcome: TurnOutcome::Aborted,
                next: None,
                response: None,
                error: None,
                mail: GivenMail::Returned,
                rerun: Rerun::IfMail,
                fingerprint: None,
                finish_answer: Vec::new(),
            })]);
        }
        if !self.stop_child {
            return Ok(Vec::new());
        }
        world.turn(turn_id)?;
        let request = AbortRequest {
            request_time: world.now,
            reason: "cancelled".to_owned(),
        };
        let remark = Remark {
            handoff_id: self.handoff_id,
            actor: by.clone(),
            reason: TimelineReason::StopRequested,
            text: String::new(),
            turn_id: Some(turn_id),
            report_version: None,
        };
        Ok(vec![
            Event::AbortRequested { turn_id, request },
            Event::Remarked(remark),
        ])
    }
}
