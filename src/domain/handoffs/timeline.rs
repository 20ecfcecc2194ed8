//! What happened to a handoff, and by whom.

use crate::domain::ids::{HandoffId, ThreadId, TurnId};
use crate::domain::time::Timestamp;

use super::Status;

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
    /// The parent thread acknowledged the final version.
    Collected,
    /// The watch of a synchronous creation closed.
    WatchExpired,
    /// The deadline was set anew.
    DeadlineSet,
    /// An operator ended the work and the child's turn.
    ForceEnded,
    /// An operator took a turn from its runtime.
    ForceReleased,
    /// An operator took a reminder back.
    ReminderCancelled,
    /// Mail given to turns that were all lost was set aside.
    MailSetAside,
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
