//! Handoffs: the record that a parent gave work to a child thread, and the commands that begin and end
//! one.

pub mod cancel;
pub mod cancel_reminder;
pub mod create;
pub mod force_end;
pub mod notice;
pub mod quiet;

use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::time::Timestamp;
use crate::domain::turns::FailureClass;

/// How finished work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Outcome {
    /// The child says that it is done.
    Succeeded,
    /// It failed, or the child says that it failed.
    Failed,
    /// The child says that it cannot go on.
    Blocked,
    /// Tracking was stopped.
    Cancelled,
    /// The child is gone or went quiet.
    Abandoned,
}

/// A status that no command leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum TerminalStatus {
    /// A result is recorded.
    Completed,
    /// The child's run failed and is not retried.
    Error,
    /// Tracking was stopped.
    Cancelled,
    /// No child could be created.
    MaterializeFailed,
    /// The child finished and nobody was left to be told.
    ExpiredUnnotified,
    /// The child is gone, or was quiet for the whole abandonment period.
    Abandoned,
}

/// The stored status, as the database and the wire spell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Status {
    /// Created, no turn yet.
    Started,
    /// A turn began, or has been.
    Running,
    /// Ended.
    Closed(TerminalStatus),
}

/// Where a handoff stands; each state carries exactly what exists in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Progress {
    /// No turn yet. Entered by create; left by the first call of a turn, cancel, abandonment, a
    /// report of a thread without turns.
    Started,
    /// A turn began, or has been. Left by a report, a finish, cancel, a failure, abandonment.
    Running {
        /// When the first turn began.
        first_turn_time: Timestamp,
    },
    /// Absorbing: nothing that the end fixed changes any more.
    Closed {
        /// How the tracking ended.
        status: TerminalStatus,
        /// How the work ended.
        outcome: Outcome,
        /// The child named the outcome itself.
        outcome_stated: bool,
        /// When the first turn began, if one did.
        first_turn_time: Option<Timestamp>,
        /// When the outcome was fixed.
        finish_time: Timestamp,
        /// When the terminal status was written.
        close_time: Timestamp,
    },
}

/// Whether the parent is told of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum OnCompletion {
    /// The end is mailed to the parent thread.
    Notify,
    /// Nothing is sent, not even a failure.
    None,
}

/// What a lost turn does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum OnTurnLost {
    /// The thread runs again, up to the limit of losses in a row.
    Retry,
    /// The first loss ends the work: its side effects must not be repeated.
    Fail,
}

/// Why a handoff did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ErrorCause {
    /// The child's turn failed.
    TurnFailed,
    /// Too many turns were lost in a row.
    TurnsLost,
    /// The target agent is deactivated.
    AgentDeactivated,
    /// The parent thread is deleted.
    ParentThreadDeleted,
    /// The child was quiet for the whole abandonment period.
    Quiet,
    /// Somebody cancelled it.
    Cancelled,
    /// An operator ended it by force.
    Forced,
}

/// What went wrong, for the parent and for people.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HandoffError {
    /// Why.
    pub cause: ErrorCause,
    /// The class the runtime gave a failed turn.
    pub failure_class: Option<FailureClass>,
    /// What happened, bounded.
    pub summary: String,
    /// What to do about it.
    pub advice: String,
}

/// One handoff.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Handoff {
    /// Its id.
    pub handoff_id: HandoffId,
    /// The thread the work is for.
    pub parent_thread_id: Option<ThreadId>,
    /// The thread that does it; none where no child could be created.
    pub child_thread_id: Option<ThreadId>,
    /// The agent that does it.
    pub agent_id: AgentId,
    /// One line for people.
    pub title: String,
    /// 1, and one more for each resumption.
    pub attempt: u32,
    /// Whether the parent is told.
    pub on_completion: OnCompletion,
    /// What a lost turn does.
    pub on_turn_lost: OnTurnLost,
    /// Where it stands.
    pub progress: Progress,
    /// What went wrong.
    pub error: Option<HandoffError>,
    /// Grows with each report and with the end.
    pub report_version: u64,
    /// The version that is the result.
    pub result_version: Option<u64>,
    /// Newest PROGRESS in the parent's mailbox.
    pub progress_mail_number: Option<u64>,
    /// Last number of its timeline.
    pub event_number: u64,
    /// Reminders so far.
    pub reminders_sent: u32,
    /// When the last one was sent.
    pub reminder_time: Option<Timestamp>,
    /// The reminder that is still outstanding.
    pub reminder_mail_number: Option<u64>,
    /// The child's turn that was asked to stop.
    pub stop_turn_id: Option<TurnId>,
    /// The key the caller gave the work.
    pub idempotency_key: Option<String>,
    /// When it was created.
    pub create_time: Timestamp,
    /// Time of the newest change.
    pub update_time: Timestamp,
}

impl Handoff {
    /// The stored status.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.progress {
            Progress::Started => Status::Started,
            Progress::Running { .. } => Status::Running,
            Progress::Closed { status, .. } => Status::Closed(status),
        }
    }

    /// Whether it has no outcome yet.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        match self.progress {
            Progress::Started | Progress::Running { .. } => true,
            Progress::Closed { .. } => false,
        }
    }
}

/// What a version of a handoff's reports is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ReportKind {
    /// The child sent it.
    Report,
    /// The final response of the child's turn.
    Result,
    /// The end without a report.
    End,
}

/// One version of what a handoff produced.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Of which handoff.
    pub handoff_id: HandoffId,
    /// Its number there.
    pub version: u64,
    /// What it is.
    pub kind: ReportKind,
    /// The outcome it states.
    pub outcome: Outcome,
    /// The text, where no mail carries it.
    pub body: Option<String>,
    /// Structured data.
    pub data: Option<serde_json::Value>,
    /// References to what was made.
    pub artifacts: Vec<String>,
    /// The mail in the parent's mailbox that carried it.
    pub mail_number: Option<u64>,
    /// When.
    pub create_time: Timestamp,
    /// When the parent acknowledged it by version.
    pub deliver_time: Option<Timestamp>,
}

/// What the child was asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// Of which handoff.
    pub handoff_id: HandoffId,
    /// The work description.
    pub task: String,
    /// Structured context.
    pub context_data: Option<serde_json::Value>,
}

/// Who changed a handoff.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Actor {
    /// A thread, by its own call or its turn's.
    Thread(ThreadId),
    /// A runtime.
    Runtime(String),
    /// A caller that is no thread.
    Operator,
    /// Background work of the server.
    Reconciler,
}

/// What a timeline entry tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum TimelineReason {
    /// The work was accepted.
    Created,
    /// The work was refused and left this record.
    Refused,
    /// The first call of a turn.
    TurnBegan,
    /// A turn finished and the work goes on.
    TurnFinished,
    /// A lease ended.
    TurnLost,
    /// A turn was given back.
    TurnReleased,
    /// The child reported.
    Reported,
    /// The child said how far it is.
    Progress,
    /// A report came after the end.
    LateReport,
    /// The work failed.
    Failed,
    /// Tracking was stopped.
    Cancelled,
    /// The child's turn was asked to stop.
    StopRequested,
    /// The turn that was asked to stop ended.
    StopAcknowledged,
    /// A reminder was mailed to the child.
    Reminded,
    /// A reminder lost its cause before it was read.
    ReminderWithdrawn,
    /// The work was given up.
    Abandoned,
    /// Nobody was told of the end.
    NotNotified,
    /// The final response of a turn became the result.
    ResultRecorded,
    /// Mail given to turns that were all lost was set aside.
    MailSetAside,
    /// An operator ended the work and the child's turn.
    ForceEnded,
    /// An operator took a turn from its runtime.
    ForceReleased,
    /// An operator took a reminder back.
    ReminderCancelled,
}

/// One entry of a handoff's timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoffEvent {
    /// Of which handoff.
    pub handoff_id: HandoffId,
    /// Its number there, without gaps.
    pub number: u64,
    /// When.
    pub time: Timestamp,
    /// The status before; none for the first entry.
    pub from_status: Option<Status>,
    /// The status after.
    pub to_status: Status,
    /// By whom.
    pub actor: Actor,
    /// What happened.
    pub reason: TimelineReason,
    /// The particulars, for people; may be empty.
    pub text: String,
    /// The turn it is about.
    pub turn_id: Option<TurnId>,
    /// The version it made.
    pub report_version: Option<u64>,
}
