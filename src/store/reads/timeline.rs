//! Timelines.

use sqlx::postgres::PgPool;

use crate::domain::handoffs::HandoffEvent;
use crate::domain::ids::{HandoffId, Namespace};

use crate::store::StoreError;
use crate::store::codec::{Unknown, big};
use crate::store::timelines::HandoffEventRow;

const LIST: &str = include_str!("../sql/list_timeline.sql");

/// Entries of a handoff above a number, at most `limit`.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn list(
    pool: &PgPool,
    namespace: &Namespace,
    id: HandoffId,
    after: u64,
    limit: usize,
) -> Result<Vec<HandoffEvent>, StoreError> {
    let rows: Vec<HandoffEventRow> = sqlx::query_scalar(LIST)
        .bind(&namespace.0)
        .bind(id)
        .bind(big(after))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(pool)
        .await?;
    let events = rows.into_iter().map(HandoffEvent::try_from);
    Ok(events.collect::<Result<_, Unknown>>()?)
}

/// Whether a handoff is there.
///
/// # Errors
/// The database is away.
pub async fn has_handoff(
    pool: &PgPool,
    namespace: &Namespace,
    id: HandoffId,
) -> Result<bool, StoreError> {
    let query = sqlx::query_scalar(include_str!("../sql/reads/has_handoff.sql"));
    let query = query.bind(&namespace.0).bind(id);
    let found: Option<i32> = query.fetch_optional(pool).await?;
    Ok(found.is_some())
}
