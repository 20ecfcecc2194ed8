//! Handoffs, their assignments and reports.

use sqlx::types::JsonValue;

use crate::domain::handoffs::{
    Assignment, Deadline, Handoff, HandoffError, OnCompletion, OnTurnLost, OpenStatus, Outcome,
    Progress, Report, ReportKind, Status, TerminalStatus, Watch,
};
use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::time::Timestamp;
use crate::domain::world::{Stored, Work};

use super::codec::{
    Address, Spelled, Unknown, big, count, int, micros, read_opt, small, span, spelled,
};

pub(super) const INSERT: &str = include_str!("sql/insert_handoffs.sql");
pub(super) const UPDATE: &str = include_str!("sql/update_handoffs.sql");
pub(super) const INSERT_ASSIGNMENTS: &str = include_str!("sql/insert_assignments.sql");
pub(super) const INSERT_REPORTS: &str = include_str!("sql/insert_reports.sql");
pub(super) const RETURN_REPORTS: &str = include_str!("sql/return_reports.sql");
pub(super) const DELIVER_REPORTS: &str = include_str!("sql/deliver_reports.sql");

spelled!(Outcome, "outcome", {
    Outcome::Succeeded => "succeeded" = Outcome::Succeeded,
    Outcome::Failed => "failed" = Outcome::Failed,
    Outcome::Blocked => "blocked" = Outcome::Blocked,
    Outcome::Cancelled => "cancelled" = Outcome::Cancelled,
    Outcome::Abandoned => "abandoned" = Outcome::Abandoned,
});

spelled!(Status, "status of a handoff", {
    Status::Started => "started" = Status::Started,
    Status::Running => "running" = Status::Running,
    Status::FirstResponse => "first_response" = Status::FirstResponse,
    Status::WatchExpired => "watch_expired" = Status::WatchExpired,
    Status::Closed(TerminalStatus::Completed) => "completed" = Status::Closed(TerminalStatus::Completed),
    Status::Closed(TerminalStatus::Error) => "error" = Status::Closed(TerminalStatus::Error),
    Status::Closed(TerminalStatus::Cancelled) => "cancelled" = Status::Closed(TerminalStatus::Cancelled),
    Status::Closed(TerminalStatus::MaterializeFailed) => "materialize_failed"
        = Status::Closed(TerminalStatus::MaterializeFailed),
    Status::Closed(TerminalStatus::ExpiredUnnotified) => "expired_unnotified"
        = Status::Closed(TerminalStatus::ExpiredUnnotified),
    Status::Closed(TerminalStatus::Abandoned) => "abandoned" = Status::Closed(TerminalStatus::Abandoned),
});

spelled!(OnCompletion, "on_completion", {
    OnCompletion::Notify => "notify" = OnCompletion::Notify,
    OnCompletion::Return => "return" = OnCompletion::Return,
    OnCompletion::None => "none" = OnCompletion::None,
});

spelled!(OnTurnLost, "on_turn_lost", {
    OnTurnLost::Retry => "retry" = OnTurnLost::Retry,
    OnTurnLost::Fail => "fail" = OnTurnLost::Fail,
});

spelled!(ReportKind, "kind of report", {
    ReportKind::Report => "report" = ReportKind::Report,
    ReportKind::Result => "result" = ReportKind::Result,
    ReportKind::End => "end" = ReportKind::End,
});

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "handoff_row_4")]
pub(super) struct HandoffRow {
    address: Option<Address>,
    version: i64,
    pub(super) handoff_id: HandoffId,
    pub(super) parent_thread_id: Option<ThreadId>,
    child_thread_id: Option<ThreadId>,
    agent_id: AgentId,
    title: String,
    attempt: i32,
    on_completion: String,
    on_turn_lost: String,
    status: String,
    outcome: Option<String>,
    outcome_stated: bool,
    error: Option<JsonValue>,
    report_version: i64,
    result_version: Option<i64>,
    progress_mail_number: Option<i64>,
    event_number: i64,
    reminders_sent: i32,
    reminder_time: Option<Timestamp>,
    reminder_mail_number: Option<i64>,
    stop_turn_id: Option<TurnId>,
    idempotency_key: Option<String>,
    create_time: Timestamp,
    first_turn_time: Option<Timestamp>,
    finish_time: Option<Timestamp>,
    close_time: Option<Timestamp>,
    update_time: Timestamp,
    due_time: Option<Timestamp>,
    watch_time: Option<Timestamp>,
    watch_turn_id: Option<TurnId>,
    deadline: Option<i64>,
    deadline_time: Option<Timestamp>,
    deadline_version: i64,
    claim_deadline_time: Option<Timestamp>,
}

impl HandoffRow {
    pub(super) fn new(handoff: &Handoff, stored: Option<Stored>) -> Self {
        let (outcome_stated, finish_time, close_time) = match handoff.progress {
            Progress::Started
            | Progress::Running { .. }
            | Progress::FirstResponse { .. }
            | Progress::WatchExpired { .. } => (false, None, None),
            Progress::Finished {
                outcome_stated,
                finish_time,
                ..
            } => (outcome_stated, Some(finish_time), None),
            Progress::Closed {
                outcome_stated,
                finish_time,
                close_time,
                ..
            } => (outcome_stated, Some(finish_time), Some(close_time)),
        };
        Self {
            address: stored.map(|stored| Address(stored.address)),
            version: stored.map_or(1, |stored| stored.version),
            handoff_id: handoff.handoff_id,
            parent_thread_id: handoff.parent_thread_id,
            child_thread_id: handoff.child_thread_id,
            agent_id: handoff.agent_id.clone(),
            title: handoff.title.clone(),
            attempt: int(handoff.attempt),
            on_completion: handoff.on_completion.spell().to_owned(),
            on_turn_lost: handoff.on_turn_lost.spell().to_owned(),
            status: handoff.status().spell().to_owned(),
            outcome: handoff.outcome().map(|outcome| outcome.spell().to_owned()),
            outcome_stated,
            error: handoff
                .error
                .as_ref()
                .and_then(|error| serde_json::to_value(error).ok()),
            report_version: big(handoff.report_version),
            result_version: handoff.result_version.map(big),
            progress_mail_number: handoff.progress_mail_number.map(big),
            event_number: big(handoff.event_number),
            reminders_sent: int(handoff.reminders_sent),
            reminder_time: handoff.reminder_time,
            reminder_mail_number: handoff.reminder_mail_number.map(big),
            stop_turn_id: handoff.stop_turn_id,
            idempotency_key: handoff.idempotency_key.clone(),
            create_time: handoff.create_time,
            first_turn_time: handoff.first_turn_time(),
            finish_time,
            close_time,
            update_time: handoff.update_time,
            due_time: handoff.due_time(),
            watch_time: handoff.watch.map(|watch| watch.end_time),
            watch_turn_id: handoff.watch.and_then(|watch| watch.turn_id),
            deadline: handoff.deadline.map(|deadline| micros(deadline.limit)),
            deadline_time: handoff.deadline.and_then(|deadline| deadline.time),
            deadline_version: big(handoff.deadline_version()),
            claim_deadline_time: handoff.claim_deadline_time,
        }
    }

    pub(super) fn stored(&self) -> Stored {
        Stored {
            address: self.address.map_or(0, |address| address.0),
            version: self.version,
        }
    }

    fn progress(&self) -> Result<Progress, Unknown> {
        let whole = || {
            Unknown::of(
                "whole handoff: its times do not fit its status",
                &self.status,
            )
        };
        let finished = |status| {
            Ok(Progress::Finished {
                status,
                outcome: read_opt(self.outcome.as_deref())?.ok_or_else(whole)?,
                outcome_stated: self.outcome_stated,
                first_turn_time: self.first_turn_time,
                finish_time: self.finish_time.ok_or_else(whole)?,
                collect_time: self.due_time.ok_or_else(whole)?,
            })
        };
        let first_turn_time = || self.first_turn_time.ok_or_else(whole);
        Ok(match (Status::read(&self.status)?, self.finish_time) {
            (Status::Started, Some(_)) => finished(OpenStatus::Started)?,
            (Status::Running, Some(_)) => finished(OpenStatus::Running)?,
            (Status::FirstResponse, Some(_)) => finished(OpenStatus::FirstResponse)?,
            (Status::WatchExpired, Some(_)) => finished(OpenStatus::WatchExpired)?,
            (Status::Started, None) => Progress::Started,
            (Status::Running, None) => Progress::Running {
                first_turn_time: first_turn_time()?,
            },
            (Status::FirstResponse, None) => Progress::FirstResponse {
                first_turn_time: first_turn_time()?,
            },
            (Status::WatchExpired, None) => Progress::WatchExpired {
                first_turn_time: self.first_turn_time,
            },
            (Status::Closed(status), _) => Progress::Closed {
                status,
                outcome: read_opt(self.outcome.as_deref())?.ok_or_else(whole)?,
                outcome_stated: self.outcome_stated,
                first_turn_time: self.first_turn_time,
                finish_time: self.finish_time.ok_or_else(whole)?,
                close_time: self.close_time.ok_or_else(whole)?,
            },
        })
    }
}

impl TryFrom<HandoffRow> for Handoff {
    type Error = Unknown;

    fn try_from(row: HandoffRow) -> Result<Self, Unknown> {
        let progress = row.progress()?;
        let error = row
            .error
            .map(serde_json::from_value::<HandoffError>)
            .transpose();
        Ok(Self {
            handoff_id: row.handoff_id,
            parent_thread_id: row.parent_thread_id,
            child_thread_id: row.child_thread_id,
            agent_id: row.agent_id,
            title: row.title,
            attempt: small(row.attempt),
            on_completion: OnCompletion::read(&row.on_completion)?,
            on_turn_lost: OnTurnLost::read(&row.on_turn_lost)?,
            watch: row.watch_time.map(|end_time| Watch {
                end_time,
                turn_id: row.watch_turn_id,
            }),
            deadline: row.deadline.map(|limit| Deadline {
                limit: span(limit),
                time: row.deadline_time,
                version: count(row.deadline_version),
            }),
            claim_deadline_time: row.claim_deadline_time,
            progress,
            error: error.map_err(|error| Unknown::of("error of a handoff", &error.to_string()))?,
            report_version: count(row.report_version),
            result_version: row.result_version.map(count),
            progress_mail_number: row.progress_mail_number.map(count),
            event_number: count(row.event_number),
            reminders_sent: small(row.reminders_sent),
            reminder_time: row.reminder_time,
            reminder_mail_number: row.reminder_mail_number.map(count),
            stop_turn_id: row.stop_turn_id,
            idempotency_key: row.idempotency_key,
            create_time: row.create_time,
            update_time: row.update_time,
        })
    }
}

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "assignment_row")]
pub(super) struct AssignmentRow {
    handoff_id: HandoffId,
    task: String,
    context_data: Option<JsonValue>,
}

impl From<&Assignment> for AssignmentRow {
    fn from(value: &Assignment) -> Self {
        Self {
            handoff_id: value.handoff_id,
            task: value.task.clone(),
            context_data: value.context_data.clone(),
        }
    }
}

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "work_row")]
pub(super) struct WorkRow {
    handoff_id: HandoffId,
    attempt: i32,
    on_completion: String,
    /// None where it was left out for its size.
    task: Option<String>,
    context_data: Option<JsonValue>,
    parent_agent_id: Option<AgentId>,
}

impl WorkRow {
    /// What it holds; none where that was left out.
    pub(super) fn work(self) -> Result<(HandoffId, Option<Work>), Unknown> {
        let handoff_id = self.handoff_id;
        let Some(task) = self.task else {
            return Ok((handoff_id, None));
        };
        let work = Work {
            assignment: Assignment {
                handoff_id,
                task,
                context_data: self.context_data,
            },
            attempt: small(self.attempt),
            on_completion: OnCompletion::read(&self.on_completion)?,
            parent_agent_id: self.parent_agent_id,
        };
        Ok((handoff_id, Some(work)))
    }
}

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "report_row_2")]
pub(super) struct ReportRow {
    handoff_id: HandoffId,
    version: i64,
    kind: String,
    outcome: String,
    body: Option<String>,
    data: Option<JsonValue>,
    artifacts: Vec<String>,
    mail_number: Option<i64>,
    reader_turn_id: Option<TurnId>,
    create_time: Timestamp,
    deliver_time: Option<Timestamp>,
}

impl From<&Report> for ReportRow {
    fn from(report: &Report) -> Self {
        Self {
            handoff_id: report.handoff_id,
            version: big(report.version),
            kind: report.kind.spell().to_owned(),
            outcome: report.outcome.spell().to_owned(),
            body: report.body.clone(),
            data: report.data.clone(),
            artifacts: report.artifacts.clone(),
            mail_number: report.mail_number.map(big),
            reader_turn_id: report.reader_turn_id,
            create_time: report.create_time,
            deliver_time: report.deliver_time,
        }
    }
}

impl TryFrom<ReportRow> for Report {
    type Error = Unknown;

    fn try_from(row: ReportRow) -> Result<Self, Unknown> {
        Ok(Self {
            handoff_id: row.handoff_id,
            version: count(row.version),
            kind: ReportKind::read(&row.kind)?,
            outcome: Outcome::read(&row.outcome)?,
            body: row.body,
            data: row.data,
            artifacts: row.artifacts,
            mail_number: row.mail_number.map(count),
            reader_turn_id: row.reader_turn_id,
            create_time: row.create_time,
            deliver_time: row.deliver_time,
        })
    }
}
