//! The time, for what is told as a span.

use sqlx::postgres::PgPool;

use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::patience::answered;

/// The database's time.
///
/// # Errors
/// The database is away.
pub async fn now(pool: &PgPool) -> Result<Timestamp, StoreError> {
    let now = sqlx::query_scalar("SELECT handoffd_now()");
    Ok(answered(now.fetch_one(pool)).await?)
}
