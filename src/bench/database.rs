//! What the database itself says about a run: how durable it is, what was committed and written.

use sqlx::postgres::{PgConnection, PgPool};

use super::BenchError;

/// The settings that make a commit survive a power cut. With one of them off, figures compare only
/// with each other.
///
/// # Errors
/// The database refuses.
pub(super) async fn durability(
    connection: &mut PgConnection,
) -> Result<Option<String>, BenchError> {
    let (fsync, commit): (String, String) =
        sqlx::query_as("SELECT current_setting('fsync'), current_setting('synchronous_commit')")
            .fetch_one(connection)
            .await?;
    let durable = fsync == "on" && commit != "off";
    Ok((!durable).then(|| {
        format!("commits are not durable here: fsync is {fsync}, synchronous_commit is {commit}")
    }))
}

/// Counters of the database at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counters {
    /// Transactions that took an id, which are those that wrote, on the whole cluster.
    pub(super) writes: i64,
    /// All transactions of this database. Backends report theirs late.
    pub(super) transactions: i64,
}

impl Counters {
    pub(super) async fn read(pool: &PgPool) -> Result<Self, BenchError> {
        // The snapshot's end, and not the current id, which would take one.
        let (writes, transactions) = sqlx::query_as(
            "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
                 (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database())",
        )
        .fetch_one(pool)
        .await?;
        Ok(Self {
            writes,
            transactions,
        })
    }
}

/// A backend of this pool, as the system's process number.
pub(super) async fn backend(pool: &PgPool) -> Result<u32, BenchError> {
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(pool)
        .await?;
    Ok(u32::try_from(pid).unwrap_or_default())
}
