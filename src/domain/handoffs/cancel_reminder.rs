//! CancelReminder: an operator takes back a reminder that nobody was given yet. It counts among those that a
//! handoff may get in its life, so that cancelled ones do not come back without end.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::ids::HandoffId;
use crate::domain::plan::{Event, Remark};
use crate::domain::world::World;

use super::{Actor, TimelineReason};

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct CancelReminder {
    /// Of which handoff.
    pub handoff_id: HandoffId,
    /// Why, for people; may be empty.
    pub reason: String,
}

/// What was found, or done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelledReminder {
    /// False where none was outstanding, or a turn was given it already.
    pub cancelled: bool,
    /// It was cancelled before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for CancelledReminder {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for CancelReminder {
    type Answer = CancelledReminder;
    const NAME: &'static str = "handoffs.cancel_reminder";

    fn lane_key(&self) -> u128 {
        self.handoff_id.into_untyped().as_u128()
    }

    fn route(&self) -> RouteAsk {
        RouteAsk::default().handoff(self.handoff_id)
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let known = route.handoffs.get(&self.handoff_id);
        Footprint::default()
            .handoff(self.handoff_id)
            .head(known.and_then(|known| known.child_thread_id))
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        let handoff = world.handoffs.get(&self.handoff_id);
        ask.waking.extend(handoff.and_then(|it| it.child_thread_id));
    }

    fn decide(
        &self,
        world: &World,
        _: &mut Context<'_>,
    ) -> Result<Decision<CancelledReminder>, Stop> {
        let handoff = world.handoff(self.handoff_id)?;
        let answer = |cancelled| CancelledReminder {
            cancelled,
            deduplicated: false,
        };
        let outstanding = handoff.reminder_mail_number.zip(handoff.child_thread_id);
        let outstanding = outstanding.filter(|_| handoff.is_unfinished());
        let Some((number, child)) = outstanding else {
            return Ok(Decision::unchanged(answer(false)));
        };
        let head = world.head(child)?;
        if number <= head.given_through {
            return Ok(Decision::unchanged(answer(false)));
        }
        // Without it the child may be reminded again in time.
        let again = handoff.reminder_time.unwrap_or(world.now) + world.rules.reminder_interval;
        let events = vec![
            Event::ReminderCancelled {
                handoff_id: self.handoff_id,
            },
            Event::Remarked(Remark {
                handoff_id: self.handoff_id,
                actor: Actor::Operator,
                reason: TimelineReason::ReminderCancelled,
                text: self.reason.clone(),
                turn_id: None,
                report_version: None,
            }),
            Event::DueSet {
                thread_id: child,
                due_time: Some(head.due_time.map_or(again, |due| due.min(again))),
                waited_time: None,
            },
        ];
        Ok(Decision {
            events,
            answer: Ok(answer(true)),
        })
    }
}
