//! Lease expiry: a turn whose lease ended is closed as lost, what it read is returned, and the thread
//! runs again after a pause; too many losses in a row end the work.

use serde::{Deserialize, Serialize};

use crate::domain::command::{
    Answer, Ask, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::handoffs::notice::Ending;
use crate::domain::handoffs::{
    Actor, ErrorCause, Handoff, HandoffError, OnTurnLost, TimelineReason,
};
use crate::domain::ids::TurnId;
use crate::domain::limits;
use crate::domain::plan::{Event, GivenMail, Remark, Rerun, TurnEnd};
use crate::domain::threads::Head;
use crate::domain::world::World;

use super::{Turn, TurnOutcome, TurnState};

/// The command: look at the lease of one turn. It takes no other input.
#[derive(Clone, Debug, Serialize)]
pub struct ExpireLease {
    /// Which turn.
    pub turn_id: TurnId,
}

/// What the look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expiry {
    /// The turn had ended.
    AlreadyEnded,
    /// It lives; the next look is arranged.
    Alive,
    /// It was assigned and never begun; the thread runs again.
    Unclaimed,
    /// It was lost.
    Lost,
}

impl Answer for Expiry {
    fn mark_deduplicated(&mut self) {}
}

impl Command for ExpireLease {
    type Answer = Expiry;
    const NAME: &'static str = "turns.expire";

    fn lane_key(&self) -> u128 {
        self.turn_id.into_untyped().as_u128()
    }

    fn route(&self) -> RouteAsk {
        RouteAsk::work_of_turn(self.turn_id)
    }

    fn footprint(&self, route: &Route) -> Footprint {
        route.work_of_turn(self.turn_id)
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        ask.waking
            .extend(world.turns.get(&self.turn_id).map(|turn| turn.thread_id));
    }

    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decision<Expiry>, Stop> {
        let turn = world.turn(self.turn_id)?;
        let running = match turn.state {
            TurnState::Ended { .. } => return Ok(Decision::unchanged(Expiry::AlreadyEnded)),
            TurnState::Assigned => false,
            TurnState::Running => true,
        };
        let lease = if running {
            world.rules.lease
        } else {
            world.rules.assign_lease
        };
        let end = turn.lease_expire_time.max(world.resume_time + lease);
        if end > world.now {
            let event = Event::LeaseChecked {
                turn_id: self.turn_id,
                check_time: end,
            };
            return Ok(Decision {
                events: vec![event],
                answer: Ok(Expiry::Alive),
            });
        }
        let head = world.head(turn.thread_id)?;
        if turn.holds_slot {
            world.slots(&turn.agent_id)?;
        }
        if running {
            lost(world, context, turn, head)
        } else {
            let stopped = turn.abort.is_some() && !head.handoff_unfinished;
            let rerun = if stopped {
                Rerun::IfMail
            } else {
                Rerun::At(world.now)
            };
            let end = ended(turn, TurnOutcome::Unclaimed, GivenMail::Returned, rerun);
            Ok(Decision {
                events: vec![end],
                answer: Ok(Expiry::Unclaimed),
            })
        }
    }
}

fn lost(
    world: &World,
    context: &mut Context<'_>,
    turn: &Turn,
    head: &Head,
) -> Result<Decision<Expiry>, Stop> {
    let losses = head.lost_turns + 1;
    let handoff = head
        .unfinished_handoff()
        .map(|id| world.handoff(id))
        .transpose()?;
    let fail_at_once = handoff.is_some_and(|handoff| handoff.on_turn_lost == OnTurnLost::Fail);
    let last = fail_at_once || losses >= world.rules.max_lost_turns;
    let mut events = Vec::new();
    if let Some(handoff) = handoff {
        events.push(remark(
            handoff,
            turn,
            TimelineReason::TurnLost,
            format!("loss {losses} in a row"),
        ));
    }
    if !last {
        let stopped = turn.abort.is_some() && handoff.is_none();
        let pause = Rerun::NotBefore(world.now + limits::lost_turn_pause(losses));
        let rerun = if stopped { Rerun::IfMail } else { pause };
        events.push(ended(turn, TurnOutcome::Lost, GivenMail::Returned, rerun));
        return Ok(Decision {
            events,
            answer: Ok(Expiry::Lost),
        });
    }
    // What was acknowledged since is done with.
    let aside = head
        .lost_given_through
        .map_or(head.given_through, |least| least.min(head.given_through))
        .max(head.consumed_through);
    if let Some(handoff) = handoff {
        if aside > head.consumed_through {
            events.push(remark(
                handoff,
                turn,
                TimelineReason::MailSetAside,
                String::new(),
            ));
        }
        if let Some(parent) = handoff.parent_thread_id {
            world.head(parent)?;
        }
        events.extend(
            Ending::failed(error(losses), Actor::Reconciler, Some(turn.turn_id))
                .events(handoff, context),
        );
    }
    events.push(ended(
        turn,
        TurnOutcome::Lost,
        GivenMail::SetAsideThrough(aside),
        Rerun::IfMail,
    ));
    Ok(Decision {
        events,
        answer: Ok(Expiry::Lost),
    })
}

fn error(losses: u32) -> HandoffError {
    let often = match losses {
        1 => String::new(),
        losses => format!(", {losses} times in a row"),
    };
    HandoffError {
        cause: ErrorCause::TurnsLost,
        failure_class: None,
        summary: format!(
            "The runtime went silent and its lease ended{often}; the work is not tried again."
        ),
        advice: "Look at the runtime's log for what ends it, check the partial results and side effects, \
                 then hand the work off anew."
            .to_owned(),
    }
}

fn remark(handoff: &Handoff, turn: &Turn, reason: TimelineReason, text: String) -> Event {
    Event::Remarked(Remark {
        handoff_id: handoff.handoff_id,
        actor: Actor::Reconciler,
        reason,
        text,
        turn_id: Some(turn.turn_id),
        report_version: None,
    })
}

fn ended(turn: &Turn, outcome: TurnOutcome, mail: GivenMail, rerun: Rerun) -> Event {
    Event::TurnEnded(TurnEnd {
        turn_id: turn.turn_id,
        outcome,
        next: None,
        response: None,
        error: None,
        mail,
        rerun,
        fingerprint: None,
        finish_answer: Vec::new(),
    })
}
