//! What waits for a lane.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::app::error::Error;
use crate::domain::ids::Namespace;

use super::fair::{Fair, Full, Room};

/// Commands of one batch: enough that the round trips and the commit no longer count.
pub(super) const BATCH_COMMANDS: usize = 256;
/// Bytes of one batch; a larger command travels alone.
pub(super) const BATCH_BYTES: usize = 1024 * 1024;
/// What may wait in a lane of one namespace.
const NAMESPACE_ROOM: Room = Room {
    items: 8_192,
    bytes: 32 * 1024 * 1024,
};
/// What may wait in a lane.
const LANE_ROOM: Room = Room {
    items: 32_768,
    bytes: 128 * 1024 * 1024,
};

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
    jobs: Fair<J>,
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
            jobs: Fair::default(),
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
            let size = job.size();
            let room = waiting
                .jobs
                .has_room(namespace, size, NAMESPACE_ROOM, LANE_ROOM);
            match room {
                _ if waiting.closed => Error::Draining,
                Err(Full::Namespace) => Error::QueueFull,
                Err(Full::All) => Error::Overloaded,
                Ok(()) => {
                    waiting.jobs.push_back(namespace, size, job);
                    self.arrived.notify_one();
                    return;
                }
            }
        };
        job.fail(refused);
    }

    /// Puts commands back at the front: they go with the next batch, also while closing.
    pub(in crate::app) fn put_back(&self, namespace: &Namespace, jobs: Vec<J>) {
        let mut waiting = self.lock();
        for job in jobs.into_iter().rev() {
            waiting.jobs.push_front(namespace, job.size(), job);
        }
        self.arrived.notify_one();
    }

    /// The next batch; `None` once the queue is closed and empty.
    pub(in crate::app) async fn next(&self) -> Option<Batch<J>> {
        loop {
            let arrived = self.arrived.notified();
            {
                let mut waiting = self.lock();
                if let Some((namespace, jobs)) = waiting.jobs.take(BATCH_COMMANDS, BATCH_BYTES) {
                    return Some(Batch { namespace, jobs });
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
