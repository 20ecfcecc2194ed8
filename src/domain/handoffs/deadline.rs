//! Time limits of the work itself: how long it may run, and how long it may wait to be begun.

use std::time::Duration;

use crate::domain::time::Timestamp;

use super::Handoff;

/// The execution limit of a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Deadline {
    /// How long: from the first turn, or where it was set later from then.
    pub limit: Duration,
    /// When it passes; none before the first turn.
    pub time: Option<Timestamp>,
    /// Grows each time it is set; 1 at first.
    pub version: u64,
}

impl Deadline {
    /// One that is set with the work.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            time: None,
            version: 1,
        }
    }
}

impl Handoff {
    /// The version of its deadline; 0 where it has none.
    #[must_use]
    pub fn deadline_version(&self) -> u64 {
        self.deadline.map_or(0, |deadline| deadline.version)
    }

    /// When it has run too long.
    #[must_use]
    pub(in crate::domain) fn deadline_time(&self) -> Option<Timestamp> {
        self.deadline.and_then(|deadline| deadline.time)
    }

    /// When it has waited too long to be begun.
    #[must_use]
    pub(in crate::domain) fn unclaimed_time(&self) -> Option<Timestamp> {
        self.claim_deadline_time
            .filter(|_| self.first_turn_time().is_none())
    }
}
