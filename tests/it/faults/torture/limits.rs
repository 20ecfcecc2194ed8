//! Looks past all servers at what must hold at every moment.

use std::time::{Duration, Instant};

use sqlx::PgPool;
use tokio::time::timeout;

use super::Run;
use crate::faults::workload::account::Part;
use crate::faults::workload::{NARROW, NARROW_TURNS};
use crate::support::{invariants, pause};

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
