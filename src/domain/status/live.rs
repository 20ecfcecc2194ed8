//! The live state: total over what can be the case, without a clock.

use crate::domain::agents::{AgentState, Slots};
use crate::domain::limits::Rules;
use crate::domain::threads::{Drive, Head};
use crate::domain::time::Timestamp;
use crate::domain::turns::{Turn, TurnState};

use super::{Facts, HintAction, Live, LiveState, StallReason, Standing, WaitingOn};

/// What holds a due wake back.
enum Hold {
    Runtime,
    Slot { slots: u32 },
    Deactivated,
}

/// What is the case with the child of unfinished work; exactly one is.
enum Situation<'f> {
    /// Its thread is deleted, or rows are lost.
    Missing,
    /// A turn lives.
    Turn(&'f Turn),
    /// A wake is due at a later time.
    Later { time: Timestamp, after_loss: bool },
    /// A wake is due and nobody took it.
    Due { since: Timestamp, hold: Hold },
    /// Idle, and its own children work.
    Children { count: u64 },
    /// Idle, and called by somebody outside.
    Outside,
    /// Idle, and nothing will wake it by itself.
    Idle,
}

impl<'f> Situation<'f> {
    fn of(facts: &'f Facts, now: Timestamp) -> Self {
        let living = facts
            .head
            .as_ref()
            .filter(|head| head.delete_time.is_none());
        let Some(head) = living else {
            return Self::Missing;
        };
        match (head.turn_id, &facts.turn, head.wake_time) {
            (Some(_), Some(turn), _) => Self::Turn(turn),
            (Some(_), None, _) => Self::Missing,
            (None, _, Some(time)) if time > now => Self::Later {
                time,
                after_loss: head.lost_turns > 0,
            },
            (None, _, Some(since)) => Self::Due {
                since,
                hold: hold(facts.slots.as_ref()),
            },
            (None, _, None) if head.awaited_children > 0 => Self::Children {
                count: head.awaited_children,
            },
            (None, _, None) => Self::idle(head),
        }
    }

    fn idle(head: &Head) -> Self {
        match head.drive {
            Drive::Runtime => Self::Idle,
            Drive::Pull => Self::Outside,
        }
    }
}

fn hold(slots: Option<&Slots>) -> Hold {
    let Some(slots) = slots else {
        return Hold::Runtime;
    };
    match (slots.state, slots.max_turns) {
        (AgentState::Deactivated, _) => Hold::Deactivated,
        (AgentState::Active, Some(max)) if slots.live_turns >= max => Hold::Slot { slots: max },
        (AgentState::Active, _) => Hold::Runtime,
    }
}

/// What the child of a handoff is doing at `now`; none once it is closed.
#[must_use]
pub fn live_state(
    standing: Standing,
    facts: &Facts,
    now: Timestamp,
    rules: &Rules,
) -> Option<Live> {
    match standing {
        Standing::Closed { .. } => None,
        Standing::Finished {
            finish_time,
            collect_time,
        } => Some(Live {
            state: LiveState::Completed,
            since: finish_time,
            action: HintAction::Collect,
            reason: format!(
                "the work is finished, and its parent thread has until {collect_time} to read the result \
                 and acknowledge version {}",
                facts.handoff.report_version
            ),
            waiting_on: WaitingOn::Collection(collect_time),
        }),
        Standing::Unfinished => Some(unfinished(facts, now, rules)),
    }
}

fn unfinished(facts: &Facts, now: Timestamp, rules: &Rules) -> Live {
    let active = facts.last_activity().unwrap_or(facts.handoff.create_time);
    match Situation::of(facts, now) {
        Situation::Missing => missing(facts),
        Situation::Turn(turn) => in_turn(turn, active, now, rules),
        Situation::Later { time, after_loss } => later(time, after_loss, active),
        Situation::Due { since, hold } => due(facts, since, &hold, now, rules),
        Situation::Children { count } => Live {
            state: LiveState::Running,
            since: active,
            action: HintAction::Wait,
            reason: format!("it waits for unfinished handoffs of its own: {count}"),
            waiting_on: WaitingOn::Children {
                handoff_ids: facts.children.clone(),
                count,
            },
        },
        Situation::Outside => idle(WaitingOn::Caller, active, now, rules),
        Situation::Idle => idle(WaitingOn::Nothing, active, now, rules),
    }
}

fn missing(facts: &Facts) -> Live {
    let head = facts.head.as_ref();
    Live {
        state: LiveState::ChildMissing,
        since: head
            .and_then(|head| head.delete_time)
            .unwrap_or(facts.handoff.update_time),
        action: HintAction::Look,
        reason: "the child thread is deleted or its rows are lost; cancel the handoff and hand \
                 the work off anew"
            .to_owned(),
        waiting_on: WaitingOn::Nothing,
    }
}

fn in_turn(turn: &Turn, active: Timestamp, now: Timestamp, rules: &Rules) -> Live {
    let silent = now.since(active);
    let stalls = active + rules.no_progress_after;
    if now >= stalls {
        return Live {
            state: LiveState::Stalled(StallReason::NoProgress),
            since: stalls,
            action: HintAction::Look,
            reason: format!(
                "its turn on runtime `{}` is alive but showed no activity for {} s; look at that \
                 runtime, send the child a note, or cancel",
                turn.runtime_id,
                silent.as_secs()
            ),
            waiting_on: WaitingOn::Nothing,
        };
    }
    let runtime = &turn.runtime_id;
    let begun = turn.state != TurnState::Assigned;
    let reason = match (begun, now > turn.lease_expire_time) {
        (true, false) => format!(
            "a turn is at work on runtime `{runtime}`; last activity {} s ago",
            silent.as_secs()
        ),
        (true, true) => format!(
            "the lease of its turn on runtime `{runtime}` ended; without a call of it the turn counts \
             as lost and the thread runs again"
        ),
        (false, false) => format!(
            "a turn is assigned to runtime `{runtime}`, which has {} s left to begin it",
            turn.lease_expire_time.since(now).as_secs()
        ),
        (false, true) => format!(
            "runtime `{runtime}` did not begin the turn it was assigned in time; without a call of it \
             the turn goes back to the queue"
        ),
    };
    Live {
        state: LiveState::Running,
        since: turn.claim_time,
        action: HintAction::Wait,
        reason,
        waiting_on: WaitingOn::Nothing,
    }
}

fn later(time: Timestamp, after_loss: bool, active: Timestamp) -> Live {
    let (reason, waiting_on) = if after_loss {
        let reason = format!("its last turn was lost, and it runs again at {time}");
        (reason, WaitingOn::Retry(time))
    } else {
        let reason = format!("its last turn asked to be woken at {time}");
        (reason, WaitingOn::Timer(time))
    };
    Live {
        state: LiveState::Running,
        since: active,
        action: HintAction::Wait,
        reason,
        waiting_on,
    }
}

fn due(facts: &Facts, since: Timestamp, hold: &Hold, now: Timestamp, rules: &Rules) -> Live {
    let agent_id = facts.handoff.agent_id.clone();
    let waited = now.since(since).as_secs();
    let overdue = now.since(since) > rules.claim_deadline;
    let stalled = LiveState::Stalled(StallReason::Unclaimed);
    let (action, reason, waiting_on) = match hold {
        Hold::Slot { slots } => {
            let (action, advice) = if *slots == 0 || overdue {
                (HintAction::RaiseSlots, "; raise its max_concurrent_turns")
            } else {
                (HintAction::Wait, "")
            };
            let reason = format!(
                "it has waited {waited} s for a free slot of agent `{agent_id}`, which has {slots}{advice}"
            );
            let slots = *slots;
            (action, reason, WaitingOn::Slot { agent_id, slots })
        }
        Hold::Deactivated => {
            let reason = format!(
                "agent `{agent_id}` is deactivated, so the turn that is due cannot begin; activate it"
            );
            let waiting_on = WaitingOn::AgentDeactivated(agent_id);
            (HintAction::ActivateAgent, reason, waiting_on)
        }
        Hold::Runtime => {
            let reason = format!(
                "a turn is due and has waited {waited} s for a runtime that claims turns of agent \
                 `{agent_id}`"
            );
            let waiting_on = WaitingOn::Runtime(agent_id);
            (HintAction::StartRuntime, reason, waiting_on)
        }
    };
    let (state, since) = match hold {
        Hold::Runtime | Hold::Deactivated if overdue => (stalled, since + rules.claim_deadline),
        Hold::Runtime | Hold::Deactivated | Hold::Slot { .. } => (LiveState::Running, since),
    };
    Live {
        state,
        since,
        action,
        reason,
        waiting_on,
    }
}

fn idle(waiting_on: WaitingOn, active: Timestamp, now: Timestamp, rules: &Rules) -> Live {
    let quiet = now.since(active);
    let idle = quiet.as_secs();
    if quiet > rules.stall_after {
        let waits = if waiting_on == WaitingOn::Caller {
            "it waits for a call from outside"
        } else {
            "it is idle, waits for nothing"
        };
        return Live {
            state: LiveState::Stalled(StallReason::Quiet),
            since: active + rules.stall_after,
            action: HintAction::Look,
            reason: format!("{waits} and was quiet for {idle} s; send it a note, or cancel"),
            waiting_on,
        };
    }
    Live {
        state: LiveState::Running,
        since: active,
        action: HintAction::Wait,
        reason: format!(
            "no turn is live; last activity {idle} s ago; it counts as running until the stall threshold \
             of {} s, and a result is still owed",
            rules.stall_after.as_secs()
        ),
        waiting_on,
    }
}
