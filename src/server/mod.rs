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

use tokio::net::TcpListener;

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
    let routes = services::routes(readiness)?;
    tracing::info!(
        address = %listener.local_addr().map(|address| address.to_string()).unwrap_or_default(),
        database = %config.database.url,
        %schema,
        "serving",
    );
    endpoint::serve(listener, routes, &life);
    let ended = life.ended().await;
    pool.close().await;
    tracing::info!("stopped");
    Ok(ended?)
}
