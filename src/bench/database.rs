//! What the database itself says about a run: how durable it is, what was written.

use sqlx::postgres::PgPool;

use super::{BenchError, Measured};

/// The settings that make a commit survive a power cut. With one of them off, figures compare only
/// with each other.
///
/// # Errors
/// The database refuses.
pub(super) async fn durability(pool: &PgPool) -> Result<Option<String>, BenchError> {
    let (fsync, commit): (String, String) =
        sqlx::query_as("SELECT current_setting('fsync'), current_setting('synchronous_commit')")
            .fetch_one(pool)
            .await?;
    let durable = fsync == "on" && commit != "off";
    Ok((!durable).then(|| {
        format!("commits are not durable here: fsync is {fsync}, synchronous_commit is {commit}")
    }))
}

/// Counts the transactions that took an id, which are those that wrote, on the whole cluster.
pub(super) struct Writes {
    begin: i64,
}

impl Writes {
    /// Begins to count.
    pub(super) async fn count(pool: &PgPool) -> Result<Self, BenchError> {
        Ok(Self {
            begin: next_id(pool).await?,
        })
    }

    /// Write transactions for each call since then, warming up included.
    pub(super) async fn each(&self, pool: &PgPool, run: &Measured) -> Result<f64, BenchError> {
        let count = |count: i64| f64::from(i32::try_from(count).unwrap_or(i32::MAX));
        let calls = i64::try_from(run.calls() + run.warm_up_calls()).unwrap_or(i64::MAX);
        Ok(count(next_id(pool).await? - self.begin) / count(calls))
    }
}

async fn next_id(pool: &PgPool) -> Result<i64, BenchError> {
    // The snapshot's end, and not the current id, which would take one.
    let id = sqlx::query_scalar("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint");
    Ok(id.fetch_one(pool).await?)
}
