//! Use cases, carried out by the pipeline.

pub mod agents;
mod company;
pub mod error;
mod gauges;
pub mod handoffs;
pub mod hints;
pub mod mailbox;
pub mod metrics;
pub mod operator;
pub mod pipeline;
mod pool;
mod pulse;
mod reader;
pub mod reconcile;
pub mod registry;
pub mod signals;
pub mod status;
pub mod threads;
pub mod turns;

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sqlx::postgres::{PgConnectOptions, PgPool};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::caller::Caller;
use crate::domain::command::Command;
use crate::domain::ids::{IdSource, Namespace, TurnId};
use crate::domain::limits::Rules;
use crate::domain::time::Timestamp;
use crate::domain::turns::heartbeat::{Beat, Heartbeat};

use error::Error;
use hints::Hearing;
use metrics::Metrics;
use pipeline::{Pipeline, Request};
use pool::Pool;
use pulse::Pulse;
use reader::Reader;
use registry::Registry;
use turns::{Beats, Dispatcher, KnownRuntimes};

/// What the use cases work with. One a server.
#[derive(Debug)]
pub struct App {
    options: PgConnectOptions,
    /// For reads; changes of state go through the pipeline's own connections.
    pool: Pool,
    pipeline: Pipeline,
    beats: Beats,
    /// Who waits for what.
    pub(crate) registry: Arc<Registry>,
    /// The rules an operator set.
    pub(crate) rules: Arc<Rules>,
    /// Waits answer and new ones are refused from then on.
    pub(crate) draining: CancellationToken,
    server: u64,
    metrics: Arc<Metrics>,
    gauges_read: gauges::LastRead,
    pulse: Pulse,
    dispatcher: Dispatcher,
    runtimes: KnownRuntimes,
    reader: Reader,
    hearing: watch::Sender<Hearing>,
    /// Leave to check invariants: they are dear reads.
    checks: Semaphore,
    /// Leave to count for statistics: dear reads too.
    counts: Semaphore,
}

impl App {
    /// Starts the pipeline. `seed` makes the ids of this server its own.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        options: PgConnectOptions,
        pool: PgPool,
        rules: Rules,
        seed: u64,
        draining: CancellationToken,
    ) -> std::io::Result<Arc<Self>> {
        let rules = Arc::new(rules);
        let registry = Arc::new(Registry::default());
        let pipeline = Pipeline::start(&options, &rules, seed, &registry)?;
        let beats = Beats::start(&options, rules.lease)?;
        let (dispatcher, waiters) = Dispatcher::new();
        let (reader, asks) = Reader::new();
        let metrics = Arc::new(Metrics::default());
        let reading = options.clone();
        let app = Arc::new(Self {
            options: options.clone(),
            pool: Pool::new(pool),
            pipeline,
            beats,
            registry: Arc::clone(&registry),
            rules: Arc::clone(&rules),
            draining,
            server: seed,
            metrics: Arc::clone(&metrics),
            gauges_read: gauges::LastRead::default(),
            pulse: Pulse::default(),
            dispatcher,
            runtimes: KnownRuntimes::default(),
            reader,
            hearing: watch::Sender::new(Hearing::Lost),
            checks: Semaphore::new(1),
            counts: Semaphore::new(1),
        });
        thread("reads", async move || Reader::run(reading, asks).await)?;
        let weak = Arc::downgrade(&app);
        let seed = seed.wrapping_mul(31);
        thread("claims", async move || {
            Dispatcher::run(weak, options, rules, registry, metrics, seed, waiters).await;
        })?;
        Ok(app)
    }

    /// Changes state.
    ///
    /// # Errors
    /// See `Error`.
    pub async fn submit<C: Command>(
        &self,
        request: Request,
        command: C,
    ) -> Result<C::Answer, Error> {
        Ok(self.submit_at(request, command).await?.0)
    }

    /// The same, with the database time the change was decided at.
    ///
    /// # Errors
    /// See `Error`.
    pub(crate) async fn submit_at<C: Command>(
        &self,
        request: Request,
        command: C,
    ) -> Result<(C::Answer, Timestamp), Error> {
        let caller = *command.caller();
        let namespace = request.namespace.clone();
        let (answer, now) = self.pipeline.submit(request, command).await?;
        if let Caller::Turn { turn_id, token } = caller {
            self.keep_alive(namespace, turn_id, token, now);
        }
        Ok((answer, now))
    }

    /// Any call of a turn is life: it beats for the turn, now and then.
    fn keep_alive(&self, namespace: Namespace, turn_id: TurnId, token: u64, now: Timestamp) {
        if self.pulse.is_due(turn_id, now, self.rules.lease) {
            let beat = Beat {
                turn_id,
                token,
                activity: None,
                active: true,
            };
            let heartbeat = Heartbeat {
                runtime_id: None,
                beats: vec![beat],
            };
            self.beats.detach(&Request::internal(namespace), heartbeat);
        }
    }

    /// How long a running turn lives without a call, and an assigned one until its first.
    #[must_use]
    pub fn leases(&self) -> (Duration, Duration) {
        (self.rules.lease, self.rules.assign_lease)
    }

    /// What this server counts of itself.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Carries hints to and from other servers until it is dropped; every waiter also looks once a
    /// `poll`. `listens` is off behind a pooler that cannot LISTEN; waits then rely on polling.
    pub async fn carry_hints(self: Arc<Self>, listens: bool, poll: Duration) {
        let poller = hints::poller(Arc::clone(&self.registry), self.hearing.subscribe(), poll);
        if listens {
            let listener = hints::listener(
                self.options.clone(),
                Arc::clone(&self.registry),
                self.server,
                self.hearing.clone(),
            );
            let notifier = hints::notifier(
                self.options.clone(),
                Arc::clone(&self.registry),
                self.server,
            );
            let greeter = hints::greeter(Arc::clone(&self.registry));
            tokio::join!(poller, listener, notifier, greeter);
        } else {
            self.hearing.send_replace(Hearing::Off);
            poller.await;
        }
    }

    /// Finishes what was handed over, and ends the lanes.
    pub async fn stop(&self) {
        self.beats.stop().await;
        self.pipeline.stop().await;
    }
}

/// Ids whose random bits follow from `seed`; each connection that makes ids draws its own.
fn id_source(seed: u64) -> IdSource {
    let mut random = StdRng::seed_from_u64(seed);
    IdSource::new(move || random.random())
}

/// Runs `work` on a thread of its own, with a runtime of its own.
fn thread(name: &str, work: impl AsyncFnOnce() + Send + 'static) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || runtime.block_on(work()))?;
    Ok(())
}
