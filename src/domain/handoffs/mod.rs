//! Handoffs: the record that a parent gave work to a child thread, and the commands that begin and end
//! one.

pub mod cancel;
pub mod cancel_reminder;
pub mod closing;
pub mod create;
mod deadline;
pub mod due;
pub mod extend;
pub mod force_end;
pub mod notice;
mod progress;
pub mod quiet;
pub(in crate::domain) mod stop;
mod timeline;
mod watch;

pub use deadline::Deadline;
pub use progress::{OpenStatus, Progress, Status, TerminalStatus};
pub use timeline::{Actor, HandoffEvent, TimelineReason};
pub use watch::Watch;

use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::refusal::Refusal;
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

/// Whether the parent is told of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum OnCompletion {
    /// The end is mailed to the parent thread.
    Notify,
    /// The parent thread collects it: it acknowledges the final version.
    Return,
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
    /// It ran longer than it may.
    Deadline,
    /// No runtime began it within the bound of its agent.
    Unclaimed,
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
    /// The watch window of a synchronous creation.
    pub watch: Option<Watch>,
    /// How long it may run.
    pub deadline: Option<Deadline>,
    /// When it has waited too long to be begun, where its agent has such a bound.
    pub claim_deadline_time: Option<Timestamp>,
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
            Progress::FirstResponse { .. } => Status::FirstResponse,
            Progress::WatchExpired { .. } => Status::WatchExpired,
            Progress::Finished { status, .. } => status.into(),
            Progress::Closed { status, .. } => Status::Closed(status),
        }
    }

    /// How it ended; none while it is unfinished.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self.progress {
            Progress::Started
            | Progress::Running { .. }
            | Progress::FirstResponse { .. }
            | Progress::WatchExpired { .. } => None,
            Progress::Finished { outcome, .. } | Progress::Closed { outcome, .. } => Some(outcome),
        }
    }

    /// When its first turn began.
    #[must_use]
    pub fn first_turn_time(&self) -> Option<Timestamp> {
        match self.progress {
            Progress::Started => None,
            Progress::Running { first_turn_time } | Progress::FirstResponse { first_turn_time } => {
                Some(first_turn_time)
            }
            Progress::WatchExpired { first_turn_time }
            | Progress::Finished {
                first_turn_time, ..
            }
            | Progress::Closed {
                first_turn_time, ..
            } => first_turn_time,
        }
    }

    /// When the reconciler is to look at it: at the end of the watch or of the collection window, when it
    /// has run or waited too long. Exact, not a lower bound: it follows from the rest.
    #[must_use]
    pub fn due_time(&self) -> Option<Timestamp> {
        match self.progress {
            Progress::Finished { collect_time, .. } => Some(collect_time),
            Progress::Started
            | Progress::Running { .. }
            | Progress::FirstResponse { .. }
            | Progress::WatchExpired { .. } => {
                let watch = self.unclosed_watch().map(|watch| watch.end_time);
                let limits = [watch, self.deadline_time(), self.unclaimed_time()];
                limits.into_iter().flatten().min()
            }
            Progress::Closed { .. } => None,
        }
    }

    /// Whether it has no outcome yet.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        match self.progress {
            Progress::Started
            | Progress::Running { .. }
            | Progress::FirstResponse { .. }
            | Progress::WatchExpired { .. } => true,
            Progress::Finished { .. } | Progress::Closed { .. } => false,
        }
    }

    /// Whether a thread may steer it: its parent may, and a caller that is no thread.
    ///
    /// # Errors
    /// The child sees its own handoff; to anybody else it does not exist.
    pub(in crate::domain) fn check_parent(&self, acting: Option<ThreadId>) -> Result<(), Refusal> {
        let handoff_id = self.handoff_id;
        match acting {
            None => Ok(()),
            Some(_) if acting == self.parent_thread_id => Ok(()),
            Some(_) if acting == self.child_thread_id => Err(Refusal::NotParent { handoff_id }),
            Some(_) => Err(Refusal::HandoffNotFound(handoff_id)),
        }
    }

    /// Whether its parent thread is to collect the end.
    #[must_use]
    pub fn is_collected(&self) -> bool {
        self.on_completion == OnCompletion::Return && self.parent_thread_id.is_some()
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
    /// The parent's turn that read it by the answer of its own call; the mail counts as consumed.
    pub reader_turn_id: Option<TurnId>,
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
