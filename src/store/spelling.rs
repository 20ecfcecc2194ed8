//! How the enums of handoffs are spelled in SQL.

use crate::domain::handoffs::{
    OnCompletion, OnTurnLost, Outcome, ReportKind, Status, TerminalStatus, TimelineReason,
};

use super::codec::spelled;

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
    TimelineReason::MailSetAside => "mail_set_aside" = TimelineReason::MailSetAside,
});
