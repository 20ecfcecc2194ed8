//! The watch of a synchronous CreateHandoff: the call waits for the end of the work or of its window,
//! holding a handle and no connection, as a wait does.
//!
//! The window is stored with the handoff. Its end is written by whoever sees it first, this call or the
//! reconciler of any server, by the same command; whatever ends the call ends nothing else.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::domain::handoffs::due::CheckDue;
use crate::domain::ids::{HandoffId, Namespace};
use crate::domain::status::{Observed, Texts};
use crate::domain::world::Hint;

use super::results::Results;
use super::wait::{MARGIN, Reason};

/// The pause before the next look while the database is away.
const AWAY: Duration = Duration::from_secs(1);

/// How a watch came out.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Why the call stopped watching.
    pub reason: Reason,
    /// What there is of the work then.
    pub results: Results,
}

/// What a look came to.
enum Seen {
    /// The work or its watch has ended.
    Over(Reason),
    /// The window is over, and nobody has written that down.
    WindowOver,
    /// It goes on, until then at the latest.
    Open(Instant),
}

impl App {
    /// Watches a handoff that the call made, or found; `window` counts where none is stored, since another
    /// call made it that did not watch. `deadline` is the caller's own.
    pub(super) async fn watch(
        &self,
        namespace: &Namespace,
        id: HandoffId,
        window: Duration,
        deadline: Option<Instant>,
    ) -> Result<Watched, Error> {
        let begin = Instant::now();
        let home = deadline.map(|deadline| deadline.checked_sub(MARGIN).unwrap_or(begin));
        let mut watch = self.registry.watch(namespace, &Hint::Handoff(id));
        let reason = loop {
            let observed = self.observe(namespace, id, Texts::NONE, deadline).await;
            let until = match observed.map(|it| seen(&it, begin + window)) {
                Ok(Seen::Over(reason)) => break reason,
                Ok(Seen::WindowOver) => {
                    self.close_watch(namespace, id, deadline).await?;
                    continue;
                }
                Ok(Seen::Open(until)) => until,
                Err(Error::Unavailable | Error::Overloaded) => Instant::now() + AWAY,
                Err(error) => return Err(error),
            };
            let until = home.map_or(until, |home| until.min(home));
            tokio::select! {
                moved = timeout_at(until, watch.moved()) => {
                    if moved.is_err() && home.is_some_and(|home| Instant::now() >= home) {
                        break Reason::Timeout;
                    }
                }
                () = self.draining.cancelled() => break Reason::Draining,
            }
        };
        let results = self.results(namespace, id, deadline).await?;
        let finished = !results.observed.facts.handoff.is_unfinished();
        let reason = if finished { Reason::Finished } else { reason };
        Ok(Watched { reason, results })
    }

    /// Writes down that the window is over, if the work is still unfinished.
    async fn close_watch(
        &self,
        namespace: &Namespace,
        handoff_id: HandoffId,
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        let request = Request {
            deadline,
            ..Request::internal(namespace.clone())
        };
        self.submit(request, CheckDue { handoff_id }).await?;
        Ok(())
    }
}

fn seen(observed: &Observed, own_end: Instant) -> Seen {
    let handoff = &observed.facts.handoff;
    if !handoff.is_unfinished() {
        return Seen::Over(Reason::Finished);
    }
    match (&handoff.watch, handoff.unclosed_watch()) {
        (Some(_), Some(watch)) if watch.end_time <= observed.now => Seen::WindowOver,
        (Some(_), Some(watch)) => Seen::Open(Instant::now() + watch.end_time.since(observed.now)),
        (None, _) if Instant::now() < own_end => Seen::Open(own_end),
        (Some(_), None) | (None, _) => Seen::Over(Reason::Timeout),
    }
}
