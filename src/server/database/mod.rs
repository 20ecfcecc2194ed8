//! The server's way to its database: connecting, migrating, judging the schema.

mod migrate;
mod reach;
mod schema;

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions, Connection};

use super::config::{DatabaseSettings, DatabaseUrl};
use reach::reach;

pub use migrate::migrate;
pub use reach::{Obstacle, find_obstacle};
pub use schema::{SUPPORTED_SCHEMA, SchemaFound, SchemaRange, check_schema};

/// How long a read whose turn it is waits for a connection before the database counts as away; far above
/// a healthy wait, far below a caller's patience.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection may lie idle and still be taken to live.
const TRUSTED: Duration = Duration::from_secs(1);

/// Prepared statements kept per connection: above the number of our texts, so that none is ever
/// prepared twice.
const STATEMENT_CACHE: usize = 256;

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The URL is not one of PostgreSQL's.
    #[error("`{0}` is no PostgreSQL URL")]
    Url(DatabaseUrl),
    /// Nobody answers there, or not to us.
    #[error("cannot connect to `{url}`: {obstacle}")]
    Connect {
        /// Where, without the password.
        url: DatabaseUrl,
        /// Why not, and what to do.
        obstacle: Obstacle,
        /// What the driver said.
        source: sqlx::Error,
    },
    /// A statement failed.
    #[error("cannot read the schema")]
    Query(#[from] sqlx::Error),
    /// A migration failed; those before it stay.
    #[error("cannot migrate")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// Another migration holds the lock for too long.
    #[error("another migration has been running for {}", humantime::format_duration(*waited))]
    MigrationRuns {
        /// How long we waited for it.
        waited: Duration,
    },
    /// This release cannot work with the schema it found.
    #[error("the database has schema {found}, this release runs with {supported}{advice}")]
    Schema {
        /// What was found.
        found: SchemaFound,
        /// What this release runs with.
        supported: SchemaRange,
        /// What to do.
        advice: &'static str,
    },
}

/// Opens the pool for reads, after a connection by itself: a wrong URL shows now, and with its cause.
///
/// # Errors
/// A URL that is none, or a database that does not answer.
pub async fn connect(settings: &DatabaseSettings) -> Result<PgPool, DatabaseError> {
    let first = reach(&settings.url).await?;
    // It has served; how it ends is of no interest.
    drop(first.close().await);
    Ok(PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // A round trip per acquire would double the cost of most reads. One that was just used is
        // taken to live; what lay idle is asked, or every dead one would fail a read after a restart
        // of the database.
        .test_before_acquire(false)
        .before_acquire(|connection, lies| {
            Box::pin(async move {
                if lies.idle_for >= TRUSTED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options(&settings.url)?))
}

/// How every connection of the server is opened.
///
/// # Errors
/// A URL that is none.
pub fn options(url: &DatabaseUrl) -> Result<PgConnectOptions, DatabaseError> {
    let options = PgConnectOptions::from_str(url.expose())
        .map_err(|_| DatabaseError::Url(url.clone()))?
        .application_name("handoffd")
        .statement_cache_capacity(STATEMENT_CACHE)
        // The driver would format every statement, also where nobody reads the line.
        .disable_statement_logging();
    Ok(options)
}
