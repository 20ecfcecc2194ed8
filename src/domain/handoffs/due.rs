//! The reconciler's look at a handoff with a time limit: the end of a watch or of the collection window,
//! work that ran too long or waited too long to be begun.
//!
//! The call that watches sees the end of its window too: whichever server looks first after it writes it
//! down, by this same command, and only if the work is unfinished. Who acknowledges the final version and
//! who finds the window over both lock the handoff, and so do a report and an extension against a
//! deadline: the first commit wins, and the other finds what it left.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::ids::HandoffId;
use crate::domain::plan::{Event, HandoffClose};
use crate::domain::world::World;

use super::notice::Ending;
use super::stop::stop;
use super::{Actor, ErrorCause, Handoff, HandoffError, Progress, TerminalStatus, TimelineReason};

/// The command: look at one handoff. It takes no other input.
#[derive(Clone, Debug, Serialize)]
pub struct CheckDue {
    /// Which.
    pub handoff_id: HandoffId,
}

/// What the look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DueCheck {
    /// Nothing is due, or not any more.
    NotDue,
    /// A runtime was just given the work: it has a little longer to begin it.
    Claimed,
    /// Nobody collected the result within its window.
    Uncollected,
    /// The watch closed; the work goes on.
    WatchExpired,
    /// The work ran or waited too long, and failed.
    Failed,
}

impl Answer for DueCheck {
    fn mark_deduplicated(&mut self) {}
}

impl Command for CheckDue {
    type Answer = DueCheck;
    const NAME: &'static str = "handoffs.check_due";

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
        ask.waking
            .extend(handoff.and_then(|handoff| handoff.child_thread_id));
    }

    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decision<DueCheck>, Stop> {
        let handoff = world.handoff(self.handoff_id)?;
        let now = world.now;
        if handoff.due_time().is_none_or(|due| due > now) {
            return Ok(Decision::unchanged(DueCheck::NotDue));
        }
        if let Progress::Finished {
            finish_time,
            collect_time,
            ..
        } = handoff.progress
        {
            let waited = collect_time.since(finish_time).as_secs();
            return Ok(self.uncollected(waited));
        }
        if handoff.deadline_time().is_some_and(|time| time <= now) {
            return fail(world, context, handoff, too_long(handoff));
        }
        if handoff.unclaimed_time().is_some_and(|time| time <= now) {
            return self.unclaimed(world, context, handoff);
        }
        Ok(Decision {
            events: vec![Event::WatchExpired {
                handoff_id: self.handoff_id,
            }],
            answer: Ok(DueCheck::WatchExpired),
        })
    }
}

impl CheckDue {
    fn uncollected(&self, waited: u64) -> Decision<DueCheck> {
        Decision {
            events: vec![Event::HandoffClosed(HandoffClose {
                handoff_id: self.handoff_id,
                status: TerminalStatus::ExpiredUnnotified,
                actor: Actor::Reconciler,
                reason: TimelineReason::NotNotified,
                text: format!("its parent thread did not collect it within {waited} s"),
            })],
            answer: Ok(DueCheck::Uncollected),
        }
    }

    /// Work that nobody began in time fails, unless a runtime was just given it.
    fn unclaimed(
        &self,
        world: &World,
        context: &mut Context<'_>,
        handoff: &Handoff,
    ) -> Result<Decision<DueCheck>, Stop> {
        let child = handoff.child_thread_id;
        let head = child.map(|child| world.head(child)).transpose()?;
        if head.is_some_and(|head| head.turn_id.is_some()) {
            return Ok(Decision {
                events: vec![Event::ClaimDeadlineMoved {
                    handoff_id: self.handoff_id,
                    time: world.now + world.rules.assign_lease,
                }],
                answer: Ok(DueCheck::Claimed),
            });
        }
        let waited = world.now.since(handoff.create_time).as_secs();
        let error = HandoffError {
            cause: ErrorCause::Unclaimed,
            failure_class: None,
            summary: format!("No runtime began the work within {waited} s."),
            advice: format!(
                "Start a runtime that claims turns of agent `{}`, then hand the work off anew.",
                handoff.agent_id
            ),
        };
        fail(world, context, handoff, error)
    }
}

fn too_long(handoff: &Handoff) -> HandoffError {
    let limit = handoff
        .deadline
        .map_or(0, |deadline| deadline.limit.as_secs());
    HandoffError {
        cause: ErrorCause::Deadline,
        failure_class: None,
        summary: format!("The work did not end within its deadline of {limit} s."),
        advice: "Look at its partial results and at side effects, then hand the work off anew, with more \
                 time or in smaller parts."
            .to_owned(),
    }
}

/// The work fails, its turn is told to stop, and its parent is told.
fn fail(
    world: &World,
    context: &mut Context<'_>,
    handoff: &Handoff,
    error: HandoffError,
) -> Result<Decision<DueCheck>, Stop> {
    let parent = handoff.parent_thread_id;
    let parent = parent.map(|parent| world.head(parent)).transpose()?;
    let stopping = stop(world, handoff, Some("deadline"), &Actor::Reconciler)?;
    let ending = Ending::failed(error, Actor::Reconciler, None);
    let mut events = ending.events(handoff, parent, context);
    events.extend(stopping);
    Ok(Decision {
        events,
        answer: Ok(DueCheck::Failed),
    })
}
