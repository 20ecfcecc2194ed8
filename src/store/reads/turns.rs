//! Reads of runtimes and of the turns they hold.

use sqlx::postgres::PgPool;

use crate::domain::ids::{Namespace, TurnId};
use crate::domain::turns::assign::Claimer;
use crate::store::StoreError;
use crate::store::codec::{big, count};

const RUNTIME_TURNS: &str = include_str!("../sql/list_runtime_turns.sql");

/// Whether a runtime was ever registered.
///
/// # Errors
/// The database is away.
pub async fn is_registered(
    pool: &PgPool,
    namespace: &Namespace,
    runtime_id: &str,
) -> Result<bool, StoreError> {
    let query = sqlx::query_scalar(include_str!("../sql/reads/has_runtime.sql"));
    let query = query.bind(&namespace.0).bind(runtime_id);
    let found: Option<i32> = query.fetch_optional(pool).await?;
    Ok(found.is_some())
}

/// Lists live turns that one life of a runtime holds, with their tokens, at most `limit`.
///
/// # Errors
/// The database is away.
pub async fn list_held(
    pool: &PgPool,
    namespace: &Namespace,
    holder: &Claimer,
    limit: usize,
) -> Result<Vec<(TurnId, u64)>, StoreError> {
    let rows: Vec<(TurnId, i64)> = sqlx::query_as(RUNTIME_TURNS)
        .bind(&namespace.0)
        .bind(&holder.runtime_id)
        .bind(big(holder.incarnation))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(pool)
        .await?;
    Ok(rows
        .into_iter()
        .map(|(id, token)| (id, count(token)))
        .collect())
}
