//! Use cases, carried out by the pipeline.

pub mod agents;
pub mod error;
mod hints;
pub mod pipeline;
pub mod registry;
pub mod signals;
pub mod threads;

use std::sync::Arc;

use sqlx::postgres::{PgConnectOptions, PgPool};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::domain::command::Command;
use crate::domain::limits::Rules;

use error::Error;
use pipeline::{Pipeline, Request};
use registry::Registry;

/// What the use cases work with. One a server.
#[derive(Debug)]
pub struct App {
    options: PgConnectOptions,
    /// For reads; changes of state go through the pipeline's own connections.
    pub(crate) pool: PgPool,
    pipeline: Pipeline,
    /// Who waits for what.
    pub(crate) registry: Arc<Registry>,
    /// The rules an operator set.
    pub(crate) rules: Arc<Rules>,
    /// Waits answer and new ones are refused from then on.
    pub(crate) draining: CancellationToken,
    server: u64,
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
        Ok(Arc::new(Self {
            options,
            pool,
            pipeline,
            registry,
            rules,
            draining,
            server: seed,
        }))
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
        self.pipeline.submit(request, command).await
    }

    /// Carries hints to and from other servers until it is dropped. `listens` is off behind a pooler
    /// that cannot LISTEN; waits then rely on polling.
    pub async fn carry_hints(self: Arc<Self>, listens: bool) {
        let (hears, heard) = watch::channel(false);
        let poller = hints::poller(Arc::clone(&self.registry), heard);
        if listens {
            let listener = hints::listener(
                self.options.clone(),
                Arc::clone(&self.registry),
                self.server,
                hears,
            );
            let notifier = hints::notifier(
                self.options.clone(),
                Arc::clone(&self.registry),
                self.server,
            );
            tokio::join!(poller, listener, notifier);
        } else {
            poller.await;
        }
    }

    /// Finishes what was handed over, and ends the lanes.
    pub async fn stop(&self) {
        self.pipeline.stop().await;
    }
}
