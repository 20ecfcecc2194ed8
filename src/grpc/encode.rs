//! Plain domain values as the wire spells them, and enums both ways.

use std::time::Duration;

use crate::domain::agents::AgentState;
use crate::domain::handoffs::{
    ErrorCause, OnCompletion, OnTurnLost, Outcome, ReportKind, Status, TerminalStatus,
};
use crate::domain::mailbox::{Delivery, MessageKind};
use crate::domain::status::Delivery as ReportDelivery;
use crate::domain::threads::Drive;
use crate::domain::time::Timestamp;
use crate::domain::turns::{FailureClass, NextName};
use crate::proto::v1;

/// A moment.
pub(crate) fn timestamp(time: Timestamp) -> prost_types::Timestamp {
    let micros = time.unix_micros();
    prost_types::Timestamp {
        seconds: micros.div_euclid(1_000_000),
        nanos: i32::try_from(micros.rem_euclid(1_000_000) * 1_000).unwrap_or(0),
    }
}

/// A span.
pub(crate) fn duration(span: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(span.subsec_nanos()).unwrap_or(0),
    }
}

/// An id that may be missing: empty where it is.
pub(crate) fn opt_id<I: ToString>(id: Option<&I>) -> String {
    id.map(ToString::to_string).unwrap_or_default()
}

pub(crate) use super::json::to_struct as json;

/// An enum that the wire and the rules spell alike.
pub(crate) trait Wire: Copy {
    /// As the wire knows it.
    type Proto: TryFrom<i32>;

    /// The value on the wire.
    fn wire(self) -> i32;

    /// The value of the rules; none for UNSPECIFIED.
    fn read(proto: Self::Proto) -> Option<Self>;
}

macro_rules! wire {
    ($($domain:ty = $proto:ident { $($from:ident = $to:ident),+ $(,)? })+) => {$(
        impl Wire for $domain {
            type Proto = v1::$proto;

            fn wire(self) -> i32 {
                match self { $(Self::$from => v1::$proto::$to as i32),+ }
            }

            fn read(proto: v1::$proto) -> Option<Self> {
                match proto {
                    v1::$proto::Unspecified => None,
                    $(v1::$proto::$to => Some(Self::$from)),+
                }
            }
        }
    )+};
}

wire! {
    AgentState = AgentState { Active = Active, Deactivated = Deactivated }
    Drive = ThreadDrive { Runtime = Runtime, Pull = Pull }
    OnTurnLost = OnTurnLost { Retry = Retry, Fail = Fail }
    OnCompletion = OnCompletion { Notify = Notify, Return = Return, None = None }
    Outcome = Outcome {
        Succeeded = Succeeded, Failed = Failed, Blocked = Blocked, Cancelled = Cancelled,
        Abandoned = Abandoned,
    }
    ReportKind = ReportKind { Report = Report, Result = Result, End = End }
    ErrorCause = HandoffErrorCause {
        TurnFailed = TurnFailed, TurnsLost = TurnsLost, AgentDeactivated = AgentDeactivated,
        ParentThreadDeleted = ParentThreadDeleted, Quiet = Quiet, Cancelled = Cancelled,
        Deadline = Deadline, Unclaimed = Unclaimed,
        Forced = Forced,
    }
    FailureClass = FailureClass {
        ModelError = ModelError, ProcessExit = ProcessExit, InvalidRecord = InvalidRecord,
        Startup = Startup, Deadline = Deadline, Other = Other,
    }
    MessageKind = MessageKind {
        Report = Report, Progress = Progress, Note = Note, Reminder = Reminder, Notice = Notice,
    }
    Delivery = MessageDelivery {
        NoticeQueued = NoticeQueued, WakeQueued = WakeQueued, Waiting = Waiting, Held = Held,
        Recorded = Recorded,
    }
    ReportDelivery = ReportDelivery {
        None = None, Pending = Pending, Delivered = Delivered,
    }
    NextName = TurnNext { Finished = Finished, Wait = Wait, Continue = Continue, WakeAt = WakeAt }
}

impl Wire for Status {
    type Proto = v1::HandoffStatus;

    fn wire(self) -> i32 {
        let status = match self {
            Self::Started => v1::HandoffStatus::Started,
            Self::Running => v1::HandoffStatus::Running,
            Self::FirstResponse => v1::HandoffStatus::FirstResponse,
            Self::WatchExpired => v1::HandoffStatus::WatchExpired,
            Self::Closed(TerminalStatus::Completed) => v1::HandoffStatus::Completed,
            Self::Closed(TerminalStatus::Error) => v1::HandoffStatus::Error,
            Self::Closed(TerminalStatus::Cancelled) => v1::HandoffStatus::Cancelled,
            Self::Closed(TerminalStatus::MaterializeFailed) => v1::HandoffStatus::MaterializeFailed,
            Self::Closed(TerminalStatus::ExpiredUnnotified) => v1::HandoffStatus::ExpiredUnnotified,
            Self::Closed(TerminalStatus::Abandoned) => v1::HandoffStatus::Abandoned,
        };
        status as i32
    }

    fn read(proto: v1::HandoffStatus) -> Option<Self> {
        Some(match proto {
            v1::HandoffStatus::Unspecified => return None,
            v1::HandoffStatus::Started => Self::Started,
            v1::HandoffStatus::Running => Self::Running,
            v1::HandoffStatus::FirstResponse => Self::FirstResponse,
            v1::HandoffStatus::WatchExpired => Self::WatchExpired,
            v1::HandoffStatus::Completed => Self::Closed(TerminalStatus::Completed),
            v1::HandoffStatus::Error => Self::Closed(TerminalStatus::Error),
            v1::HandoffStatus::Cancelled => Self::Closed(TerminalStatus::Cancelled),
            v1::HandoffStatus::MaterializeFailed => Self::Closed(TerminalStatus::MaterializeFailed),
            v1::HandoffStatus::ExpiredUnnotified => Self::Closed(TerminalStatus::ExpiredUnnotified),
            v1::HandoffStatus::Abandoned => Self::Closed(TerminalStatus::Abandoned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_the_epoch_keep_positive_nanos() {
        let before = timestamp(Timestamp::from_unix_micros(-1));
        assert_eq!((before.seconds, before.nanos), (-1, 999_999_000));
    }
}
