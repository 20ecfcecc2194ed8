//! Looks past all servers at what must hold at every moment.

use std::time::{Duration, Instant};

use sqlx::PgPool;
use tokio::time::timeout;

use super::Run;
use super::account::Part;
use super::stand::{PAIR_LIMIT, PAIR_WINDOW};
use crate::support::{invariants, pause};

/// The agent whose turns are limited, and their number.
pub(super) const NARROW: &str = "narrow";
pub(super) const NARROW_TURNS: u32 = 3;

/// Between two samples.
const SAMPLE: Duration = Duration::from_millis(100);
/// How long a database that stands still is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Samples without end. The database may be away; then there is nothing to see.
pub(super) async fn sample(run: &Run<'_>) {
    let mut invariants_due = Instant::now();
    loop {
        pause(SAMPLE).await;
        let Ok(Ok((narrow, most))) = timeout(PATIENCE, live_turns(&run.stand.pool)).await else {
            run.count(Part::Checks, "samples that found the database away");
            continue;
        };
        run.count(Part::Checks, "samples of live turns");
        run.holds(narrow <= i64::from(NARROW_TURNS), || {
            format!("{narrow} live turns of an agent that may have {NARROW_TURNS}")
        });
        run.holds(most <= 1, || format!("{most} live turns of one thread"));
        if Instant::now() < invariants_due {
            continue;
        }
        let begin = Instant::now();
        if let Ok(Ok(broken)) = timeout(PATIENCE, invariants::found(&run.stand.pool)).await {
            run.count(
                Part::Checks,
                "times that all invariants were checked meanwhile",
            );
            for row in broken {
                run.broken(row);
            }
        }
        // They read everything, and shall take a small part of the machine.
        invariants_due = Instant::now() + Duration::from_secs(3).max(begin.elapsed() * 20);
    }
}

/// Of the limited agent, and of the thread that has most.
async fn live_turns(pool: &PgPool) -> Result<(i64, i64), sqlx::Error> {
    let live = "SELECT count(*) FILTER (WHERE agent_id = $1),
            coalesce(max(of_thread), 0)
        FROM (SELECT agent_id, count(*) OVER (PARTITION BY thread_id) AS of_thread
            FROM turns WHERE end_time IS NULL) AS live";
    sqlx::query_as(live).bind(NARROW).fetch_one(pool).await
}

/// The pair limit, at every moment of the whole run.
pub(super) async fn pairs(run: &Run<'_>) {
    let most = "SELECT coalesce(max(number), 0) FROM (
        SELECT count(*) OVER (PARTITION BY to_thread_id, from_thread_id ORDER BY create_time
            RANGE BETWEEN $1 * interval '1 second' - interval '1 microsecond' PRECEDING
            AND CURRENT ROW) AS number
        FROM messages WHERE rated) AS windows";
    let window = i32::try_from(PAIR_WINDOW.as_secs()).unwrap();
    let most: i64 = sqlx::query_scalar(most)
        .bind(window)
        .fetch_one(&run.stand.pool)
        .await
        .unwrap();
    run.holds(most <= PAIR_LIMIT, || {
        format!("{most} messages of one pair in a window that has room for {PAIR_LIMIT}")
    });
}
