//! A lane: a thread with a connection of its own that carries out one batch after the other.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::app::error::Error;
use crate::app::thread;

use super::Jobs;
use super::batch::Executor;

/// A running lane.
pub(in crate::app) struct Lane {
    ended: oneshot::Receiver<()>,
}

impl Lane {
    /// Takes batches from `queue`; commands whose rows are held go to `slow`.
    pub(super) fn fast(
        name: &str,
        mut executor: Executor,
        queue: Arc<Jobs>,
        slow: Arc<Jobs>,
    ) -> std::io::Result<Self> {
        Self::spawn(name, async move || {
            while let Some(batch) = queue.next().await {
                let leftover = executor.run(&batch.namespace, batch.jobs).await;
                if !leftover.again.is_empty() {
                    queue.put_back(&batch.namespace, leftover.again);
                }
                for job in leftover.held {
                    slow.push(&batch.namespace, job);
                }
            }
        })
    }

    /// Takes commands one by one, and tries each until its caller's time is up.
    pub(super) fn slow(
        name: &str,
        mut executor: Executor,
        queue: Arc<Jobs>,
    ) -> std::io::Result<Self> {
        Self::spawn(name, async move || {
            while let Some(batch) = queue.next().await {
                for job in batch.jobs {
                    let mut waiting = vec![job];
                    while !waiting.is_empty() {
                        let leftover = executor.run(&batch.namespace, waiting).await;
                        waiting = leftover.again;
                        for mut job in leftover.held {
                            // Each try waits for the lock timeout, so this neither spins nor hangs.
                            if job.is_worn_out() || job.deadline().is_none() {
                                job.fail(Error::Contention);
                            } else {
                                waiting.push(job);
                            }
                        }
                    }
                }
            }
        })
    }

    /// One whose thread does `work`.
    pub(in crate::app) fn spawn(
        name: &str,
        work: impl AsyncFnOnce() + Send + 'static,
    ) -> std::io::Result<Self> {
        let (end, ended) = oneshot::channel();
        thread(name, async move || {
            work().await;
            let _ = end.send(());
        })?;
        Ok(Self { ended })
    }

    /// Waits until its work is done: its queue is closed and empty.
    pub(in crate::app) async fn ended(self) {
        let _ = self.ended.await;
    }
}
