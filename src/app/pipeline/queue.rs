//! What waits for a lane.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::app::error::Error;
use crate::domain::ids::Namespace;

use super::fair::{Fair, Full, Room};
use super::job::Job;

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

/// Commands of one namespace that travel together.
pub(super) struct Batch {
    pub(super) namespace: Namespace,
    pub(super) jobs: Vec<Box<dyn Job>>,
}

#[derive(Default)]
struct Waiting {
    jobs: Fair<Box<dyn Job>>,
    closed: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command, or fails it: the queue is full or closed.
    pub(super) fn push(&self, namespace: &Namespace, mut job: Box<dyn Job>) {
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
    pub(super) fn put_back(&self, namespace: &Namespace, jobs: Vec<Box<dyn Job>>) {
        let mut waiting = self.lock();
        for job in jobs.into_iter().rev() {
            waiting.jobs.push_front(namespace, job.size(), job);
        }
        self.arrived.notify_one();
    }

    /// The next batch; `None` once the queue is closed and empty.
    pub(super) async fn next(&self) -> Option<Batch> {
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
    pub(super) fn close(&self) {
        self.lock().closed = true;
        // Several lanes may wait on one queue, and all of them must hear it.
        self.arrived.notify_waiters();
    }
}
