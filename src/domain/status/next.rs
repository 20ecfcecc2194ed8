//! What comes next for unfinished work if nobody touches it, and when.

use crate::domain::limits::Rules;
use crate::domain::time::Timestamp;

use super::{Facts, LiveState, WaitingOn, assess};

/// What a time is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NextKind {
    /// The lease of the live turn ends.
    LeaseEnd,
    /// The thread runs again: its timer, or the end of the pause after a loss.
    Wake,
    /// It shows as stalled from then on.
    Stalled,
    /// The child is reminded.
    Reminder,
    /// The work is given up.
    Abandonment,
    /// The reconciler looks at the thread.
    Look,
    /// The call that created it stops waiting.
    WatchEnd,
    /// It has run, or waited to be begun, too long, and fails.
    Deadline,
    /// Its result is no longer waited to be collected.
    CollectionEnd,
}

/// One thing that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// What.
    pub kind: NextKind,
    /// When; a time that has passed is acted upon at the next pass.
    pub time: Timestamp,
}

/// What comes next, earliest first; nothing for work that ended.
#[must_use]
pub fn next_steps(facts: &Facts, now: Timestamp, rules: &Rules) -> Vec<NextStep> {
    let assessment = assess(facts, now, rules);
    let Some(live) = &assessment.live else {
        return Vec::new();
    };
    let head = facts.head.as_ref();
    let lease = facts.turn.as_ref().map(|turn| turn.lease_expire_time);
    let wake = match &live.waiting_on {
        WaitingOn::Timer(time) | WaitingOn::Retry(time) => Some(*time),
        WaitingOn::Nothing
        | WaitingOn::Runtime(_)
        | WaitingOn::Slot { .. }
        | WaitingOn::AgentDeactivated(_)
        | WaitingOn::Children { .. }
        | WaitingOn::Caller
        | WaitingOn::Collection(_) => None,
    };
    let stalls = match (live.state, &live.waiting_on, &facts.turn) {
        (LiveState::Running, _, Some(turn)) => {
            let active = facts.last_activity().unwrap_or(turn.activity_time);
            Some(active + rules.no_progress_after)
        }
        (LiveState::Running, WaitingOn::Runtime(_) | WaitingOn::AgentDeactivated(_), None) => head
            .and_then(|head| head.wake_time)
            .map(|since| since + rules.claim_deadline),
        (LiveState::Running, WaitingOn::Nothing | WaitingOn::Caller, None) => facts
            .last_activity()
            .map(|active| active + rules.stall_after),
        _ => None,
    };
    let handoff = &facts.handoff;
    let unfinished = handoff.is_unfinished();
    let watch = handoff.unclosed_watch().map(|watch| watch.end_time);
    let collection = handoff.due_time().filter(|_| !unfinished);
    let limits = [handoff.deadline_time(), handoff.unclaimed_time()];
    let limit = limits.into_iter().flatten().min();
    let mut steps: Vec<NextStep> = [
        (NextKind::LeaseEnd, lease),
        (NextKind::Wake, wake),
        (NextKind::Stalled, stalls),
        (NextKind::Reminder, assessment.next_reminder_time),
        (NextKind::Abandonment, assessment.abandon_time),
        (NextKind::Look, head.and_then(|head| head.due_time)),
        (NextKind::WatchEnd, watch.filter(|_| unfinished)),
        (NextKind::Deadline, limit.filter(|_| unfinished)),
        (NextKind::CollectionEnd, collection),
    ]
    .into_iter()
    .filter_map(|(kind, time)| Some(NextStep { kind, time: time? }))
    .collect();
    steps.sort_by_key(|step| (step.time, step.kind));
    steps
}
