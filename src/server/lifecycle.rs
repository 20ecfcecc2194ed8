//! How the server's tasks begin and end together.
//!
//! Two tokens. *Soft* asks: stop accepting, answer what is held, finish what runs. *Hard* cuts what
//! did not. Soft is cancelled by the first signal, by a test, or by a task that dies; hard by a
//! second signal, or when the drain has lasted too long. Hard implies soft: it is the parent token.
//!
//! Every task is spawned here and watched. One that fails, panics, or returns although nobody asked
//! it to takes the whole server down in order, with a non-zero exit: a server that runs on without
//! its reconciler looks healthy and is not.

use std::convert::Infallible;
use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long tasks may take to notice that they are cut. They only have to drop what they hold.
const CUT_TIMEOUT: Duration = Duration::from_secs(2);

/// The life of one server. Clones share it.
#[derive(Debug, Clone)]
pub struct Lifecycle {
    soft: CancellationToken,
    hard: CancellationToken,
    tasks: TaskTracker,
    drain_timeout: Duration,
    death: Arc<OnceLock<String>>,
}

/// Why a server did not end well.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// A task died, which stopped the server.
    #[error("{0}")]
    Died(String),
    /// A task did not even end when it was cut.
    #[error("{0} tasks did not end when they were cut")]
    Stuck(usize),
}

impl Lifecycle {
    /// A life that ends `drain_timeout` after it was asked to, at the latest.
    #[must_use]
    pub fn new(drain_timeout: Duration) -> Self {
        let hard = CancellationToken::new();
        Self {
            soft: hard.child_token(),
            hard,
            tasks: TaskTracker::new(),
            drain_timeout,
            death: Arc::default(),
        }
    }

    /// Cancelled when the server is asked to stop: accept nothing new, finish what runs.
    #[must_use]
    pub fn soft(&self) -> &CancellationToken {
        &self.soft
    }

    /// Cancelled when the drain is over: drop what still runs.
    #[must_use]
    pub fn hard(&self) -> &CancellationToken {
        &self.hard
    }

    /// Asks the server to stop.
    pub fn stop(&self) {
        self.soft.cancel();
    }

    /// Stops the server without a drain.
    pub fn cut(&self) {
        self.hard.cancel();
    }

    /// Spawns a task that lives as long as the server: it ends when `soft` asks it to, not before.
    pub fn spawn<F, E>(&self, name: &'static str, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Error + Send + 'static,
    {
        let ended = self.tasks.spawn(task);
        let life = self.clone();
        self.tasks.spawn(async move {
            match ended.await {
                Ok(Ok(())) if life.soft.is_cancelled() => tracing::debug!(task = name, "ended"),
                Ok(Ok(())) => life.die(name, "ended although nobody asked it to"),
                Ok(Err(error)) => life.die(name, &chain(&error)),
                // The panic itself was printed by the hook.
                Err(_) => life.die(name, "panicked"),
            }
        });
    }

    /// Spawns work that ends by itself, such as one batch: a stop waits for it, its end is nothing
    /// special.
    pub fn spawn_work<F>(&self, work: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn(work)
    }

    /// Waits until the server was asked to stop and all of its tasks have ended.
    ///
    /// # Errors
    /// A task died, or could not be ended.
    pub async fn ended(&self) -> Result<(), StopError> {
        self.soft.cancelled().await;
        tracing::info!(drain_timeout = ?self.drain_timeout, "stopping");
        self.tasks.close();
        tokio::select! {
            () = self.tasks.wait() => {}
            () = self.hard.cancelled() => tracing::warn!("told to stop at once"),
            () = after(self.drain_timeout) => tracing::warn!("the drain took too long, cutting it"),
        }
        self.hard.cancel();
        tokio::select! {
            () = self.tasks.wait() => {}
            () = after(CUT_TIMEOUT) => return Err(StopError::Stuck(self.tasks.len())),
        }
        match self.death.get() {
            None => Ok(()),
            Some(death) => Err(StopError::Died(death.clone())),
        }
    }

    /// Turns SIGTERM and SIGINT into a stop, and a second one into a cut. Never returns by itself:
    /// select it against the server's end.
    ///
    /// # Errors
    /// The system refuses to hand over the signals.
    pub async fn stop_on_signals(&self) -> std::io::Result<Infallible> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal = name, "signal received");
            if self.soft.is_cancelled() {
                self.cut();
            } else {
                self.stop();
            }
        }
    }

    fn die(&self, task: &'static str, reason: &str) {
        tracing::error!(task, reason, "a task died, stopping the server");
        // The first death is the cause; later ones may be its consequences.
        self.death
            .get_or_init(|| format!("task `{task}` died: {reason}"));
        self.soft.cancel();
    }
}

/// Waits a while; only for bounds on waiting, never to order events.
async fn after(span: Duration) {
    let _ = tokio::time::timeout(span, std::future::pending::<()>()).await;
}

/// An error with its sources, for one log line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life() -> Lifecycle {
        Lifecycle::new(Duration::from_mins(1))
    }

    #[tokio::test]
    async fn a_stop_waits_for_tasks_and_work() {
        let life = life();
        let soft = life.soft().clone();
        life.spawn("worker", async move {
            soft.cancelled().await;
            Ok::<_, Infallible>(())
        });
        let (finish, finished) = tokio::sync::oneshot::channel::<()>();
        let work = life.spawn_work(finished);
        life.stop();
        let mut end = Box::pin(life.ended());
        assert!(futures_util::poll!(&mut end).is_pending());
        finish.send(()).unwrap();
        end.await.unwrap();
        assert!(work.is_finished());
    }

    #[tokio::test]
    async fn a_task_that_fails_stops_the_server_and_is_named() {
        let life = life();
        life.spawn("worker", async {
            Err(std::io::Error::other("the disk is full"))
        });
        let error = life.ended().await.unwrap_err().to_string();
        assert_eq!(error, "task `worker` died: the disk is full");
    }

    #[tokio::test]
    async fn a_task_that_panics_or_leaves_stops_the_server() {
        let left = life();
        left.spawn("worker", async { Ok::<_, Infallible>(()) });
        assert!(matches!(left.ended().await, Err(StopError::Died(_))));

        let panicked = life();
        panicked.spawn("worker", async {
            assert!(panicked_on_purpose(), "a panic of the test");
            Ok::<_, Infallible>(())
        });
        assert!(matches!(panicked.ended().await, Err(StopError::Died(_))));
    }

    fn panicked_on_purpose() -> bool {
        false
    }

    #[tokio::test]
    async fn what_outlives_the_drain_is_cut() {
        let life = Lifecycle::new(Duration::from_millis(1));
        let hard = life.hard().clone();
        life.spawn("worker", async move {
            hard.cancelled().await;
            Ok::<_, Infallible>(())
        });
        life.stop();
        life.ended().await.unwrap();
    }
}
