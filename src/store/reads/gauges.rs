//! What is shown of the whole database, over all tenants, for whoever watches over it.

use std::time::Duration;

use sqlx::postgres::PgPool;

use crate::domain::handoffs::Status;
use crate::store::StoreError;
use crate::store::codec::{Spelled, Unknown, count};
use crate::store::patience::answered;

/// Rows of each kind that are counted at most.
pub const COUNTED: i64 = 100_000;
/// Tenants and agents whose oldest is looked for at most.
const LOOKED_AT: i64 = 10_000;

/// What is shown. Ages and lags are none where there is nothing to be old or late.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gauges {
    /// Open handoffs, by status.
    pub open: Vec<(Status, u64)>,
    /// Since when the oldest of them is open.
    pub oldest_open: Option<Duration>,
    /// Since when the oldest turn is due that no runtime claimed, of an active agent.
    pub oldest_wake: Option<Duration>,
    /// Threads whose turn is due.
    pub due_turns: u64,
    /// Turns that live.
    pub live_turns: u64,
    /// Effects that were left and not run yet.
    pub effects: u64,
    /// How late the look at the first lease is.
    pub leases_lag: Option<Duration>,
    /// How late the look at the first quiet child is.
    pub quiet_lag: Option<Duration>,
    /// How late the first effect is.
    pub effects_lag: Option<Duration>,
}

type Queues = (i64, i64, i64, Option<f64>, Option<f64>, Option<f64>);

/// Reads what is shown.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn read(pool: &PgPool) -> Result<Gauges, StoreError> {
    let open = sqlx::query_as(include_str!("../sql/gauge_open.sql")).bind(COUNTED);
    let open: Vec<(String, i64)> = answered(open.fetch_all(pool)).await?;
    let open = open
        .into_iter()
        .map(|(status, number)| Ok((Status::read(&status)?, count(number))));
    let ages = sqlx::query_as(include_str!("../sql/gauge_ages.sql")).bind(LOOKED_AT);
    let (oldest_open, oldest_wake): (Option<f64>, Option<f64>) =
        answered(ages.fetch_one(pool)).await?;
    let queues = sqlx::query_as(include_str!("../sql/gauge_queues.sql")).bind(COUNTED);
    let (due_turns, live_turns, effects, leases, quiet, late): Queues =
        answered(queues.fetch_one(pool)).await?;
    Ok(Gauges {
        open: open.collect::<Result<_, Unknown>>()?,
        oldest_open: oldest_open.map(span),
        oldest_wake: oldest_wake.map(span),
        due_turns: count(due_turns),
        live_turns: count(live_turns),
        effects: count(effects),
        leases_lag: leases.map(span),
        quiet_lag: quiet.map(span),
        effects_lag: late.map(span),
    })
}

/// Seconds; what lies ahead is not late.
fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
