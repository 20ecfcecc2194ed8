//! How the hot statements are planned on a database that is empty: by the whole key, whatever the
//! planner knows of the tables. A plan that is right there is right everywhere, since nothing else is
//! left to choose.

mod statements;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use crate::support::{TestServer, with_server};
use statements::{LOCK_SKIPPING, STATEMENTS};

/// Last columns of an index that give a statement its order and are no part of what it looks for.
const ORDERED_BY: &[(&str, &str, &str)] = &[
    ("read_rows", "reports_pkey", "version"),
    ("read_rows", "handoffs_parent_idx", "handoff_id"),
    ("read_status", "handoffs_parent_idx", "handoff_id"),
    (
        "read_status",
        "thread_events_namespace_thread_id_number_idx",
        "number",
    ),
    ("list_of_root", "handoffs_attempt_key", "attempt"),
    ("list_lineage_threads", "handoffs_attempt_key", "attempt"),
    ("list_newest_of_threads", "handoffs_attempt_key", "attempt"),
    // The first or newest rows of a tenant, so many.
    ("stats_open", "handoffs_open_idx", "handoff_id"),
    ("stats_queue", "thread_heads_claim_idx", "agent_id"),
    ("stats_queue", "thread_heads_claim_idx", "wake_time"),
    ("stats_claims", "handoffs_pkey", "handoff_id"),
    ("stats_ends", "handoffs_pkey", "handoff_id"),
    ("stats_turns", "turns_pkey", "turn_id"),
    // What is hardly ever there, or so many of it.
    (
        "stuck_mail",
        "messages_namespace_to_thread_id_mail_number_idx",
        "to_thread_id",
    ),
    (
        "stuck_mail",
        "messages_namespace_to_thread_id_mail_number_idx",
        "mail_number",
    ),
    ("stuck_agents", "agent_slots_pkey", "agent_id"),
    ("stuck_effects", "deferred_effects_pkey", "effect_id"),
    // All of them are counted.
    (
        "read_output",
        "thread_events_namespace_thread_id_number_idx",
        "number",
    ),
];

/// The one row of the service, and the clock of the tests.
const NOT_HOT: &[&str] = &["service", "test_clock"];

/// What a batch tells the planner.
const HELD: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off";

#[tokio::test]
async fn hot_statements_go_by_the_whole_key_on_an_empty_database() {
    with_server(async |server| {
        let mut connection = server.pool.acquire().await.unwrap().detach();
        execute(&mut connection, "SET plan_cache_mode = force_generic_plan").await;
        all_go_by_the_whole_key(connection, &[]).await;
    })
    .await;
}

/// Statements that nothing holds to their keys where tables were analysed while they were empty, since
/// every way looks free there. They go wrong for ten seconds at most: a lane makes its plans anew.
const LEFT_TO_RENEWED_PLANS: &[&str] = &[
    "read_rows",
    "except_messages",
    "deliver_reports",
    "delete_effects",
    "put_off_effects",
    "read_status",
    // The pool plans it anew for each call.
    "stats_open",
];

/// A table that was analysed while it was empty looks free to scan, and the plan is kept while the
/// table grows. What locks, claims and writes back goes by the whole key all the same.
#[tokio::test]
async fn hot_statements_go_by_the_whole_key_where_tables_were_analysed_while_empty() {
    with_server(async |server| {
        let mut connection = server.pool.acquire().await.unwrap().detach();
        execute(&mut connection, "ANALYZE").await;
        execute(&mut connection, HELD).await;
        all_go_by_the_whole_key(connection, LEFT_TO_RENEWED_PLANS).await;
    })
    .await;
}

async fn all_go_by_the_whole_key(mut connection: PgConnection, but: &[&str]) {
    let keys = index_columns(&mut connection).await;
    let mut wrong = Vec::new();
    for (name, statement) in STATEMENTS.iter().filter(|(name, _)| !but.contains(name)) {
        let plan = plan(&mut connection, name, statement).await;
        let mut found = Vec::new();
        walk(&plan, &mut |node| found.extend(faults(name, node, &keys)));
        if !found.is_empty() {
            wrong.push(format!("{name}: {}", found.join("; ")));
        }
    }
    connection.close().await.unwrap();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The composed W finds the rows it locked by their addresses, without descending an index.
#[tokio::test]
async fn updates_find_their_rows_by_address() {
    with_server(async |server| {
        for name in [
            "update_heads",
            "update_handoffs",
            "update_turns",
            "update_hearts",
            "update_slots",
        ] {
            let (_, statement) = STATEMENTS.iter().find(|(it, _)| *it == name).unwrap();
            let plan = plan_on(server, name, statement).await;
            let mut by_address = false;
            walk(&plan, &mut |node| {
                by_address |= text(node, "Node Type") == "Tid Scan";
            });
            assert!(by_address, "{name}: {plan:#}");
        }
    })
    .await;
}

async fn plan_on(server: &TestServer, name: &str, statement: &str) -> Value {
    let mut connection = server.pool.acquire().await.unwrap().detach();
    execute(&mut connection, "SET plan_cache_mode = force_generic_plan").await;
    let plan = plan(&mut connection, name, statement).await;
    connection.close().await.unwrap();
    plan
}

/// The generic plan of a statement, as JSON.
async fn plan(connection: &mut PgConnection, name: &str, statement: &str) -> Value {
    let mut statement = statement.replace("$rows", "$2");
    if name == LOCK_SKIPPING {
        statement = statement.replace("FOR NO KEY UPDATE", "FOR NO KEY UPDATE SKIP LOCKED");
    }
    execute(connection, &format!("PREPARE {name} AS {statement}")).await;
    let most = (1..40)
        .rev()
        .find(|n| mentions(&statement, *n))
        .unwrap_or(0);
    let nulls = vec!["NULL"; most].join(", ");
    let explain = format!("EXPLAIN (FORMAT JSON) EXECUTE {name} ({nulls})");
    let rows = raw(connection, &explain).await;
    let plans: Value = rows[0].get(0);
    plans[0]["Plan"].clone()
}

fn mentions(statement: &str, parameter: usize) -> bool {
    let word = format!("${parameter}");
    statement.match_indices(&word).any(|(at, _)| {
        let after = statement[at + word.len()..].chars().next();
        !after.is_some_and(|it| it.is_ascii_digit())
    })
}

fn walk(node: &Value, visit: &mut impl FnMut(&Value)) {
    visit(node);
    for child in node["Plans"].as_array().into_iter().flatten() {
        walk(child, visit);
    }
}

fn text<'v>(node: &'v Value, key: &str) -> &'v str {
    node[key].as_str().unwrap_or_default()
}

/// What is wrong with one node of a plan.
fn faults(statement: &str, node: &Value, keys: &[(String, Vec<String>)]) -> Vec<String> {
    let mut found = Vec::new();
    let (kind, table) = (text(node, "Node Type"), text(node, "Relation Name"));
    if kind == "Seq Scan" && !NOT_HOT.contains(&table) {
        found.push(format!("Seq Scan on {table}"));
    }
    if !text(node, "Join Filter").is_empty() {
        found.push(format!("Join Filter {}", text(node, "Join Filter")));
    }
    let index = text(node, "Index Name");
    let columns = keys.iter().find(|(name, _)| name == index);
    let condition = text(node, "Index Cond");
    for column in columns.into_iter().flat_map(|(_, columns)| columns) {
        let base = index.replace("_default_", "_");
        let ordered = ORDERED_BY.contains(&(statement, &*base, &**column));
        if !ordered && !condition.contains(&**column) {
            found.push(format!("{kind} on {index} without {column}: {condition}"));
        }
    }
    found
}

/// The columns or expressions of every index.
async fn index_columns(connection: &mut PgConnection) -> Vec<(String, Vec<String>)> {
    let rows = sqlx::query(
        "SELECT c.relname::text AS name,
            array_agg(pg_get_indexdef(c.oid, at.n, true) ORDER BY at.n) AS columns
        FROM pg_index AS i
        JOIN pg_class AS c ON c.oid = i.indexrelid
        JOIN pg_namespace AS s ON s.oid = c.relnamespace AND s.nspname = 'public'
        CROSS JOIN generate_series(1, i.indnkeyatts) AS at (n)
        GROUP BY c.relname",
    )
    .fetch_all(connection)
    .await
    .unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    raw(connection, statement).await;
}

#[expect(
    clippy::disallowed_methods,
    reason = "the text is a file of this repository; EXPLAIN takes no parameters"
)]
async fn raw(connection: &mut PgConnection, statement: &str) -> Vec<sqlx::postgres::PgRow> {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
        .fetch_all(connection)
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"))
}
