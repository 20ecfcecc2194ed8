//! What falls due, found by the indexes on its time: cost follows due rows, never the table.

use std::time::Duration;

use sqlx::postgres::PgPool;
use uuid::Uuid;

use crate::domain::effects::{EffectKind, EffectRef};
use crate::domain::ids::{EffectId, HandoffId, Namespace, ThreadId, TurnId};
use crate::domain::time::Timestamp;

use super::StoreError;
use super::codec::Spelled;
use super::patience::answered;

/// Rows that are due, and when the next one will be.
#[derive(Debug)]
pub struct Due<T> {
    /// In order of their time, each with its tenant.
    pub rows: Vec<(Namespace, T)>,
    /// How long it is to the earliest time that is still to come, by the database's clock.
    pub next: Option<Duration>,
}

/// Turns whose lease should be looked at; `skipped` failed lately and wait.
///
/// # Errors
/// The database is away.
pub async fn leases(
    pool: &PgPool,
    skipped: &[TurnId],
    limit: i64,
) -> Result<Due<TurnId>, StoreError> {
    let sql = include_str!("sql/due_leases.sql");
    let query = sqlx::query_as(sql).bind(skipped).bind(limit);
    let found: Vec<(String, TurnId)> = answered(query.fetch_all(pool)).await?;
    let next = include_str!("sql/next_lease.sql");
    let next = answered(sqlx::query_as(next).fetch_one(pool)).await?;
    Ok(due(found, next))
}

/// Threads whose quiet time should be looked at; `skipped` failed lately and wait.
///
/// # Errors
/// The database is away.
pub async fn quiet(
    pool: &PgPool,
    skipped: &[ThreadId],
    limit: i64,
) -> Result<Due<ThreadId>, StoreError> {
    let sql = include_str!("sql/due_quiet.sql");
    let query = sqlx::query_as(sql).bind(skipped).bind(limit);
    let found: Vec<(String, ThreadId)> = answered(query.fetch_all(pool)).await?;
    let next = include_str!("sql/next_quiet.sql");
    let next = answered(sqlx::query_as(next).fetch_one(pool)).await?;
    Ok(due(found, next))
}

fn due<T>(found: Vec<(String, T)>, (now, next): (Timestamp, Option<Timestamp>)) -> Due<T> {
    let rows = found
        .into_iter()
        .map(|(namespace, row)| (Namespace(namespace), row))
        .collect();
    let next = next.map(|next| next.since(now));
    Due { rows, next }
}

/// Effects that are to be run; `skipped` failed lately and wait. One statement: there are hardly ever
/// any.
///
/// # Errors
/// The database is away.
pub async fn effects(
    pool: &PgPool,
    skipped: &[EffectId],
    limit: i64,
) -> Result<Due<EffectRef>, StoreError> {
    let kinds: Vec<&str> = EffectKind::ALL.map(Spelled::spell).to_vec();
    let query = sqlx::query_as(include_str!("sql/due_effects.sql"));
    let query = query.bind(kinds).bind(skipped).bind(limit);
    let found: Vec<(String, EffectId, String, Uuid, Timestamp, Timestamp)> =
        answered(query.fetch_all(pool)).await?;
    let mut due = Due {
        rows: Vec::new(),
        next: None,
    };
    for (namespace, effect_id, kind, subject_id, due_time, now) in found {
        if due_time > now {
            due.next = Some(due_time.since(now));
            break;
        }
        let effect = EffectRef {
            effect_id,
            kind: EffectKind::read(&kind)?,
            subject_id,
        };
        due.rows.push((Namespace(namespace), effect));
    }
    Ok(due)
}

/// Handoffs whose time limit has passed; `skipped` failed lately and wait. One statement: most work has
/// no limit.
///
/// # Errors
/// The database is away.
pub async fn handoffs(
    pool: &PgPool,
    skipped: &[HandoffId],
    limit: i64,
) -> Result<Due<HandoffId>, StoreError> {
    let query = sqlx::query_as(include_str!("sql/due_handoffs.sql"));
    let query = query.bind(skipped).bind(limit);
    let found: Vec<(String, HandoffId, Timestamp, Timestamp)> =
        answered(query.fetch_all(pool)).await?;
    let mut due = Due {
        rows: Vec::new(),
        next: None,
    };
    for (namespace, handoff_id, due_time, now) in found {
        if due_time > now {
            due.next = Some(due_time.since(now));
            break;
        }
        due.rows.push((Namespace(namespace), handoff_id));
    }
    Ok(due)
}

/// Marks that a server of the service lives. Who finds no recent mark knows that all of them were
/// away, and gives running turns one more lease from now.
///
/// # Errors
/// The database is away.
pub async fn mark_alive(pool: &PgPool) -> Result<(), StoreError> {
    let mark = sqlx::query(include_str!("sql/mark_alive.sql"));
    answered(mark.execute(pool)).await?;
    Ok(())
}
