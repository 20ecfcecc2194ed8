//! ForceEnd: an operator ends work and, with it, the turn that its child is in. A cancel asks a turn to
//! stop and waits for nothing; this closes it, so that whatever still runs there can change nothing.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::ids::{HandoffId, TurnId};
use crate::domain::plan::{Event, GivenMail, Rerun, TurnEnd};
use crate::domain::turns::TurnOutcome;
use crate::domain::turns::returned::returned;
use crate::domain::world::World;

use super::notice::Ending;
use super::{Actor, ErrorCause, HandoffError, TimelineReason};

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct ForceEnd {
    /// Which.
    pub handoff_id: HandoffId,
    /// Why, for people; may be empty.
    pub reason: String,
}

/// What was found, or done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForcedEnd {
    /// It had ended before, and nothing changed.
    pub already_ended: bool,
    /// The child's turn that was closed.
    pub turn_id: Option<TurnId>,
    /// It was ended before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for ForcedEnd {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for ForceEnd {
    type Answer = ForcedEnd;
    const NAME: &'static str = "handoffs.force_end";

    fn lane_key(&self) -> u128 {
        self.handoff_id.into_untyped().as_u128()
    }

    fn route(&self) -> RouteAsk {
        RouteAsk::default().handoff(self.handoff_id)
    }

    fn footprint(&self, route: &Route) -> Footprint {
        route.work_of_handoff(self.handoff_id)
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        let handoff = world.handoffs.get(&self.handoff_id);
        let child = handoff.and_then(|it| it.child_thread_id);
        let head = child.and_then(|child| world.heads.get(&child));
        ask.waking.extend(child);
        ask.read_reports.extend(head.and_then(|head| head.turn_id));
    }

    fn decide(
        &self,
        world: &World,
        context: &mut Context<'_>,
    ) -> Result<Decision<ForcedEnd>, Stop> {
        let handoff = world.handoff(self.handoff_id)?;
        if !handoff.is_unfinished() {
            return Ok(Decision::unchanged(ForcedEnd {
                already_ended: true,
                turn_id: None,
                deduplicated: false,
            }));
        }
        let parent = handoff.parent_thread_id;
        let parent = parent.map(|parent| world.head(parent)).transpose()?;
        let child = handoff.child_thread_id;
        let child = child.map(|child| world.head(child)).transpose()?;
        let turn_id = child.and_then(|head| head.turn_id);
        let mut events = self.ending(turn_id).events(handoff, parent, context);
        if let Some(turn_id) = turn_id {
            let turn = world.turn(turn_id)?;
            if turn.holds_slot {
                world.slots(&turn.agent_id)?;
            }
            events.push(closed(turn_id, Rerun::IfMail));
            events.extend(returned(world, context, turn)?);
        } else if let Some(head) = child {
            let thread_id = head.thread_id;
            events.push(Event::WakeWithdrawn { thread_id });
        }
        Ok(Decision {
            events,
            answer: Ok(ForcedEnd {
                already_ended: false,
                turn_id,
                deduplicated: false,
            }),
        })
    }
}

impl ForceEnd {
    fn ending(&self, turn_id: Option<TurnId>) -> Ending {
        let mut summary = "An operator ended the handoff by force.".to_owned();
        if !self.reason.is_empty() {
            summary = format!("An operator ended the handoff by force: {}", self.reason);
        }
        let error = HandoffError {
            cause: ErrorCause::Forced,
            failure_class: None,
            summary,
            advice: "Look at its partial results and side effects, then hand the work off anew \
                     where it still matters."
                .to_owned(),
        };
        Ending {
            reason: TimelineReason::ForceEnded,
            ..Ending::failed(error, Actor::Operator, turn_id)
        }
    }
}

/// The end of a turn that is taken from its runtime. What it was given counts as never seen.
pub(in crate::domain) fn closed(turn_id: TurnId, rerun: Rerun) -> Event {
    Event::TurnEnded(TurnEnd {
        turn_id,
        outcome: TurnOutcome::Released,
        next: None,
        response: None,
        error: None,
        mail: GivenMail::Returned,
        rerun,
        fingerprint: None,
        finish_answer: Vec::new(),
    })
}
