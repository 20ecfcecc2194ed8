//! Timelines as the wire spells them.

use super::encode::{Wire, opt_id, timestamp};
use crate::domain::handoffs::{Actor, HandoffEvent, TimelineReason};
use crate::proto::v1;

/// The principal of every operator while nobody authenticates.
const PRINCIPAL: &str = "anonymous";

/// One entry.
pub(crate) fn entry(event: &HandoffEvent) -> v1::TimelineEntry {
    v1::TimelineEntry {
        number: event.number,
        time: Some(timestamp(event.time)),
        from: event.from_status.map(Wire::wire),
        to: event.to_status.wire(),
        actor: Some(actor(&event.actor)),
        reason: reason(event.reason) as i32,
        text: text(event),
        turn_id: opt_id(event.turn_id.as_ref()),
        report_version: event.report_version,
    }
}

fn actor(actor: &Actor) -> v1::TimelineActor {
    let (kind, id) = match actor {
        Actor::Thread(id) => (v1::TimelineActorKind::Thread, id.to_string()),
        Actor::Runtime(id) => (v1::TimelineActorKind::Runtime, id.clone()),
        Actor::Operator => (v1::TimelineActorKind::Operator, PRINCIPAL.to_owned()),
        Actor::Reconciler => (v1::TimelineActorKind::Reconciler, "reconciler".to_owned()),
    };
    v1::TimelineActor {
        kind: kind as i32,
        id,
    }
}

fn reason(reason: TimelineReason) -> v1::TimelineReason {
    use v1::TimelineReason as Wire;
    match reason {
        TimelineReason::Created => Wire::Created,
        TimelineReason::Refused => Wire::Refused,
        TimelineReason::TurnBegan => Wire::TurnBegan,
        TimelineReason::TurnFinished => Wire::TurnFinished,
        TimelineReason::TurnLost => Wire::TurnLost,
        TimelineReason::TurnReleased => Wire::TurnReleased,
        TimelineReason::Reported => Wire::Reported,
        TimelineReason::Progress => Wire::Progress,
        TimelineReason::LateReport => Wire::LateReport,
        TimelineReason::Failed => Wire::Failed,
        TimelineReason::Cancelled => Wire::Cancelled,
        TimelineReason::StopRequested => Wire::StopRequested,
        TimelineReason::StopAcknowledged => Wire::StopAcknowledged,
        TimelineReason::Reminded => Wire::Reminded,
        TimelineReason::ReminderWithdrawn => Wire::ReminderWithdrawn,
        TimelineReason::Abandoned => Wire::Abandoned,
        TimelineReason::NotNotified => Wire::NotNotified,
        TimelineReason::ResultRecorded => Wire::ResultRecorded,
        TimelineReason::MailSetAside => Wire::MailSetAside,
        TimelineReason::Collected => Wire::Collected,
        TimelineReason::WatchExpired => Wire::WatchExpired,
        TimelineReason::DeadlineSet => Wire::DeadlineSet,
        TimelineReason::ForceEnded => Wire::ForceEnded,
        TimelineReason::ForceReleased => Wire::ForceReleased,
        TimelineReason::ReminderCancelled => Wire::ReminderCancelled,
    }
}

/// A sentence for people, with the particulars that are stored.
fn text(event: &HandoffEvent) -> String {
    let sentence = match event.reason {
        TimelineReason::Created => "the work was accepted",
        TimelineReason::Refused => "the work was refused",
        TimelineReason::TurnBegan => "a turn began",
        TimelineReason::TurnFinished => "a turn finished, and the work goes on",
        TimelineReason::TurnLost => "a turn was lost",
        TimelineReason::TurnReleased => "a turn was given back",
        TimelineReason::Reported => "the child reported",
        TimelineReason::Progress => "the child told how far it is",
        TimelineReason::LateReport => "a report came after the end and changed nothing",
        TimelineReason::Failed => "the work failed",
        TimelineReason::Cancelled => "the tracking was stopped",
        TimelineReason::StopRequested => "the child's turn was asked to stop",
        TimelineReason::StopAcknowledged => "the turn that was asked to stop ended",
        TimelineReason::Reminded => "the child was reminded of what it owes",
        TimelineReason::ReminderWithdrawn => "a reminder was taken back before it was read",
        TimelineReason::Abandoned => "the work was given up",
        TimelineReason::NotNotified => "nobody was told of the end",
        TimelineReason::ResultRecorded => "the final response of a turn became the result",
        TimelineReason::Collected => "the parent thread has the result",
        TimelineReason::WatchExpired => "the watch of the call closed, and the work goes on",
        TimelineReason::DeadlineSet => "the deadline was set anew",
        TimelineReason::MailSetAside => "mail given to lost turns was set aside",
        TimelineReason::ForceEnded => "the work was ended by force",
        TimelineReason::ForceReleased => "a turn was taken from its runtime",
        TimelineReason::ReminderCancelled => "a reminder was cancelled before it was read",
    };
    if event.text.is_empty() {
        sentence.to_owned()
    } else {
        format!("{sentence}: {}", event.text)
    }
}
