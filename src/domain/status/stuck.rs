//! Which work a person should look at, why, and what helps.

use crate::domain::limits::Rules;
use crate::domain::time::Timestamp;

use super::{Facts, HintAction, Live, LiveState, StallReason, assess};

/// Turns that were assigned and not begun, from which on somebody should look.
pub const UNBEGUN_TURNS: u64 = 10;

/// Why somebody should look, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StuckKind {
    /// The child thread of unfinished work is deleted, or its rows are lost.
    ChildMissing,
    /// Turns are claimed again and again, and none is begun.
    NeverBegan,
    /// A live turn beats without activity.
    NoProgress,
    /// A turn is due and no runtime claims it.
    Unclaimed,
    /// What a transaction left to be done cannot be done.
    EffectPutOff,
    /// Mail waits for a deactivated agent.
    MailHeld,
    /// The child is idle and owes a result.
    Quiet,
    /// A turn is due and finds no slot.
    SlotsShort,
    /// Mail was set aside, since every turn that was given it was lost.
    MailSetAside,
}

/// Something a person should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Why.
    pub kind: StuckKind,
    /// Since when.
    pub since: Timestamp,
    /// What helps.
    pub action: HintAction,
    /// What is the case and what to do, one sentence.
    pub text: String,
}

/// Whether somebody should look at a handoff.
#[must_use]
pub fn stuck(facts: &Facts, now: Timestamp, rules: &Rules) -> Option<Stuck> {
    let live = assess(facts, now, rules).live?;
    let kind = match live.state {
        LiveState::Completed => return None,
        LiveState::ChildMissing => StuckKind::ChildMissing,
        _ if unbegun(facts).is_some() => return Some(never_began(facts, &live)),
        LiveState::Stalled(StallReason::NoProgress) => StuckKind::NoProgress,
        LiveState::Stalled(StallReason::Unclaimed) => StuckKind::Unclaimed,
        LiveState::Stalled(StallReason::Quiet) => StuckKind::Quiet,
        LiveState::Running if live.action == HintAction::RaiseSlots => StuckKind::SlotsShort,
        LiveState::Running => return None,
    };
    Some(Stuck {
        kind,
        since: live.since,
        action: live.action,
        text: live.reason,
    })
}

/// How many turns of work that never began were assigned, where they are many.
fn unbegun(facts: &Facts) -> Option<u64> {
    let turns = facts.head.as_ref()?.turn_number;
    let handoff = &facts.handoff;
    let unbegun = handoff.is_unfinished() && handoff.first_turn_time().is_none();
    (unbegun && turns >= UNBEGUN_TURNS).then_some(turns)
}

fn never_began(facts: &Facts, live: &Live) -> Stuck {
    let turns = unbegun(facts).unwrap_or_default();
    let agent_id = &facts.handoff.agent_id;
    Stuck {
        kind: StuckKind::NeverBegan,
        since: facts.handoff.create_time,
        action: if live.action == HintAction::Wait {
            HintAction::Look
        } else {
            live.action
        },
        text: format!(
            "{turns} turns of it were claimed and none was begun; look why runtimes of agent \
             `{agent_id}` claim turns and do not run them"
        ),
    }
}
