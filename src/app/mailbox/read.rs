//! ReadMail with a wait: a look, and a look again whenever something moved.
//!
//! The interest is registered before the look, so that mail which is accepted in between makes the
//! next look at once. Hints may be lost; polling makes up for it. Each look is a command like any
//! other: it takes the mail in the transaction that finds it, and no two readers get the same.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::app::registry::Watch;
use crate::app::signals::TurnSignals;
use crate::domain::ids::{Namespace, ThreadId};
use crate::domain::mailbox::read::{MailRead, ReadMail};
use crate::domain::time::Timestamp;
use crate::domain::world::Hint;

/// A wait ends so long before its caller's deadline, so that its answer still arrives.
const MARGIN: Duration = Duration::from_millis(500);
/// How long a look of a wait may be held up after the wait is over.
const GRACE: Duration = Duration::from_secs(1);

/// A read, and how long it may wait for the first message.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The look.
    pub command: ReadMail,
    /// Zero looks once.
    pub wait: Duration,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
}

/// What a read came to.
#[derive(Clone, Debug)]
pub struct Received {
    /// The mail.
    pub read: MailRead,
    /// What the turn is told.
    pub signals: TurnSignals,
    /// When the mail was read.
    pub now: Timestamp,
}

impl App {
    /// Reads mail, and waits for the first message where there is none.
    ///
    /// # Errors
    /// See `Error`.
    pub async fn read_mail(&self, request: Request, reader: Reader) -> Result<Received, Error> {
        let Reader {
            mut command,
            wait,
            deadline,
        } = reader;
        if !wait.is_zero() && self.draining.is_cancelled() {
            return Err(Error::Draining);
        }
        let end = end_of_wait(wait, deadline);
        let namespace = &request.namespace;
        let named = command.thread.filter(|_| !wait.is_zero());
        let mut watch = named.map(|thread| self.watch_mail(namespace, thread));
        let mut received = self.look(request.clone(), &command).await?;
        while received.is_empty() && Instant::now() < end {
            if received.read.has_more {
                // Nothing of what was looked at was wanted: on with the rest.
                command.received_through = command.peek.then_some(received.read.through);
            } else if let Some(watch) = &mut watch {
                let moved = tokio::select! {
                    moved = timeout_at(end, watch.moved()) => moved.is_ok(),
                    () = self.draining.cancelled() => false,
                };
                if !moved {
                    return Ok(received);
                }
            } else {
                // The turn has told its thread; what came since the look is seen by the next one.
                watch = Some(self.watch_mail(namespace, received.read.thread_id));
            }
            let again = Request {
                deadline: Some(deadline.map_or(end + GRACE, |at| at.min(end + GRACE))),
                ..request.clone()
            };
            received = match self.look(again, &command).await {
                // Its rows were busy to the end of the wait, and it did not happen.
                Err(Error::DeadlineExceeded | Error::Contention) => return Ok(received),
                look => look?,
            };
        }
        Ok(received)
    }

    fn watch_mail(&self, namespace: &Namespace, thread: ThreadId) -> Watch {
        self.registry.watch(namespace, &Hint::Mailbox(thread))
    }

    async fn look(&self, request: Request, command: &ReadMail) -> Result<Received, Error> {
        let namespace = request.namespace.clone();
        let (read, now) = self.submit_at(request, command.clone()).await?;
        let signals = self.signals_of(&namespace, command.caller).await?;
        Ok(Received { read, signals, now })
    }
}

impl Received {
    /// Whether there is nothing yet that ends a wait.
    fn is_empty(&self) -> bool {
        self.read.messages.is_empty() && self.signals.abort.is_none()
    }
}

/// When a wait ends: as asked, and in good time before the caller's deadline.
fn end_of_wait(wait: Duration, deadline: Option<Instant>) -> Instant {
    let now = Instant::now();
    let last = deadline.map(|deadline| deadline.checked_sub(MARGIN).unwrap_or(now));
    last.map_or(now + wait, |last| last.min(now + wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_before_the_deadline_of_its_caller() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        assert!(end_of_wait(second, None) >= now + second);
        assert_eq!(
            end_of_wait(second * 9, Some(now + second * 2)),
            now + second * 2 - MARGIN
        );
        assert!(end_of_wait(second, Some(now + second * 60)) < now + second * 30);
        assert!(end_of_wait(second, Some(now)) <= Instant::now());
    }
}
