//! One way to change state: a batch of commands, over a small world, in one short transaction.
//!
//! A round trip and a commit cost far more than a row, so every change, a single call or a thousand
//! under load, goes the same way. Two lanes work side by side, each with its own thread and
//! connection; a lane takes whatever waited while it committed, so that an idle server adds no delay.
//! A command whose rows somebody holds waits alone in the slow lane and holds up nobody.

mod batch;
mod fair;
mod job;
mod lane;
mod queue;

use std::sync::Arc;

use sqlx::postgres::PgConnectOptions;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::app::error::Error;
use crate::app::registry::Registry;
use crate::domain::command::{Command, Footprint};
use crate::domain::ids::Namespace;
use crate::domain::limits::Rules;
use crate::domain::time::Timestamp;

use job::CommandJob;
use lane::Lane;
use queue::Queue;

type Reply<C> = oneshot::Sender<Result<(<C as Command>::Answer, Timestamp), Error>>;

/// Fast lanes. One backend tops out below what two cores can send it.
const LANES: usize = 2;
/// Connections for commands that wait for a lock.
const SLOW_LANES: usize = 2;

/// Who asks, by when, and under which request id.
#[derive(Clone, Debug)]
pub struct Request {
    /// The tenant.
    pub namespace: Namespace,
    /// Binds the answer, where the caller gave one.
    pub request_id: Option<String>,
    /// Encoded bytes of the request.
    pub size: usize,
    /// When nobody waits any more.
    pub deadline: Option<Instant>,
}

impl Request {
    /// One that the server makes for itself.
    #[must_use]
    pub fn internal(namespace: Namespace) -> Self {
        Self {
            namespace,
            request_id: None,
            size: 0,
            deadline: None,
        }
    }
}

/// See the module.
pub struct Pipeline {
    lanes: Vec<Arc<Queue>>,
    slow: Arc<Queue>,
    threads: std::sync::Mutex<Vec<Lane>>,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline")
            .field("lanes", &self.lanes.len())
            .finish_non_exhaustive()
    }
}

impl Pipeline {
    /// Starts the lanes. Each connects when its first batch comes.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        options: &PgConnectOptions,
        rules: &Arc<Rules>,
        seed: u64,
        registry: &Arc<Registry>,
    ) -> std::io::Result<Self> {
        let slow = Arc::new(Queue::default());
        let mut lanes = Vec::new();
        let mut threads = Vec::new();
        for at in 0..LANES + SLOW_LANES {
            let executor = batch::Executor::new(
                options.clone(),
                Arc::clone(rules),
                seed.wrapping_add(at as u64),
                Arc::clone(registry),
            );
            if at < LANES {
                let queue = Arc::new(Queue::default());
                threads.push(Lane::fast(
                    &format!("lane-{at}"),
                    executor,
                    Arc::clone(&queue),
                    Arc::clone(&slow),
                )?);
                lanes.push(queue);
            } else {
                threads.push(Lane::slow(
                    &format!("slow-lane-{}", at - LANES),
                    executor,
                    Arc::clone(&slow),
                )?);
            }
        }
        Ok(Self {
            lanes,
            slow,
            threads: std::sync::Mutex::new(threads),
        })
    }

    /// Hands a command over and waits for its answer, and the database time it was decided at. Dropping the wait cuts nothing: a command that
    /// was begun has its whole effect.
    ///
    /// # Errors
    /// See `Error`.
    pub async fn submit<C: Command>(
        &self,
        request: Request,
        command: C,
    ) -> Result<(C::Answer, Timestamp), Error> {
        let (reply, answer) = oneshot::channel();
        self.push(request, command, Some(reply));
        match answer.await {
            Ok(answer) => answer,
            // Dropped without an answer: its deadline had passed when its turn came.
            Err(_) => Err(Error::DeadlineExceeded),
        }
    }

    /// Hands a command over whose answer nobody waits for.
    pub fn detach<C: Command>(&self, request: Request, command: C) {
        self.push(request, command, None);
    }

    fn push<C: Command>(&self, request: Request, command: C, reply: Option<Reply<C>>) {
        let lane = usize::from(command.lane_key().to_le_bytes()[0]) % LANES;
        let job = CommandJob {
            command,
            request_id: request.request_id,
            size: request.size,
            deadline: request.deadline,
            detached: reply.is_none(),
            reply,
            extra: Footprint::default(),
            keys: false,
            tries: 0,
            decided: None,
        };
        self.lanes[lane].push(&request.namespace, Box::new(job));
    }

    /// Takes no more commands, finishes those that wait, and ends the lanes.
    pub async fn stop(&self) {
        self.lanes.iter().for_each(|queue| queue.close());
        let threads = std::mem::take(
            &mut *self
                .threads
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        );
        let (fast, slow): (Vec<Lane>, Vec<Lane>) = threads.into_iter().partition(Lane::is_fast);
        for lane in fast {
            lane.ended().await;
        }
        self.slow.close();
        for lane in slow {
            lane.ended().await;
        }
    }
}
