//! Rows to work on, put into the database beside the server: what a benchmark needs first would take
//! longer through the API than what it measures.
//!
//! The rows are what the API would have left, so that a server cannot tell the difference. They
//! follow the migrations; a change of a table changes `sql/` here.

use sqlx::postgres::PgPool;

use super::BenchError;
use super::site::NAMESPACE;

const AGENTS: &str = include_str!("sql/seed_agents.sql");
const THREADS: &str = include_str!("sql/seed_threads.sql");
const HANDOFFS: &str = include_str!("sql/seed_handoffs.sql");
const TURNS: &str = include_str!("sql/seed_turns.sql");

/// The agent that hands off.
pub(super) const PARENT: &str = "parent";
/// The agent that works.
pub(super) const WORKER: &str = "worker";

/// Everything that belongs to a namespace, what refers to others first.
const CLEAR: [&str; 15] = [
    "DELETE FROM deferred_effects WHERE namespace = $1",
    "DELETE FROM reports WHERE namespace = $1",
    "DELETE FROM handoff_events WHERE namespace = $1",
    "DELETE FROM assignments WHERE namespace = $1",
    "DELETE FROM handoffs WHERE namespace = $1",
    "DELETE FROM thread_events WHERE namespace = $1",
    "DELETE FROM messages WHERE namespace = $1",
    "DELETE FROM turns WHERE namespace = $1",
    "DELETE FROM thread_heads WHERE namespace = $1",
    "DELETE FROM threads WHERE namespace = $1",
    "DELETE FROM runtimes WHERE namespace = $1",
    "DELETE FROM idempotency_keys WHERE namespace = $1",
    "DELETE FROM agent_slots WHERE namespace = $1",
    "DELETE FROM agents WHERE namespace = $1",
    "DELETE FROM namespaces WHERE namespace = $1",
];

/// Rows of the run before are dead weight, and statistics of an empty table mislead.
const TIDY: &str = "VACUUM (ANALYZE) agents, agent_slots, runtimes, threads, thread_heads,
    thread_events, messages, turns, handoffs, assignments, reports, handoff_events, idempotency_keys,
    deferred_effects";

/// Ids of seeded rows: a time, which makes them unlike those of any other run, and a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ids {
    millis: i64,
}

impl Ids {
    /// The thread with that number.
    pub(super) fn thread(self, number: usize) -> String {
        format!("thr_{}", self.digits(number))
    }

    /// The handoff with that number.
    pub(super) fn handoff(self, number: usize) -> String {
        format!("hnd_{}", self.digits(number))
    }

    /// The turn with that number.
    pub(super) fn turn(self, number: usize) -> String {
        format!("trn_{}", self.digits(number))
    }

    /// As the statements in `sql/` put them together: version 7 of a UUID.
    fn digits(self, number: usize) -> String {
        format!("{:012x}70008000{number:012x}", self.millis)
    }
}

/// The runtime with that number, in its first life.
pub(super) fn runtime(number: usize) -> String {
    format!("runtime-{number}")
}

/// Fills the namespace, which is empty.
#[derive(Debug)]
pub(super) struct Seed<'p> {
    pool: &'p PgPool,
    ids: Ids,
}

impl<'p> Seed<'p> {
    /// Begins with the agents and so many runtimes.
    pub(super) async fn begin(pool: &'p PgPool, runtimes: usize) -> Result<Self, BenchError> {
        let time = sqlx::query_scalar("SELECT (extract(epoch FROM handoffd_now()) * 1000)::bigint");
        let ids = Ids {
            millis: time.fetch_one(pool).await?,
        };
        sqlx::query(AGENTS)
            .bind(NAMESPACE)
            .bind(big(runtimes))
            .execute(pool)
            .await?;
        Ok(Self { pool, ids })
    }

    /// Idle root threads of `agent`, numbered; with a wake that is due, where said.
    pub(super) async fn threads(
        &self,
        agent: &str,
        numbers: std::ops::Range<usize>,
        woken: bool,
    ) -> Result<(), BenchError> {
        let seed = self.bound(THREADS, &numbers).bind(agent).bind(woken);
        seed.execute(self.pool).await?;
        Ok(())
    }

    /// So many handoffs to the worker that wait for a runtime.
    pub(super) async fn handoffs(&self, count: usize) -> Result<(), BenchError> {
        self.bound(HANDOFFS, &(0..count)).execute(self.pool).await?;
        Ok(())
    }

    /// So many running turns of the worker, held by the first runtime with token 1.
    pub(super) async fn turns(&self, count: usize) -> Result<(), BenchError> {
        self.bound(TURNS, &(0..count)).execute(self.pool).await?;
        Ok(())
    }

    /// Leaves the tables as a database that runs for a while has them.
    pub(super) async fn end(self) -> Result<Ids, BenchError> {
        sqlx::query(TIDY).execute(self.pool).await?;
        Ok(self.ids)
    }

    fn bound(
        &self,
        statement: &'static str,
        numbers: &std::ops::Range<usize>,
    ) -> sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments> {
        sqlx::query(statement)
            .bind(NAMESPACE)
            .bind(self.ids.millis)
            .bind(big(numbers.start))
            .bind(big(numbers.end) - 1)
    }
}

/// Removes everything a run left.
pub(super) async fn clear(pool: &PgPool) -> Result<(), BenchError> {
    for statement in CLEAR {
        sqlx::query(statement).bind(NAMESPACE).execute(pool).await?;
    }
    Ok(())
}

fn big(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_a_prefix_and_a_version_seven_uuid() {
        let ids = Ids {
            millis: 0x0190_1234_5678,
        };
        assert_eq!(ids.thread(0x2a), "thr_0190123456787000800000000000002a");
    }
}
