//! What a server stands on: its database, and who stands in that one's way.

use std::time::Duration;

use sqlx::PgPool;

use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::patience::answered;

const GET: &str = include_str!("../sql/reads/get_server.sql");
const LIST: &str = include_str!("../sql/reads/list_long_transactions.sql");

/// What a database says of itself.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Database {
    /// As PostgreSQL spells it.
    pub database_version: String,
    /// Its clock when it answered.
    pub database_time: Timestamp,
    /// Its newest migration; none where it was migrated by other means.
    pub schema_version: Option<i64>,
}

/// A session whose open transaction keeps the database from cleaning up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongTransaction {
    /// The process of the session.
    pub process_id: i32,
    /// The name that its client gave it.
    pub application: String,
    /// It does nothing, and keeps the transaction open.
    pub idle: bool,
    /// For how long.
    pub age: Duration,
}

/// Asks the database what it is.
///
/// # Errors
/// The database is away.
pub async fn get(pool: &PgPool) -> Result<Database, StoreError> {
    Ok(answered(sqlx::query_as(GET).fetch_one(pool)).await?)
}

/// Lists at most `limit` transactions that are older than `age`, oldest first. PostgreSQL shows them of
/// all accounts only to members of `pg_read_all_stats`; else of the server's own account.
///
/// # Errors
/// The database is away.
pub async fn long_transactions(
    pool: &PgPool,
    age: Duration,
    limit: i64,
) -> Result<Vec<LongTransaction>, StoreError> {
    let millis = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let query = sqlx::query_as(LIST).bind(millis).bind(limit);
    let rows: Vec<(i32, String, bool, i64)> = answered(query.fetch_all(pool)).await?;
    let transaction = |(process_id, application, idle, millis)| LongTransaction {
        process_id,
        application,
        idle,
        age: Duration::from_millis(u64::try_from(millis).unwrap_or(0)),
    };
    Ok(rows.into_iter().map(transaction).collect())
}
