//! What waits for a lane: a queue per namespace, served in turn.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::app::error::Error;
use crate::domain::ids::Namespace;

/// Commands of one batch: enough that the round trips and the commit no longer count.
pub(super) const BATCH_COMMANDS: usize = 256;
/// Bytes of one batch; a larger command travels alone.
pub(super) const BATCH_BYTES: usize = 1024 * 1024;
/// Commands of a namespace that may wait in a lane.
const NAMESPACE_COMMANDS: usize = 8_192;
/// Commands that may wait in a lane.
const LANE_COMMANDS: usize = 32_768;

/// What can wait here.
pub(in crate::app) trait Queued: Send {
    /// Its share of a batch, in bytes.
    fn size(&self) -> usize;
    /// Gives up: it is not taken.
    fn fail(&mut self, error: Error);
}

/// Commands of one namespace that travel together.
pub(in crate::app) struct Batch<J> {
    pub(in crate::app) namespace: Namespace,
    pub(in crate::app) jobs: Vec<J>,
}

struct Waiting<J> {
    by_namespace: HashMap<Namespace, VecDeque<J>>,
    /// Namespaces with commands, in the order they are served.
    turn: VecDeque<Namespace>,
    count: usize,
    closed: bool,
}

/// See the module.
pub(in crate::app) struct Queue<J> {
    waiting: Mutex<Waiting<J>>,
    arrived: Notify,
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        let waiting = Waiting {
            by_namespace: HashMap::new(),
            turn: VecDeque::new(),
            count: 0,
            closed: false,
        };
        Self {
            waiting: Mutex::new(waiting),
            arrived: Notify::new(),
        }
    }
}

impl<J: Queued> Queue<J> {
    fn lock(&self) -> MutexGuard<'_, Waiting<J>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command, or fails it: the queue is full or closed.
    pub(in crate::app) fn push(&self, namespace: &Namespace, mut job: J) {
        let refused = {
            let mut waiting = self.lock();
            let own = waiting.by_namespace.get(namespace).map_or(0, VecDeque::len);
            if waiting.closed {
                Some(Error::Draining)
            } else if own >= NAMESPACE_COMMANDS {
                Some(Error::QueueFull)
            } else if waiting.count >= LANE_COMMANDS {
                Some(Error::Overloaded)
            } else {
                waiting.put(namespace, job, false);
                self.arrived.notify_one();
                return;
            }
        };
        if let Some(error) = refused {
            job.fail(error);
        }
    }

    /// Puts commands back at the front: they go with the next batch, also while closing.
    pub(in crate::app) fn put_back(&self, namespace: &Namespace, jobs: Vec<J>) {
        let mut waiting = self.lock();
        for job in jobs.into_iter().rev() {
            waiting.put(namespace, job, true);
        }
        self.arrived.notify_one();
    }

    /// The next batch; `None` once the queue is closed and empty.
    pub(in crate::app) async fn next(&self) -> Option<Batch<J>> {
        loop {
            let arrived = self.arrived.notified();
            {
                let mut waiting = self.lock();
                if let Some(batch) = waiting.take() {
                    return Some(batch);
                }
                if waiting.closed {
                    // A lane that shares this queue is told by the one before it.
                    self.arrived.notify_one();
                    return None;
                }
            }
            arrived.await;
        }
    }

    /// Takes no more commands; what waits is still done.
    pub(in crate::app) fn close(&self) {
        self.lock().closed = true;
        // Several lanes may wait on one queue, and all of them must hear it.
        self.arrived.notify_waiters();
    }
}

impl<J: Queued> Waiting<J> {
    fn put(&mut self, namespace: &Namespace, job: J, front: bool) {
        self.count += 1;
        let queue = self.by_namespace.entry(namespace.clone()).or_default();
        if queue.is_empty() {
            self.turn.push_back(namespace.clone());
        }
        if front {
            queue.push_front(job);
        } else {
            queue.push_back(job);
        }
    }

    fn take(&mut self) -> Option<Batch<J>> {
        let namespace = self.turn.pop_front()?;
        let queue = self.by_namespace.get_mut(&namespace)?;
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        while jobs.len() < BATCH_COMMANDS {
            let fits = queue
                .front()
                .is_some_and(|job| jobs.is_empty() || bytes + job.size() <= BATCH_BYTES);
            let Some(job) = fits.then(|| queue.pop_front()).flatten() else {
                break;
            };
            bytes += job.size();
            jobs.push(job);
        }
        self.count -= jobs.len();
        if queue.is_empty() {
            self.by_namespace.remove(&namespace);
        } else {
            self.turn.push_back(namespace.clone());
        }
        Some(Batch { namespace, jobs })
    }
}
