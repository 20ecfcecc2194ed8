//! What the database knows: its tables, what is open in them, and the servers' sessions.

use std::collections::BTreeMap;

use sqlx::PgPool;

/// A table with its indexes, all partitions together.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(super) struct Table {
    /// What it takes on disk, with its indexes.
    pub(super) bytes: i64,
    /// Rows that are there, as the database's statistics have it.
    pub(super) rows: i64,
}

/// Every table by name.
pub(super) async fn tables(pool: &PgPool) -> BTreeMap<String, Table> {
    let tables = "SELECT regexp_replace(s.relname, '_default$', '') AS name,
            pg_total_relation_size(s.relid) AS bytes, s.n_live_tup AS rows
        FROM pg_stat_user_tables AS s
        JOIN pg_class AS c ON c.oid = s.relid
        WHERE c.relkind = 'r' AND s.schemaname = 'public'";
    let tables: Vec<(String, i64, i64)> = sqlx::query_as(tables).fetch_all(pool).await.unwrap();
    let tables = tables.into_iter();
    tables
        .map(|(name, bytes, rows)| (name, Table { bytes, rows }))
        .collect()
}

/// What must not become more and more.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(super) struct Open {
    pub(super) live_turns: i64,
    pub(super) unfinished_handoffs: i64,
    pub(super) wakes: i64,
    pub(super) deferred_effects: i64,
    pub(super) runtimes: i64,
}

/// How much of it there is.
pub(super) async fn open(pool: &PgPool) -> Open {
    let open = "SELECT (SELECT count(*) FROM turns WHERE end_time IS NULL) AS live_turns,
        (SELECT count(*) FROM handoffs WHERE close_time IS NULL) AS unfinished_handoffs,
        (SELECT count(*) FROM thread_heads WHERE wake_time IS NOT NULL) AS wakes,
        (SELECT count(*) FROM deferred_effects) AS deferred_effects,
        (SELECT count(*) FROM runtimes) AS runtimes";
    sqlx::query_as(open).fetch_one(pool).await.unwrap()
}

/// What all servers have with the database.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(super) struct Sessions {
    /// Connections.
    pub(super) connections: i64,
    /// Milliseconds that the oldest of their transactions is open.
    pub(super) oldest: i64,
}

/// How that is now.
pub(super) async fn sessions(pool: &PgPool) -> Sessions {
    let sessions = "SELECT count(*) AS connections,
            coalesce(max(extract(epoch FROM handoffd_now() - xact_start) * 1000)
                FILTER (WHERE state <> 'idle'), 0)::bigint AS oldest
        FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'handoffd'";
    sqlx::query_as(sessions).fetch_one(pool).await.unwrap()
}

/// How often the database cleaned a table by itself.
pub(super) async fn cleanings(pool: &PgPool) -> i64 {
    let cleanings = "SELECT coalesce(sum(autovacuum_count), 0)::bigint FROM pg_stat_user_tables";
    sqlx::query_scalar(cleanings).fetch_one(pool).await.unwrap()
}
