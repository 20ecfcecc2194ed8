//! Heartbeats of running turns, beside the pipeline: many calls in one short transaction, which reads
//! and writes a few columns of each turn and locks nothing else.
//!
//! Whatever it cannot do it leaves to the pipeline, which can do everything: a beat that begins its
//! turn, and all beats of a batch whose rows somebody holds, or changes each time they are read. A
//! turn that changed since it was read is found by its version, so that a beat never brings a closed
//! turn back. A crash may undo a beat that was answered: what is lost is a few seconds of a lease.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::app::pipeline::lane::Lane;
use crate::app::pipeline::queue::{Queue, Queued};
use crate::domain::command::Command;
use crate::domain::ids::{Namespace, TurnId};
use crate::domain::turns::heart::Hearts;
use crate::domain::turns::heartbeat::{Heartbeat, Pulse};
use crate::store::StoreError;
use crate::store::session::Session;
use crate::store::txn::{Durability, Txn};

/// Lanes of their own: while one waits for the database, the other has it work.
const LANES: usize = 2;
/// How often turns that changed meanwhile are read again.
const TRIES: usize = 3;

/// The pulses of a call, in the order of its beats; none where the pipeline must beat.
type Pulses = Vec<Option<Pulse>>;

/// See the module.
pub(in crate::app) struct Beats {
    queues: Vec<Arc<Queue<Call>>>,
    lanes: Mutex<Vec<Lane>>,
}

impl std::fmt::Debug for Beats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Beats").finish_non_exhaustive()
    }
}

struct Call {
    heartbeat: Arc<Heartbeat>,
    size: usize,
    deadline: Option<Instant>,
    /// Nobody waits where there is none; the turn lives on all the same.
    reply: Option<oneshot::Sender<Result<Pulses, Error>>>,
}

impl Queued for Call {
    fn size(&self) -> usize {
        self.size
    }

    fn fail(&mut self, error: Error) {
        self.answer(Err(error));
    }
}

impl Call {
    fn is_moot(&self) -> bool {
        self.reply.as_ref().is_some_and(oneshot::Sender::is_closed)
            || self
                .deadline
                .is_some_and(|deadline| deadline <= Instant::now())
    }

    fn answer(&mut self, answer: Result<Pulses, Error>) {
        if let Some(reply) = self.reply.take() {
            // A caller that has gone meanwhile beats again.
            let _ = reply.send(answer);
        }
    }
}

impl Beats {
    /// Starts the lanes. Each connects when its first batch comes.
    pub(in crate::app) fn start(
        options: &PgConnectOptions,
        lease: Duration,
    ) -> std::io::Result<Self> {
        let mut queues = Vec::new();
        let mut lanes = Vec::new();
        for at in 0..LANES {
            let queue = Arc::new(Queue::default());
            let mut pacer = Pacer::new(options.clone(), lease);
            let calls = Arc::clone(&queue);
            lanes.push(Lane::spawn(&format!("beats-{at}"), async move || {
                while let Some(batch) = calls.next().await {
                    pacer.run(&batch.namespace, batch.jobs).await;
                }
            })?);
            queues.push(queue);
        }
        Ok(Self {
            queues,
            lanes: Mutex::new(lanes),
        })
    }

    /// Beats, and waits for the pulses.
    ///
    /// # Errors
    /// The database is away, or too much waits.
    pub(super) async fn submit(
        &self,
        request: &Request,
        heartbeat: &Arc<Heartbeat>,
    ) -> Result<Pulses, Error> {
        let (reply, answer) = oneshot::channel();
        let heartbeat = Arc::clone(heartbeat);
        self.push(request, heartbeat, Some(reply));
        // Dropped without an answer: its deadline had passed when its turn came.
        answer.await.unwrap_or(Err(Error::DeadlineExceeded))
    }

    /// Beats for a turn of its own accord.
    pub(in crate::app) fn detach(&self, request: &Request, heartbeat: Heartbeat) {
        self.push(request, Arc::new(heartbeat), None);
    }

    fn push(
        &self,
        request: &Request,
        heartbeat: Arc<Heartbeat>,
        reply: Option<oneshot::Sender<Result<Pulses, Error>>>,
    ) {
        let lane = usize::from(heartbeat.lane_key().to_le_bytes()[0]) % LANES;
        let call = Call {
            heartbeat,
            size: request.size,
            deadline: request.deadline,
            reply,
        };
        self.queues[lane].push(&request.namespace, call);
    }

    /// Takes no more calls, and finishes those that wait.
    pub(in crate::app) async fn stop(&self) {
        self.queues.iter().for_each(|queue| queue.close());
        let lanes = std::mem::take(&mut *self.lanes.lock().unwrap_or_else(PoisonError::into_inner));
        for lane in lanes {
            lane.ended().await;
        }
    }
}

/// What a lane beats with.
struct Pacer {
    options: PgConnectOptions,
    session: Option<Session>,
    lease: Duration,
}

impl Pacer {
    fn new(options: PgConnectOptions, lease: Duration) -> Self {
        Self {
            options,
            session: None,
            lease,
        }
    }

    async fn run(&mut self, namespace: &Namespace, mut calls: Vec<Call>) {
        calls.retain(|call| !call.is_moot());
        if calls.is_empty() {
            return;
        }
        for _ in 0..TRIES {
            let reused = self.session.is_some();
            match self.attempt(namespace, &calls).await {
                Ok(pulses) => {
                    for (call, pulses) in calls.iter_mut().zip(pulses) {
                        call.answer(Ok(pulses));
                    }
                    return;
                }
                Err(StoreError::Conflict | StoreError::Undone(_)) => {}
                // A session that died is replaced once; to beat twice is as good as once.
                Err(StoreError::Unavailable(_) | StoreError::Unknown(_)) if reused => {}
                Err(error @ (StoreError::Unavailable(_) | StoreError::Unknown(_))) => {
                    let error = Error::from(error);
                    for call in &mut calls {
                        call.fail(error.clone());
                    }
                    return;
                }
                Err(
                    StoreError::Busy(_)
                    | StoreError::Slow(_)
                    | StoreError::Data(_)
                    | StoreError::Corrupt(_),
                ) => break,
            }
        }
        for call in &mut calls {
            let left = vec![None; call.heartbeat.beats.len()];
            call.answer(Ok(left));
        }
    }

    async fn attempt(
        &mut self,
        namespace: &Namespace,
        calls: &[Call],
    ) -> Result<Vec<Pulses>, StoreError> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => Session::open(&self.options).await?,
        };
        let result = self.transact(&mut session, namespace, calls).await;
        self.session = session.after(&result).await;
        result
    }

    async fn transact(
        &self,
        session: &mut Session,
        namespace: &Namespace,
        calls: &[Call],
    ) -> Result<Vec<Pulses>, StoreError> {
        session.renew_plans().await?;
        let mut txn = Txn::begin(session, namespace.clone(), Durability::Relaxed).await?;
        match beat(&mut txn, calls, self.lease).await {
            Ok(pulses) => {
                txn.commit().await?;
                Ok(pulses)
            }
            Err(error) => Err(txn.give_up(error).await),
        }
    }
}

/// Reads the hearts, beats for each call in the order they came, and writes.
async fn beat(
    txn: &mut Txn<'_>,
    calls: &[Call],
    lease: Duration,
) -> Result<Vec<Pulses>, StoreError> {
    let beats = calls.iter().flat_map(|call| &call.heartbeat.beats);
    let turns: BTreeSet<TurnId> = beats.map(|beat| beat.turn_id).collect();
    let turns: Vec<TurnId> = turns.into_iter().collect();
    let mut hearts = txn.hearts(&turns, lease).await?;
    let pulses = calls
        .iter()
        .map(|call| pulses(&mut hearts, &call.heartbeat));
    let pulses = pulses.collect();
    if hearts.of.is_changed() {
        txn.beat(&hearts).await?;
    }
    Ok(pulses)
}

fn pulses(hearts: &mut Hearts, heartbeat: &Heartbeat) -> Pulses {
    let runtime_id = heartbeat.runtime_id.as_deref();
    let beats = heartbeat.beats.iter();
    beats.map(|beat| hearts.beat(runtime_id, beat)).collect()
}
