//! The watch of a synchronous creation: a window in which the call waits for the end, stored with the
//! handoff, so that it ends whatever becomes of the call.

use crate::domain::ids::TurnId;
use crate::domain::threads::Head;
use crate::domain::time::Timestamp;

use super::{Handoff, OnCompletion, Progress};

/// The window of a synchronous creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Watch {
    /// When it ends.
    pub end_time: Timestamp,
    /// The parent's turn that made the call; none where no turn did.
    pub turn_id: Option<TurnId>,
}

impl Handoff {
    /// The window, while nothing has closed it; it may be over without anybody having seen that yet.
    #[must_use]
    pub fn unclosed_watch(&self) -> Option<&Watch> {
        match self.progress {
            Progress::Started | Progress::Running { .. } => self.watch.as_ref(),
            Progress::FirstResponse { .. }
            | Progress::WatchExpired { .. }
            | Progress::Finished { .. }
            | Progress::Closed { .. } => None,
        }
    }

    /// Whether the window is open: then a final response completes the work, whatever `on_completion`.
    #[must_use]
    pub fn is_watched(&self, now: Timestamp) -> bool {
        self.unclosed_watch()
            .is_some_and(|watch| now < watch.end_time)
    }

    /// Whether only a report of the child completes the work now.
    #[must_use]
    pub(in crate::domain) fn owes_report(&self, now: Timestamp) -> bool {
        self.on_completion == OnCompletion::Notify && !self.is_watched(now)
    }

    /// The live turn of the parent that reads an end by the answer of its own call, so that the mail of
    /// it needs to wake nobody, unless that turn is lost.
    #[must_use]
    pub(in crate::domain) fn reader(
        &self,
        parent: Option<&Head>,
        now: Timestamp,
    ) -> Option<TurnId> {
        let watch = self.unclosed_watch().filter(|_| self.is_watched(now))?;
        let live = parent.and_then(|parent| parent.turn_id);
        watch.turn_id.filter(|turn| live == Some(*turn))
    }
}
