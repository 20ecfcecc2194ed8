//! Nothing is without a next step: a wake for whoever asked for one, a look for whoever may go quiet.

use crate::domain::handoffs::quiet::{is_quiet, next_reminder, untold_pause};
use crate::domain::history::EventKind;
use crate::domain::threads::{Drive, Head};
use crate::domain::turns::{NextName, TurnOutcome, TurnState};

use super::Db;

/// Promise 8: what asked for another turn has one, or a wake.
pub(super) fn next_step(db: &Db, h: &Head) {
    if h.turn_id.is_some() || h.wake_time.is_some() || h.drive == Drive::Pull {
        return;
    }
    let work = h.handoff_id.map(|id| &db.handoffs[&id]);
    assert!(
        work.is_none_or(|work| !work.is_unfinished() || work.first_turn_time().is_some()),
        "work that nobody begins: {h:?}"
    );
    if work.is_some_and(|work| !work.is_unfinished()) {
        return;
    }
    let turns = db.turns_of(h.thread_id);
    let Some(last) = turns.max_by_key(|turn| turn.token) else {
        return;
    };
    let TurnState::Ended { outcome, .. } = last.state else {
        panic!("a live turn that the head does not name: {last:?}");
    };
    let next = db.history[&h.thread_id]
        .iter()
        .rev()
        .find_map(|event| match &event.kind {
            EventKind::TurnEnded { next, .. } if event.turn_id == Some(last.turn_id) => *next,
            _ => None,
        });
    let goes_on = match outcome {
        TurnOutcome::Interrupted | TurnOutcome::Released | TurnOutcome::Unclaimed => true,
        TurnOutcome::Lost => h.lost_turns > 0,
        TurnOutcome::Done => matches!(next, Some(NextName::Continue | NextName::WakeAt)),
        TurnOutcome::Failed | TurnOutcome::Aborted => false,
    };
    assert!(
        !goes_on,
        "the thread was to run again and has no wake: {h:?} after {last:?}"
    );
}

/// A look is arranged for the earliest moment at which there can be something to do.
pub(super) fn next_look(db: &Db, h: &Head) {
    let slots = db.slots.get(&h.agent_id);
    let (Some(id), Some(due)) = (h.unfinished_handoff(), h.due_time) else {
        return;
    };
    if !is_quiet(h, slots, db.now) {
        return;
    }
    let abandon = h.quiet_since() + db.rules.abandon_after;
    assert!(due <= abandon, "abandoned too late: {h:?}");
    if let Some(reminder) = next_reminder(h, &db.handoffs[&id], slots, &db.rules) {
        // That its agent was activated meanwhile, nobody told.
        let late = reminder.max(db.now + untold_pause(&db.rules));
        assert!(due <= late, "reminded too late: {h:?}");
    }
}
