//! Where a handoff stands, and how that is stored.

use crate::domain::time::Timestamp;

use super::Outcome;

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
    /// The watch saw the first stable response of a blueprint's child; the mission goes on.
    FirstResponse,
    /// The watch of a synchronous creation closed; the child goes on.
    WatchExpired,
    /// Ended.
    Closed(TerminalStatus),
}

/// A stored status that is not terminal. Finished work keeps the one it had until it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum OpenStatus {
    /// Created, no turn yet.
    Started,
    /// A turn began, or has been.
    Running,
    /// The watch saw the first stable response of a blueprint's child.
    FirstResponse,
    /// The watch of a synchronous creation closed.
    WatchExpired,
}

impl From<OpenStatus> for Status {
    fn from(status: OpenStatus) -> Self {
        match status {
            OpenStatus::Started => Self::Started,
            OpenStatus::Running => Self::Running,
            OpenStatus::FirstResponse => Self::FirstResponse,
            OpenStatus::WatchExpired => Self::WatchExpired,
        }
    }
}

/// Where a handoff stands; each state carries exactly what exists in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Progress {
    /// No turn yet. Entered by create; left by the first call of a turn, the end of the watch, cancel,
    /// abandonment, a report of a thread without turns.
    Started,
    /// A turn began, or has been. Left by a report, a finish, the end of the watch, cancel, a failure,
    /// abandonment.
    Running {
        /// When the first turn began.
        first_turn_time: Timestamp,
    },
    /// The watch saw the first stable response of a blueprint's child, and the mission goes on. Left by
    /// its end.
    FirstResponse {
        /// When the first turn began.
        first_turn_time: Timestamp,
    },
    /// The watch of a synchronous creation closed, and the work goes on: further turns change it no more.
    /// Left by its end.
    WatchExpired {
        /// When the first turn began, if one did.
        first_turn_time: Option<Timestamp>,
    },
    /// The end is fixed, and its parent thread is to collect it. Entered by a report or a finish; left by
    /// the acknowledgement of the final version, the end of the collection window.
    Finished {
        /// The stored status, which it keeps.
        status: OpenStatus,
        /// How the work ended.
        outcome: Outcome,
        /// The child named the outcome itself.
        outcome_stated: bool,
        /// When the first turn began, if one did.
        first_turn_time: Option<Timestamp>,
        /// When the outcome was fixed.
        finish_time: Timestamp,
        /// When the collection window ends.
        collect_time: Timestamp,
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
