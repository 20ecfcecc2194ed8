//! Lease expiry: a turn whose lease ended is closed as lost, what it read is returned, and the thread
//! runs again after a pause; too many losses in a row end the work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::effects::{DeferredEffect, Effect};
use crate::domain::handoffs::notice::Ending;
use crate::domain::handoffs::{
    Actor, ErrorCause, Handoff, HandoffError, OnTurnLost, TimelineReason,
};
use crate::domain::ids::{ThreadId, TurnId};
use crate::domain::limits;
use crate::domain::mailbox::set_aside::SetAside;
use crate::domain::plan::{Event, GivenMail, Remark, Rerun, TurnEnd};
use crate::domain::threads::Head;
use crate::domain::time::Timestamp;
use crate::domain::world::World;

use super::returned::returned;
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
        let Some(turn) = world.turns.get(&self.turn_id) else {
            return;
        };
        ask.waking.insert(turn.thread_id);
        ask.read_reports.insert(self.turn_id);
        let Some(head) = world.heads.get(&turn.thread_id) else {
            return;
        };
        let handoff = head.unfinished_handoff();
        let handoff = handoff.and_then(|id| world.handoffs.get(&id));
        if lease_end(world, turn) <= world.now && is_last(world, head, handoff) {
            ask.envelopes.insert(head.thread_id);
        }
    }

    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decision<Expiry>, Stop> {
        let turn = world.turn(self.turn_id)?;
        let running = match turn.state {
            TurnState::Ended { .. } => return Ok(Decision::unchanged(Expiry::AlreadyEnded)),
            TurnState::Assigned => false,
            TurnState::Running => true,
        };
        let end = lease_end(world, turn);
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

/// When the lease of a turn ends: after an outage of the whole service it has one more.
fn lease_end(world: &World, turn: &Turn) -> Timestamp {
    let lease = if turn.state == TurnState::Assigned {
        world.rules.assign_lease
    } else {
        world.rules.lease
    };
    turn.lease_expire_time.max(world.resume_time + lease)
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
    let mut events = Vec::new();
    if let Some(handoff) = handoff {
        let text = format!("loss {losses} in a row");
        events.push(remark(handoff, turn, TimelineReason::TurnLost, text));
    }
    if is_last(world, head, handoff) {
        events.extend(last_loss(world, context, turn, head, handoff)?);
    } else {
        let stopped = turn.abort.is_some() && handoff.is_none();
        let pause = Rerun::NotBefore(world.now + limits::lost_turn_pause(losses));
        let rerun = if stopped { Rerun::IfMail } else { pause };
        events.push(ended(turn, TurnOutcome::Lost, GivenMail::Returned, rerun));
    }
    events.extend(returned(world, context, turn)?);
    Ok(Decision {
        events,
        answer: Ok(Expiry::Lost),
    })
}

/// Whether one more loss of a turn of `head` ends the row.
fn is_last(world: &World, head: &Head, handoff: Option<&Handoff>) -> bool {
    let fails_at_once = handoff.is_some_and(|handoff| handoff.on_turn_lost == OnTurnLost::Fail);
    fails_at_once || head.lost_turns + 1 >= world.rules.max_lost_turns
}

/// The loss that ends the row: the work fails, what every one of the lost turns was given is set aside,
/// and whoever sent it is told. The parent hears of both in one notice.
fn last_loss(
    world: &World,
    context: &mut Context<'_>,
    turn: &Turn,
    head: &Head,
    handoff: Option<&Handoff>,
) -> Result<Vec<Event>, Stop> {
    let losses = head.lost_turns + 1;
    // What was acknowledged since is done with.
    let aside = head
        .lost_given_through
        .map_or(head.given_through, |least| least.min(head.given_through))
        .max(head.consumed_through);
    let mut senders = senders(world, turn, head, aside)?;
    let mut events = Vec::new();
    if let Some(handoff) = handoff {
        if aside > head.consumed_through {
            let text = String::new();
            events.push(remark(handoff, turn, TimelineReason::MailSetAside, text));
        }
        let parent = handoff.parent_thread_id;
        let parent = parent.map(|parent| world.head(parent)).transpose()?;
        let ending = Ending {
            set_aside: Ending::told(handoff).and_then(|parent| senders.remove(&parent)),
            ..Ending::failed(error(losses), Actor::Reconciler, Some(turn.turn_id))
        };
        events.extend(ending.events(handoff, parent, context));
    }
    for (thread_id, mail) in senders {
        let effect = Effect::TellSender { thread_id, mail };
        events.push(Event::EffectDeferred(DeferredEffect::new(effect, context)));
    }
    let aside = GivenMail::SetAsideThrough(aside);
    events.push(ended(turn, TurnOutcome::Lost, aside, Rerun::IfMail));
    Ok(events)
}

/// What is set aside through a number, by the thread that sent it. Mail of the server and of operators
/// has nobody to tell.
fn senders(
    world: &World,
    turn: &Turn,
    head: &Head,
    through: u64,
) -> Result<BTreeMap<ThreadId, SetAside>, Stop> {
    let above = head.consumed_through;
    if through == above {
        return Ok(BTreeMap::new());
    }
    let mail = world
        .envelopes(head.thread_id, above, through)
        .ok_or_else(|| Stop::Needs(Footprint::default().head(head.thread_id)))?;
    Ok(SetAside::by_sender(
        head,
        turn.turn_id,
        head.lost_turns + 1,
        mail,
    ))
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
