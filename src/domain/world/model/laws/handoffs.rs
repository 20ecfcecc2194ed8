//! What must hold of a handoff after every step.

use crate::domain::handoffs::{Handoff, Outcome, Progress, Status, TerminalStatus};
use crate::domain::mailbox::{MailException, Message, MessageKind};
use crate::domain::world::model::db::Db;

use super::Memory;

/// Everything about one, and that its end is as it was.
pub(super) fn check(db: &Db, handoff: &Handoff, memory: &mut Memory) {
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
pub(super) fn reports(db: &Db, handoff: &Handoff) {
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
