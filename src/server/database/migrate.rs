//! Brings the schema up to this release's.
//!
//! Several servers or jobs may try at once; one does it, the others wait and find it done. They
//! wait by *trying* an advisory lock again and again. A lock call that waits would be a statement
//! with a snapshot for as long as it waits, and `CREATE INDEX CONCURRENTLY` waits for all older
//! snapshots: the migration and its spectator would wait for each other for ever. So sqlx's own
//! lock, which waits, is off. The lock belongs to the session: migrations want a connection of
//! their own, straight to PostgreSQL and not through a transaction-pooling proxy.

use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, interval};

use super::reach::reach;
use super::{DatabaseError, schema};
use crate::server::config::DatabaseUrl;

/// All migrations of this release.
pub(super) static MIGRATOR: Migrator = Migrator {
    locking: false,
    // An older release's `migrate` finds the newer one's migrations, and has nothing to do.
    ignore_missing: true,
    ..sqlx::migrate!("./migrations")
};

/// Number of our advisory lock: "handoffd" in ASCII.
const LOCK: i64 = 0x6861_6e64_6f66_6664;

/// Between two tries for the lock.
const RETRY: Duration = Duration::from_millis(200);

/// How long another migration may take before we give up; building an index takes minutes.
const PATIENCE: Duration = Duration::from_mins(15);

/// Applies every migration that the database lacks; does nothing where it lacks none.
///
/// # Errors
/// The database does not answer, a migration fails, or another one runs for too long.
pub async fn migrate(url: &DatabaseUrl) -> Result<(), DatabaseError> {
    let mut connection = reach(url).await?;
    lock(&mut connection).await?;
    MIGRATOR.run_direct(None, &mut connection, false).await?;
    schema::record_compatibility(&mut connection).await?;
    // Closing the session releases the lock, also where an error skipped this line.
    connection.close().await?;
    Ok(())
}

async fn lock(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    let begin = Instant::now();
    let mut tries = interval(RETRY);
    let mut told = false;
    loop {
        tries.tick().await;
        let locked: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(LOCK)
            .fetch_one(&mut *connection)
            .await?;
        let waited = begin.elapsed();
        if locked {
            return Ok(());
        }
        if waited > PATIENCE {
            return Err(DatabaseError::MigrationRuns { waited });
        }
        if !told {
            tracing::info!("another migration runs, waiting for it");
            told = true;
        }
    }
}
