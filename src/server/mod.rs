//! Composition: configuration, telemetry, lifecycle. The only place that knows everything.

pub mod cli;
pub mod config;
pub mod database;
mod dev;
mod endpoint;
mod health;
pub mod lifecycle;
mod metrics;
mod services;
pub mod telemetry;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use sqlx::postgres::PgPool;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::app::App;
use crate::app::error::Error;
use crate::app::reconcile::Report;
use crate::domain::limits::Rules;
use crate::workers::{Job, JobName, drive};

use config::Config;
use database::DatabaseError;
use health::Readiness;
use lifecycle::{Lifecycle, StopError};

/// Why a server did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The services cannot be put together.
    #[error("cannot offer reflection")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// A lane cannot be started.
    #[error("cannot start a lane of the pipeline")]
    Lane(#[from] std::io::Error),
    /// The address of the metrics cannot be listened on.
    #[error("cannot listen on `{address}` for metrics")]
    Metrics {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// A task died, or could not be ended.
    #[error(transparent)]
    Stop(#[from] StopError),
}

/// Who runs the background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// The server itself, as its rows fall due.
    Running,
    /// Whoever holds it, by `Server::sweep`: a test that moves the time decides when.
    ByHand,
}

/// A server that serves.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    metrics_address: Option<SocketAddr>,
    life: Lifecycle,
    pool: PgPool,
    jobs: Vec<Arc<Job>>,
}

/// Runs a server on `listener` until `life` ends; returns when all of it has stopped.
///
/// # Errors
/// The database cannot be used, or a task died.
pub async fn run(config: Config, listener: TcpListener, life: Lifecycle) -> Result<(), RunError> {
    start(config, listener, life, Workers::Running, rand::random())
        .await?
        .ended()
        .await
}

/// Starts a server on `listener`; `life` ends it.
///
/// It takes its socket and its end, so that tests run the real server in their own process, and the seed
/// that its ids follow from, which must be another for each server of a database.
///
/// # Errors
/// The database cannot be used.
pub async fn start(
    config: Config,
    listener: TcpListener,
    life: Lifecycle,
    workers: Workers,
    seed: u64,
) -> Result<Server, RunError> {
    let pool = database::connect(&config.database).await?;
    let schema = database::check_schema(&pool).await?;
    let readiness = Readiness::watch(pool.clone(), &life);
    let app = App::start(
        database::options(&config.database.url)?,
        pool.clone(),
        Rules::from(&config.rules),
        seed,
        life.soft().clone(),
    )?;
    let listens = !config.database.no_listener;
    let interval = config.database.poll_interval.0;
    spawn(
        &life,
        "hints",
        Arc::clone(&app).carry_hints(listens, interval),
    );
    let jobs: Vec<Arc<Job>> = JobName::ALL
        .into_iter()
        .map(|name| Arc::new(Job::new(name)))
        .collect();
    if workers == Workers::Running {
        for job in &jobs {
            let status = watch::Sender::default();
            spawn(
                &life,
                job.name().as_str(),
                drive(Arc::clone(job), Arc::clone(&app), status),
            );
        }
    }
    let routes = services::routes(readiness, &app)?;
    tracing::info!(
        address = %listener.local_addr().map(|address| address.to_string()).unwrap_or_default(),
        database = %config.database.url,
        %schema,
        "serving",
    );
    endpoint::serve(listener, routes, Arc::clone(app.metrics()), &life);
    let metrics_address = match config.server.metrics_addr.0 {
        Some(address) => Some(metrics::serve(address, &app, &life).await?),
        None => None,
    };
    Ok(Server {
        app,
        metrics_address,
        life,
        pool,
        jobs,
    })
}

/// Spawns work that never ends by itself and may be dropped when the server stops.
fn spawn(life: &Lifecycle, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
    let soft = life.soft().clone();
    life.spawn(name, async move {
        soft.run_until_cancelled(work).await;
        Ok::<(), Infallible>(())
    });
}

impl Server {
    /// Where metrics are shown, if they are.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Waits until its life has ended and all of it has stopped.
    ///
    /// # Errors
    /// A task died, or could not be ended.
    pub async fn ended(self) -> Result<(), RunError> {
        let ended = self.life.ended().await;
        self.app.stop().await;
        self.pool.close().await;
        tracing::info!("stopped");
        Ok(ended?)
    }

    /// One pass of a background job, now.
    ///
    /// # Errors
    /// The database is away.
    pub async fn sweep(&self, name: JobName) -> Result<Report, Error> {
        let mut report = Report::default();
        for job in self.jobs.iter().filter(|job| job.name() == name) {
            report = job.run_once(&self.app).await?;
        }
        Ok(report)
    }
}
