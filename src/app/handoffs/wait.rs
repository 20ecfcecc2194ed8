//! WaitHandoff: holds a call until there is news, without a connection and without changing anything.
//!
//! Interest is registered before the first look, so that nothing falls between the two; hints only
//! say that it is worth to look again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::app::error::Error;
use crate::domain::ids::{HandoffId, Namespace};
use crate::domain::status::{Observed, Texts};
use crate::domain::world::Hint;

/// Time kept of a caller's deadline to bring the answer home.
pub(super) const MARGIN: Duration = Duration::from_millis(500);

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// A report or an end.
    Update,
    /// An end.
    Finish,
}

impl Until {
    /// How long a wait takes that does not say.
    #[must_use]
    pub fn default_timeout(self) -> Duration {
        match self {
            Self::Update => Duration::from_secs(5),
            Self::Finish => Duration::from_secs(30),
        }
    }
}

/// A wait.
#[derive(Clone, Copy, Debug)]
pub struct WaitHandoff {
    /// For which handoff.
    pub handoff_id: HandoffId,
    /// For what.
    pub until: Until,
    /// Only versions above this one are news.
    pub after_version: u64,
    /// How long; zero is a snapshot.
    pub timeout: Duration,
}

/// Why a wait or a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A report above `after_version`; the work goes on.
    Update,
    /// The work is finished.
    Finished,
    /// The time passed first, or the window of the watch ended.
    Timeout,
    /// The server stops.
    Draining,
}

impl WaitHandoff {
    fn news(&self, observed: &Observed) -> Option<Reason> {
        let handoff = &observed.facts.handoff;
        if !handoff.is_unfinished() {
            return Some(Reason::Finished);
        }
        match self.until {
            Until::Update if handoff.report_version > self.after_version => Some(Reason::Update),
            Until::Update | Until::Finish => None,
        }
    }
}

impl App {
    /// Waits for news of a handoff. `deadline` is the caller's own.
    ///
    /// # Errors
    /// There is no such handoff; the database is away.
    pub async fn wait(
        &self,
        namespace: &Namespace,
        wait: WaitHandoff,
        deadline: Option<Instant>,
    ) -> Result<(Reason, Arc<Observed>), Error> {
        let id = wait.handoff_id;
        let begin = Instant::now();
        let end = begin + wait.timeout;
        let home = deadline.map(|deadline| deadline.checked_sub(MARGIN).unwrap_or(begin));
        let end = home.map_or(end, |home| end.min(home.max(begin)));
        let mut watch = self.registry.watch(namespace, &Hint::Handoff(id));
        let observed = self
            .observe(namespace, id, Texts::OF_NEWS, deadline)
            .await?;
        if let Some(reason) = wait.news(&observed) {
            return Ok((reason, observed));
        }
        if Instant::now() >= end {
            return Ok((Reason::Timeout, observed));
        }
        // Thousands may wait: none of them keeps what it saw.
        drop(observed);
        loop {
            let reason = tokio::select! {
                moved = timeout_at(end, watch.moved()) => moved.err().map(|_| Reason::Timeout),
                () = self.draining.cancelled() => Some(Reason::Draining),
            };
            let observed = self.observe(namespace, id, Texts::OF_NEWS, deadline).await;
            let observed = match (observed, reason) {
                (Ok(observed), _) => observed,
                // The database is away for a moment; polling looks again.
                (Err(Error::Unavailable | Error::Overloaded), None) => continue,
                (Err(error), _) => return Err(error),
            };
            if let Some(reason) = wait.news(&observed).or(reason) {
                return Ok((reason, observed));
            }
        }
    }
}
