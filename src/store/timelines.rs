//! Timelines of handoffs.

use crate::domain::handoffs::{Actor, HandoffEvent, Status, TimelineReason};
use crate::domain::ids::{HandoffId, TurnId};
use crate::domain::time::Timestamp;

use super::codec::{Spelled, Unknown, big, count, read_opt, spelled};

pub(super) const INSERT: &str = include_str!("sql/insert_handoff_events.sql");

spelled!(TimelineReason, "reason of a timeline entry", {
    TimelineReason::Created => "created" = TimelineReason::Created,
    TimelineReason::Refused => "refused" = TimelineReason::Refused,
    TimelineReason::TurnBegan => "turn_began" = TimelineReason::TurnBegan,
    TimelineReason::TurnFinished => "turn_finished" = TimelineReason::TurnFinished,
    TimelineReason::TurnLost => "turn_lost" = TimelineReason::TurnLost,
    TimelineReason::TurnReleased => "turn_released" = TimelineReason::TurnReleased,
    TimelineReason::Reported => "reported" = TimelineReason::Reported,
    TimelineReason::Progress => "progress" = TimelineReason::Progress,
    TimelineReason::LateReport => "late_report" = TimelineReason::LateReport,
    TimelineReason::Failed => "failed" = TimelineReason::Failed,
    TimelineReason::Cancelled => "cancelled" = TimelineReason::Cancelled,
    TimelineReason::StopRequested => "stop_requested" = TimelineReason::StopRequested,
    TimelineReason::StopAcknowledged => "stop_acknowledged" = TimelineReason::StopAcknowledged,
    TimelineReason::Reminded => "reminded" = TimelineReason::Reminded,
    TimelineReason::ReminderWithdrawn => "reminder_withdrawn" = TimelineReason::ReminderWithdrawn,
    TimelineReason::Abandoned => "abandoned" = TimelineReason::Abandoned,
    TimelineReason::NotNotified => "not_notified" = TimelineReason::NotNotified,
    TimelineReason::ResultRecorded => "result_recorded" = TimelineReason::ResultRecorded,
    TimelineReason::Collected => "collected" = TimelineReason::Collected,
    TimelineReason::WatchExpired => "watch_expired" = TimelineReason::WatchExpired,
    TimelineReason::DeadlineSet => "deadline_set" = TimelineReason::DeadlineSet,
    TimelineReason::MailSetAside => "mail_set_aside" = TimelineReason::MailSetAside,
    TimelineReason::ForceEnded => "force_ended" = TimelineReason::ForceEnded,
    TimelineReason::ForceReleased => "force_released" = TimelineReason::ForceReleased,
    TimelineReason::ReminderCancelled => "reminder_cancelled" = TimelineReason::ReminderCancelled,
});

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "handoff_event_row")]
pub(super) struct HandoffEventRow {
    handoff_id: HandoffId,
    number: i64,
    time: Timestamp,
    from_status: Option<String>,
    to_status: String,
    actor_kind: String,
    actor_id: String,
    reason: String,
    text: String,
    turn_id: Option<TurnId>,
    report_version: Option<i64>,
}

impl From<&HandoffEvent> for HandoffEventRow {
    fn from(event: &HandoffEvent) -> Self {
        let (actor_kind, actor_id) = spell_actor(&event.actor);
        Self {
            handoff_id: event.handoff_id,
            number: big(event.number),
            time: event.time,
            from_status: event.from_status.map(|status| status.spell().to_owned()),
            to_status: event.to_status.spell().to_owned(),
            actor_kind: actor_kind.to_owned(),
            actor_id,
            reason: event.reason.spell().to_owned(),
            text: event.text.clone(),
            turn_id: event.turn_id,
            report_version: event.report_version.map(big),
        }
    }
}

fn spell_actor(actor: &Actor) -> (&'static str, String) {
    match actor {
        Actor::Thread(id) => ("thread", id.to_string()),
        Actor::Runtime(id) => ("runtime", id.clone()),
        Actor::Operator => ("operator", String::new()),
        Actor::Reconciler => ("reconciler", String::new()),
    }
}

fn read_actor(kind: &str, id: String) -> Result<Actor, Unknown> {
    match kind {
        "thread" => id
            .parse()
            .map(Actor::Thread)
            .map_err(|_| Unknown::of("id of a thread that acted", &id)),
        "runtime" => Ok(Actor::Runtime(id)),
        "operator" => Ok(Actor::Operator),
        "reconciler" => Ok(Actor::Reconciler),
        other => Err(Unknown::of("kind of actor", other)),
    }
}

impl TryFrom<HandoffEventRow> for HandoffEvent {
    type Error = Unknown;

    fn try_from(row: HandoffEventRow) -> Result<Self, Unknown> {
        Ok(Self {
            handoff_id: row.handoff_id,
            number: count(row.number),
            time: row.time,
            from_status: read_opt(row.from_status.as_deref())?,
            to_status: Status::read(&row.to_status)?,
            actor: read_actor(&row.actor_kind, row.actor_id)?,
            reason: TimelineReason::read(&row.reason)?,
            text: row.text,
            turn_id: row.turn_id,
            report_version: row.report_version.map(count),
        })
    }
}
