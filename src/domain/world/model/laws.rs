//! What must hold after every step: the CHECKs of the migrations and the promises, as assertions.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::handoffs::{Handoff, OnCompletion, Outcome, Progress, Status, TerminalStatus};
use crate::domain::history::EventKind;
use crate::domain::ids::{HandoffId, ThreadId, TurnId};
use crate::domain::mailbox::{MailException, Message, MessageKind};
use crate::domain::threads::{Drive, Head};
use crate::domain::turns::{NextName, Turn, TurnOutcome, TurnState};
use crate::domain::world::World;

use super::db::Db;

/// What was seen before and may never change.
#[derive(Debug, Default)]
pub(super) struct Memory {
    closed: BTreeMap<HandoffId, Handoff>,
    ended: BTreeMap<TurnId, Turn>,
    tokens: BTreeMap<ThreadId, u64>,
    /// Mail through this number was acknowledged from outside, read or not.
    pub(super) blind: BTreeMap<ThreadId, u64>,
}

/// The CHECKs of `thread_heads`, also between the commands of a batch.
pub(super) fn heads(world: &World) {
    world.heads.values().for_each(head);
}

fn head(h: &Head) {
    assert!(
        h.turn_id.is_none() || h.wake_time.is_none(),
        "wake or turn: {h:?}"
    );
    assert!(
        h.waking_unread == 0 || h.turn_id.is_some() || h.wake_time.is_some(),
        "waking mail without a next step: {h:?}"
    );
    let at_rest = h.turn_id.is_none() && h.wake_time.is_none() && h.waking_unread == 0;
    assert!(h.drive == Drive::Runtime || at_rest, "pull: {h:?}");
    assert!(
        h.consumed_through <= h.given_through && h.given_through <= h.mail_number,
        "marks: {h:?}"
    );
    assert!(
        h.turn_id.is_some() || h.given_through == h.consumed_through,
        "idle marks: {h:?}"
    );
    assert!(h.live_children >= h.awaited_children, "children: {h:?}");
    assert!(
        h.handoff_id.is_some() || !h.handoff_unfinished,
        "handoff: {h:?}"
    );
    assert!(h.turn_id.is_some() || !h.turn_running, "running: {h:?}");
    assert_eq!(h.due_time.is_some(), h.handoff_unfinished, "due: {h:?}");
    assert_eq!(
        h.lost_turns == 0,
        h.lost_given_through.is_none(),
        "losses: {h:?}"
    );
    assert!(
        h.wake_time.is_none() || h.wake_count > 0,
        "a wake without a cause: {h:?}"
    );
    assert!(
        h.wake_count
            >= if h.turn_id.is_none() {
                h.waking_unread
            } else {
                0
            },
        "causes: {h:?}"
    );
}

/// Everything, after a commit.
pub(super) fn all(db: &Db, memory: &mut Memory) {
    for h in db.heads.values() {
        head(h);
        mailbox(db, h, memory);
        history(db, h);
        children(db, h);
        next_step(db, h);
        let before = memory.tokens.insert(h.thread_id, h.turn_number);
        assert!(
            before.is_none_or(|token| token <= h.turn_number),
            "a token ran back"
        );
    }
    for turn in db.turns.values() {
        check_turn(db, turn, memory);
    }
    for handoff in db.handoffs.values() {
        check_handoff(db, handoff, memory);
    }
    for slots in db.slots.values() {
        let held = db
            .turns
            .values()
            .filter(|turn| turn.is_live() && turn.holds_slot && turn.agent_id == slots.agent_id);
        assert_eq!(held.count(), slots.live_turns as usize, "slots: {slots:?}");
    }
}

fn mailbox(db: &Db, h: &Head, memory: &Memory) {
    let mail: Vec<_> = db.mail_of(h.thread_id).collect();
    assert_eq!(mail.len() as u64, h.mail_number, "mail is numbered: {h:?}");
    for (number, message) in (1..).zip(&mail) {
        assert_eq!(message.mail_number, number);
        assert!(!message.rated || message.from_thread_id.is_some());
    }
    let waking = mail
        .iter()
        .filter(|m| m.wakes && m.exception.is_none() && m.mail_number > h.given_through);
    assert_eq!(
        waking.count() as u64,
        h.waking_unread,
        "waking_unread: {h:?}"
    );
    let read: BTreeSet<u64> = db
        .history
        .get(&h.thread_id)
        .into_iter()
        .flatten()
        .filter_map(|event| match &event.kind {
            EventKind::Mail { numbers, .. } => Some(numbers),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    let blind = memory.blind.get(&h.thread_id).copied().unwrap_or(0);
    for message in mail {
        let number = message.mail_number;
        let seen = read.contains(&number) || number <= blind || message.exception.is_some();
        assert!(
            number > h.given_through || seen,
            "mail {number} passed for given and nobody saw it: {h:?}"
        );
        if message.exception == Some(MailException::SetAside) {
            assert!(
                read.contains(&number),
                "set aside and never given: {message:?}"
            );
        }
    }
}

fn history(db: &Db, h: &Head) {
    let events = db.history.get(&h.thread_id).map_or(&[][..], Vec::as_slice);
    assert_eq!(
        events.len() as u64,
        h.event_number,
        "history is numbered: {h:?}"
    );
    for (number, event) in (1..).zip(events) {
        assert_eq!(event.number, number, "{event:?}");
    }
    assert!(
        events.is_sorted_by_key(|event| event.time),
        "history times ran back"
    );
    assert!(
        events
            .last()
            .is_none_or(|event| event.time <= h.update_time)
    );
    if let Some(number) = h.response_number {
        let event = &events[usize::try_from(number).unwrap() - 1];
        assert!(
            matches!(
                &event.kind,
                EventKind::TurnEnded {
                    response_text: Some(_),
                    ..
                }
            ),
            "{event:?}"
        );
    }
}

fn children(db: &Db, h: &Head) {
    let mine = db.handoffs.values();
    let mine = mine.filter(|it| it.parent_thread_id == Some(h.thread_id) && it.is_unfinished());
    let mine: Vec<_> = mine.collect();
    assert_eq!(mine.len() as u64, h.live_children, "live children: {h:?}");
    let told = mine
        .iter()
        .filter(|it| it.on_completion == OnCompletion::Notify);
    assert_eq!(
        told.count() as u64,
        h.awaited_children,
        "awaited children: {h:?}"
    );
    let mut all = db.handoffs.values();
    let own = all.rfind(|it| it.child_thread_id == Some(h.thread_id));
    assert_eq!(h.handoff_id, own.map(|it| it.handoff_id));
    assert_eq!(
        h.handoff_unfinished,
        own.is_some_and(Handoff::is_unfinished)
    );
}

/// Promise 8: what asked for another turn has one, or a wake.
fn next_step(db: &Db, h: &Head) {
    if h.turn_id.is_some() || h.wake_time.is_some() || h.drive == Drive::Pull {
        return;
    }
    let work = h.handoff_id.map(|id| &db.handoffs[&id]);
    assert!(
        work.is_none_or(|work| work.progress != Progress::Started),
        "work that nobody begins: {h:?}"
    );
    if work.is_some_and(|work| !work.is_unfinished()) {
        return;
    }
    let turns = db
        .turns
        .values()
        .filter(|turn| turn.thread_id == h.thread_id);
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

fn check_turn(db: &Db, turn: &Turn, memory: &mut Memory) {
    let h = &db.heads[&turn.thread_id];
    assert!(turn.token > 0 && turn.token <= h.turn_number);
    assert_eq!(turn.is_live(), turn.check_time.is_some(), "{turn:?}");
    if turn.is_live() {
        assert_eq!(h.turn_id, Some(turn.turn_id), "a second live turn");
        assert_eq!(h.turn_number, turn.token);
        assert_eq!(h.turn_running, turn.state == TurnState::Running);
    } else {
        let before = memory
            .ended
            .entry(turn.turn_id)
            .or_insert_with(|| turn.clone());
        assert_eq!(before, turn, "an ended turn changed");
    }
    if let Some(id) = h.turn_id {
        assert!(
            db.turns[&id].is_live(),
            "the head names an ended turn: {h:?}"
        );
    }
}

fn check_handoff(db: &Db, handoff: &Handoff, memory: &mut Memory) {
    let id = handoff.handoff_id;
    let refused = handoff.status() == Status::Closed(TerminalStatus::MaterializeFailed);
    assert_eq!(handoff.child_thread_id.is_none(), refused);
    if let Progress::Closed {
        status,
        outcome,
        finish_time,
        close_time,
        ..
    } = handoff.progress
    {
        let agrees = match status {
            TerminalStatus::Error | TerminalStatus::MaterializeFailed => outcome == Outcome::Failed,
            TerminalStatus::Cancelled => outcome == Outcome::Cancelled,
            TerminalStatus::Abandoned => outcome == Outcome::Abandoned,
            TerminalStatus::Completed | TerminalStatus::ExpiredUnnotified => {
                matches!(
                    outcome,
                    Outcome::Succeeded | Outcome::Blocked | Outcome::Failed
                )
            }
        };
        assert!(agrees && handoff.create_time <= finish_time && finish_time <= close_time);
        let before = memory.closed.entry(id).or_insert_with(|| handoff.clone());
        let end = |it: &Handoff| {
            (
                it.progress,
                it.error.clone(),
                it.report_version,
                it.result_version,
                it.reminders_sent,
            )
        };
        assert_eq!(end(before), end(handoff), "a closed handoff changed");
        told(db, handoff, status);
    }
    reports(db, handoff);
    timeline(db, handoff);
    reminders(db, handoff);
}

/// Reports are numbered, and what was mailed is in the parent's mailbox.
fn reports(db: &Db, handoff: &Handoff) {
    let id = handoff.handoff_id;
    let reports = db.reports.get(&id).map_or(&[][..], Vec::as_slice);
    assert_eq!(reports.len() as u64, handoff.report_version, "{handoff:?}");
    for (version, report) in (1..).zip(reports) {
        assert_eq!(report.version, version);
        if let Some(number) = report.mail_number {
            let parent = handoff.parent_thread_id.unwrap();
            let carrier = &db.mail[&parent][usize::try_from(number).unwrap() - 1];
            assert_eq!(carrier.handoff_id, Some(id), "{carrier:?}");
            assert_eq!(carrier.report_version, Some(version), "{carrier:?}");
            let parent = &db.heads[&parent];
            if report.deliver_time.is_some() && carrier.exception.is_none() {
                assert!(
                    number <= parent.given_through,
                    "acknowledged and still to come: {carrier:?}"
                );
            }
        }
    }
}

fn timeline(db: &Db, handoff: &Handoff) {
    let id = handoff.handoff_id;
    let timeline = &db.timeline[&id];
    assert_eq!(timeline.len() as u64, handoff.event_number);
    let mut before = None;
    for (number, event) in (1..).zip(timeline) {
        assert_eq!(
            (event.number, event.from_status),
            (number, before),
            "{event:?}"
        );
        before = Some(event.to_status);
    }
    assert_eq!(before, Some(handoff.status()));
}

/// Promise 4: an end is mailed, or the timeline says why not.
fn told(db: &Db, handoff: &Handoff, status: TerminalStatus) {
    use crate::domain::handoffs::TimelineReason::NotNotified;

    if status == TerminalStatus::MaterializeFailed {
        return;
    }
    let mailed = db.reports[&handoff.handoff_id]
        .last()
        .unwrap()
        .mail_number
        .is_some();
    let timeline = &db.timeline[&handoff.handoff_id];
    let said = timeline.iter().any(|event| event.reason == NotNotified);
    assert!(mailed != said, "the end of {handoff:?} was told to nobody");
}

fn reminders(db: &Db, handoff: &Handoff) {
    assert!(handoff.reminders_sent <= db.rules.max_reminders);
    let Some(child) = handoff.child_thread_id else {
        return;
    };
    let sent: Vec<_> = db
        .mail_of(child)
        .filter(|m| m.kind == MessageKind::Reminder)
        .collect();
    let stands = |m: &&&Message| m.exception != Some(MailException::Withdrawn);
    let counted = sent.iter().filter(stands).count();
    assert_eq!(
        counted, handoff.reminders_sent as usize,
        "reminders are counted"
    );
    for pair in sent.windows(2) {
        let gap = pair[1].create_time.since(pair[0].create_time);
        assert!(gap >= db.rules.reminder_interval, "reminders too close");
    }
    let given = db.heads[&child].given_through;
    let to_come = sent
        .iter()
        .any(|m| m.mail_number > given && m.exception.is_none());
    assert!(
        handoff.is_unfinished() || !to_come,
        "a reminder of work that has ended: {handoff:?}"
    );
    let open = db.heads[&child].consumed_through;
    let open = sent
        .iter()
        .filter(|m| m.mail_number > open && m.exception.is_none());
    assert!(open.count() <= 1, "two reminders outstanding");
}
