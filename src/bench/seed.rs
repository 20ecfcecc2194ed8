//! Rows to work on, put into the database beside the server: what a benchmark needs first would take
//! longer through the API than what it measures.
//!
//! The rows are what the API would have left, so that a server cannot tell the difference. They
//! follow the migrations; a change of a table changes `sql/` here.

use std::ops::Range;

use sqlx::postgres::PgPool;
use uuid::Uuid;

use super::BenchError;
use super::site::NAMESPACE;

const AGENTS: &str = include_str!("sql/seed_agents.sql");
const THREADS: &str = include_str!("sql/seed_threads.sql");
const HANDOFFS: &str = include_str!("sql/seed_handoffs.sql");
const TURNS: &str = include_str!("sql/seed_turns.sql");
const MAILBOXES: &str = include_str!("sql/seed_mailboxes.sql");
const CLOSED: &str = include_str!("sql/seed_closed.sql");

/// The agent that hands off.
pub(super) const PARENT: &str = "parent";
/// The agent that works.
pub(super) const WORKER: &str = "worker";

/// The agent of the rows that only take up room.
const BALLAST: &str = "ballast";

/// Everything that belongs to a namespace, what refers to others first; ids from `$2` on.
const CLEAR: [&str; 15] = [
    "DELETE FROM deferred_effects WHERE namespace = $1 AND effect_id >= $2",
    "DELETE FROM reports WHERE namespace = $1 AND handoff_id >= $2",
    "DELETE FROM handoff_events WHERE namespace = $1 AND handoff_id >= $2",
    "DELETE FROM assignments WHERE namespace = $1 AND handoff_id >= $2",
    "DELETE FROM handoffs WHERE namespace = $1 AND handoff_id >= $2",
    "DELETE FROM thread_events WHERE namespace = $1 AND thread_id >= $2",
    "DELETE FROM messages WHERE namespace = $1 AND to_thread_id >= $2",
    "DELETE FROM turns WHERE namespace = $1 AND turn_id >= $2",
    "DELETE FROM thread_heads WHERE namespace = $1 AND thread_id >= $2",
    "DELETE FROM threads WHERE namespace = $1 AND thread_id >= $2",
    "DELETE FROM runtimes WHERE namespace = $1 AND $2 IS NOT NULL",
    "DELETE FROM idempotency_keys WHERE namespace = $1 AND $2 IS NOT NULL",
    "DELETE FROM agent_slots WHERE namespace = $1 AND ($2 = $3 OR agent_id <> 'ballast')",
    "DELETE FROM agents WHERE namespace = $1 AND ($2 = $3 OR agent_id <> 'ballast')",
    "DELETE FROM namespaces WHERE namespace = $1 AND $2 = $3",
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
        numbers: Range<usize>,
        woken: bool,
    ) -> Result<(), BenchError> {
        let seed = self.bound(THREADS, &numbers).bind(agent).bind(woken);
        seed.execute(self.pool).await?;
        Ok(())
    }

    /// Handoffs to `agent` that wait for a runtime, numbered.
    pub(super) async fn handoffs(
        &self,
        agent: &str,
        numbers: Range<usize>,
    ) -> Result<(), BenchError> {
        let seed = self.bound(HANDOFFS, &numbers).bind(agent);
        seed.execute(self.pool).await?;
        Ok(())
    }

    /// So many threads that no runtime drives, each with one unread message.
    pub(super) async fn mailboxes(&self, count: usize) -> Result<(), BenchError> {
        self.bound(MAILBOXES, &(0..count))
            .execute(self.pool)
            .await?;
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
        numbers: &Range<usize>,
    ) -> sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments> {
        sqlx::query(statement)
            .bind(NAMESPACE)
            .bind(self.ids.millis)
            .bind(big(numbers.start))
            .bind(big(numbers.end) - 1)
    }
}

/// Rows of one statement that fills up room.
const CHUNK: usize = 20_000;
/// Closed handoffs for each open one.
const CLOSED_EACH: usize = 10;

/// Fills the namespace, which is empty, with `open` waiting handoffs and ten times as many closed ones
/// of an agent that nobody hosts. Tells from which id on rows belong to runs.
pub(super) async fn ballast(pool: &PgPool, open: usize) -> Result<Uuid, BenchError> {
    let seed = Seed::begin(pool, 0).await?;
    for agents in [
        "INSERT INTO agents (namespace, agent_id, display_name, description, accepts_handoffs,
            on_turn_lost, create_time, update_time)
        VALUES ($1, $2, '', 'of a benchmark', true, NULL, handoffd_now(), handoffd_now())",
        "INSERT INTO agent_slots (namespace, agent_id, state, max_turns, live_turns, version)
        VALUES ($1, $2, 'active', NULL, 0, 1)",
    ] {
        let insert = sqlx::query(agents).bind(NAMESPACE).bind(BALLAST);
        insert.execute(pool).await?;
    }
    for from in (0..open).step_by(CHUNK) {
        let numbers = from..open.min(from + CHUNK);
        seed.handoffs(BALLAST, numbers).await?;
    }
    let end = open + CLOSED_EACH * open;
    for from in (open..end).step_by(CHUNK) {
        let closed = seed.bound(CLOSED, &(from..end.min(from + CHUNK)));
        closed.bind(BALLAST).execute(pool).await?;
    }
    // Ids of runs have a later time.
    let after = sqlx::query_scalar(
        "SELECT (lpad(to_hex($1::bigint + 1), 12, '0') || repeat('0', 20))::uuid",
    );
    let after = after.bind(seed.ids.millis).fetch_one(pool).await?;
    seed.end().await?;
    clear(pool, after).await?;
    Ok(after)
}

/// Removes everything from the id `from` on; all there is where that is the least id.
pub(super) async fn clear(pool: &PgPool, from: Uuid) -> Result<(), BenchError> {
    for statement in CLEAR {
        let clear = sqlx::query(statement).bind(NAMESPACE).bind(from);
        let clear = if statement.contains("$3") {
            clear.bind(Uuid::nil())
        } else {
            clear
        };
        clear.execute(pool).await?;
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
