//! Composition: configuration, telemetry, lifecycle. The only place that knows everything.

pub mod cli;
pub mod config;
pub mod database;
mod dev;
mod endpoint;
mod health;
pub mod lifecycle;
mod services;
pub mod telemetry;

use std::convert::Infallible;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::app::App;
use crate::domain::limits::Rules;

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
    /// A task died, or could not be ended.
    #[error(transparent)]
    Stop(#[from] StopError),
}

/// Runs a server on `listener` until `life` ends; returns when all of it has stopped.
///
/// It takes its socket and its end, so that tests run the real server in their own process.
///
/// # Errors
/// The database cannot be used, or a task died.
pub async fn run(config: Config, listener: TcpListener, life: Lifecycle) -> Result<(), RunError> {
    let pool = database::connect(&config.database).await?;
    let schema = database::check_schema(&pool).await?;
    let readiness = Readiness::watch(pool.clone(), &life);
    let app = App::start(
        database::options(&config.database.url)?,
        pool.clone(),
        Rules::from(&config.rules),
        rand::random(),
        life.soft().clone(),
    )?;
    let listens = !config.database.no_listener;
    let hints = Arc::clone(&app).carry_hints(listens);
    let soft = life.soft().clone();
    life.spawn("hints", async move {
        soft.run_until_cancelled(hints).await;
        Ok::<(), Infallible>(())
    });
    let routes = services::routes(readiness, &app)?;
    tracing::info!(
        address = %listener.local_addr().map(|address| address.to_string()).unwrap_or_default(),
        database = %config.database.url,
        %schema,
        "serving",
    );
    endpoint::serve(listener, routes, &life);
    let ended = life.ended().await;
    app.stop().await;
    pool.close().await;
    tracing::info!("stopped");
    Ok(ended?)
}
