//! Why nobody has been told of an end, computed like the rest of status.

use std::time::Duration;

use crate::domain::handoffs::{Progress, TerminalStatus};
use crate::domain::limits::Rules;

use super::{Delivery, Observed};

/// Why the end of a handoff reached nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotNotified {
    /// It finished so long ago, and nobody collected it, or nobody was left to be told.
    Finished {
        /// How long ago.
        ago: Duration,
    },
    /// It was mailed, and the parent had no turn since.
    ParentIdle {
        /// For how long.
        idle: Duration,
    },
    /// It was mailed, and every turn that was given the mail was lost.
    SubmitFailed,
}

/// Why nobody has been told of the end of what was observed; none where somebody was, or may still be
/// soon.
#[must_use]
pub fn not_notified(observed: &Observed, rules: &Rules) -> Option<NotNotified> {
    let (status, finish_time) = match observed.facts.handoff.progress {
        Progress::Closed {
            status,
            finish_time,
            ..
        } => (status, finish_time),
        Progress::Started
        | Progress::Running { .. }
        | Progress::FirstResponse { .. }
        | Progress::WatchExpired { .. }
        | Progress::Finished { .. } => return None,
    };
    if status == TerminalStatus::ExpiredUnnotified {
        let ago = observed.now.since(finish_time);
        return Some(NotNotified::Finished { ago });
    }
    let mailed = observed.mailed?;
    if observed.report_delivery == Delivery::Delivered {
        return None;
    }
    if mailed.set_aside {
        return Some(NotNotified::SubmitFailed);
    }
    let idle = observed
        .now
        .since(mailed.active_time.max(mailed.create_time));
    (!mailed.in_turn && idle > rules.parent_idle_after).then_some(NotNotified::ParentIdle { idle })
}
