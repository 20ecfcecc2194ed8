//! Counts over a tenant, each over a bounded number of rows.

use std::time::Duration;

use sqlx::postgres::PgPool;

use crate::domain::handoffs::Status;
use crate::domain::ids::{AgentId, Namespace};
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::codec::{Spelled, Unknown, count};
use crate::store::patience::answered;

const OPEN: &str = include_str!("../sql/stats_open.sql");
const QUEUE: &str = include_str!("../sql/stats_queue.sql");
const CLAIMS: &str = include_str!("../sql/stats_claims.sql");
const TURNS: &str = include_str!("../sql/stats_turns.sql");
const ENDS: &str = include_str!("../sql/stats_ends.sql");

/// Open handoffs of one agent in one status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCount {
    /// Whose.
    pub agent_id: AgentId,
    /// Which status.
    pub status: Status,
    /// How many.
    pub count: u64,
    /// When the oldest was created.
    pub oldest: Timestamp,
}

/// Threads of one agent whose turn is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueCount {
    /// Whose.
    pub agent_id: AgentId,
    /// How many.
    pub count: u64,
    /// Since when the oldest is due.
    pub oldest: Timestamp,
}

/// How long something took, over a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// How many there were.
    pub count: u64,
    /// Half of them took this at most.
    pub p50: Duration,
    /// Nine of ten.
    pub p90: Duration,
    /// 99 of a hundred.
    pub p99: Duration,
    /// All of them.
    pub max: Duration,
}

/// Open handoffs by agent and status, over the oldest `rows`.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn open(
    pool: &PgPool,
    namespace: &Namespace,
    rows: i64,
) -> Result<Vec<OpenCount>, StoreError> {
    let found = sqlx::query_as(OPEN).bind(&namespace.0).bind(rows);
    let found: Vec<(AgentId, String, i64, Timestamp)> = answered(found.fetch_all(pool)).await?;
    let counts = found.into_iter().map(|(agent_id, status, number, oldest)| {
        Ok(OpenCount {
            agent_id,
            status: Status::read(&status)?,
            count: count(number),
            oldest,
        })
    });
    Ok(counts.collect::<Result<_, Unknown>>()?)
}

/// Threads whose turn is due, by agent, over `rows` wakes at most.
///
/// # Errors
/// The database is away.
pub async fn queue(
    pool: &PgPool,
    namespace: &Namespace,
    rows: i64,
) -> Result<Vec<QueueCount>, StoreError> {
    let found = sqlx::query_as(QUEUE).bind(&namespace.0).bind(rows);
    let found: Vec<(AgentId, i64, Timestamp)> = answered(found.fetch_all(pool)).await?;
    let counts = found
        .into_iter()
        .map(|(agent_id, number, oldest)| QueueCount {
            agent_id,
            count: count(number),
            oldest,
        });
    Ok(counts.collect())
}

/// How long the newest `rows` handoffs waited for their first turn, those that had one.
///
/// # Errors
/// The database is away.
pub async fn claims(pool: &PgPool, namespace: &Namespace, rows: i64) -> Result<Spans, StoreError> {
    spans(pool, CLAIMS, namespace, rows).await
}

/// How long the newest `rows` turns took, those that ended.
///
/// # Errors
/// The database is away.
pub async fn turns(pool: &PgPool, namespace: &Namespace, rows: i64) -> Result<Spans, StoreError> {
    spans(pool, TURNS, namespace, rows).await
}

async fn spans(
    pool: &PgPool,
    statement: &'static str,
    namespace: &Namespace,
    rows: i64,
) -> Result<Spans, StoreError> {
    let found = sqlx::query_as(statement).bind(&namespace.0).bind(rows);
    let (number, percentiles, max): (i64, Option<Vec<i64>>, Option<i64>) =
        answered(found.fetch_one(pool)).await?;
    let span = |micros: i64| Duration::from_micros(count(micros));
    let percentile = |at: usize| percentiles.as_ref()?.get(at).copied();
    Ok(Spans {
        count: count(number),
        p50: span(percentile(0).unwrap_or(0)),
        p90: span(percentile(1).unwrap_or(0)),
        p99: span(percentile(2).unwrap_or(0)),
        max: span(max.unwrap_or(0)),
    })
}

/// How the newest `rows` handoffs stand or ended.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn ends(
    pool: &PgPool,
    namespace: &Namespace,
    rows: i64,
) -> Result<Vec<(Status, u64)>, StoreError> {
    let found = sqlx::query_as(ENDS).bind(&namespace.0).bind(rows);
    let found: Vec<(String, i64)> = answered(found.fetch_all(pool)).await?;
    let counts = found
        .into_iter()
        .map(|(status, number)| Ok((Status::read(&status)?, count(number))));
    Ok(counts.collect::<Result<_, Unknown>>()?)
}
