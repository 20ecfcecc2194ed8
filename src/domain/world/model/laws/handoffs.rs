//! What must hold of a handoff after every step.

use crate::domain::handoffs::{
    ErrorCause, Handoff, OnCompletion, Outcome, Progress, Status, TerminalStatus, TimelineReason,
};
use crate::domain::mailbox::{MailException, Message, MessageKind};
use crate::domain::turns::{TurnOutcome, TurnState};
use crate::domain::world::model::db::Db;

use super::Memory;

/// Everything about one, and that its end is as it was.
pub(super) fn check(db: &Db, handoff: &Handoff, memory: &mut Memory) {
    let id = handoff.handoff_id;
    let refused = handoff.status() == Status::Closed(TerminalStatus::MaterializeFailed);
    assert_eq!(handoff.child_thread_id.is_none(), refused);
    finished(db, handoff, memory);
    limited(db, handoff);
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
    to_parent(db, handoff);
    timeline(db, handoff);
    reminders(db, handoff);
}

/// What follows from the mail and the turns of its parent.
pub(super) fn to_parent(db: &Db, handoff: &Handoff) {
    reports(db, handoff);
    watched(db, handoff);
}

/// Promise 3: what the finish fixed stays, and only what is collected waits for its closing.
fn finished(db: &Db, handoff: &Handoff, memory: &mut Memory) {
    let Some(outcome) = handoff.outcome() else {
        return;
    };
    let id = handoff.handoff_id;
    let before = memory.finished.entry(id).or_insert_with(|| handoff.clone());
    let fixed = |it: &Handoff| {
        (
            it.outcome(),
            it.error.clone(),
            it.report_version,
            it.result_version,
            it.reminders_sent,
        )
    };
    assert_eq!(fixed(before), fixed(handoff), "an end changed");
    if let Progress::Finished {
        finish_time,
        collect_time,
        ..
    } = handoff.progress
    {
        assert!(handoff.is_collected() && handoff.result_version == Some(handoff.report_version));
        assert!(matches!(
            outcome,
            Outcome::Succeeded | Outcome::Blocked | Outcome::Failed
        ));
        assert_eq!(collect_time, finish_time + db.rules.collection_window);
        let last = db.reports[&id].last().unwrap();
        assert!(
            last.deliver_time.is_none(),
            "acknowledged and not closed: {handoff:?}"
        );
    }
}

/// A watch closes work that has one, and not before its time. What a turn read by the answer of its own
/// call is done with, unless that turn was lost.
fn watched(db: &Db, handoff: &Handoff) {
    let timeline = &db.timeline[&handoff.handoff_id];
    let expired = timeline
        .iter()
        .find(|event| event.reason == TimelineReason::WatchExpired);
    if let Some(expired) = expired {
        assert!(
            expired.time >= handoff.watch.unwrap().end_time,
            "{handoff:?}"
        );
    }
    let stands = handoff.status() == Status::WatchExpired;
    assert!(expired.is_some() || !stands, "{handoff:?}");
    assert!(expired.is_none() || stands || handoff.outcome().is_some());
    for report in db.reports.get(&handoff.handoff_id).into_iter().flatten() {
        let Some(reader) = report.reader_turn_id else {
            continue;
        };
        let turn = &db.turns[&reader];
        let number = usize::try_from(report.mail_number.unwrap()).unwrap();
        let mail = &db.mail[&turn.thread_id][number - 1];
        assert_eq!(mail.exception, Some(MailException::Consumed), "{mail:?}");
        if let TurnState::Ended { outcome, .. } = turn.state {
            let gone = matches!(outcome, TurnOutcome::Lost | TurnOutcome::Released);
            assert!(
                !gone || report.deliver_time.is_some(),
                "read by a turn that was lost, and by nobody since: {report:?}"
            );
        }
    }
}

/// A deadline counts from the first turn, and nothing fails by one before its time.
fn limited(db: &Db, handoff: &Handoff) {
    let began = handoff.first_turn_time();
    if let Some(deadline) = handoff.deadline {
        assert_eq!(deadline.time.is_some(), began.is_some(), "{handoff:?}");
    }
    let Some(end) = db.timeline[&handoff.handoff_id]
        .iter()
        .find(|event| event.reason == TimelineReason::Failed)
    else {
        return;
    };
    let due = match handoff.error.as_ref().map(|error| error.cause) {
        Some(ErrorCause::Deadline) => handoff.deadline.and_then(|deadline| deadline.time),
        Some(ErrorCause::Unclaimed) => {
            assert_eq!(began, None, "{handoff:?}");
            handoff.claim_deadline_time
        }
        Some(_) | None => return,
    };
    assert!(due.unwrap() <= end.time, "failed too early: {handoff:?}");
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

/// Promise 4: an end is mailed or collected, or the timeline says why not.
fn told(db: &Db, handoff: &Handoff, status: TerminalStatus) {
    if status == TerminalStatus::MaterializeFailed {
        return;
    }
    let last = db.reports[&handoff.handoff_id].last().unwrap();
    let timeline = &db.timeline[&handoff.handoff_id];
    let has = |reason| timeline.iter().any(|event| event.reason == reason);
    let collected = handoff.is_collected() && status == TerminalStatus::Completed;
    assert_eq!(collected, has(TimelineReason::Collected), "{handoff:?}");
    let told = if collected {
        last.deliver_time.is_some()
    } else {
        last.mail_number.is_some()
    };
    assert!(
        told != has(TimelineReason::NotNotified),
        "the end of {handoff:?} was told to nobody"
    );
    assert!(last.mail_number.is_none() || handoff.on_completion == OnCompletion::Notify);
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
