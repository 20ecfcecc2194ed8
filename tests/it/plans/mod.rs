//! How every statement of the store is planned: by the whole key, whatever the planner knows of the
//! tables. On an empty database nothing else is left to choose; on one that was filled, averages lie,
//! and the plan must be right for the tenant that has most of everything.
//!
//! `snapshots/` shows each plan on the filled one, so that a review sees what changed.

mod laws;
mod plan;
mod seed;
mod statements;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::support::database::TestDatabase;
use laws::Keys;
use plan::{names, plan, raw, shape, text, walk};
use statements::Statement;

/// As every statement is planned that is executed often enough.
const GENERIC: &str = "SET plan_cache_mode = force_generic_plan; SET jit = off";
/// What a batch tells the planner besides.
const HELD: &str = "SET enable_seqscan = off";

/// The version of PostgreSQL whose plans the snapshots show; others spell and choose a little
/// differently, and keep the laws all the same.
const SHOWN: &str = "15";

async fn empty() -> (TestDatabase, PgConnection) {
    let database = TestDatabase::create().await;
    let connection = PgConnection::connect_with(&database.connect_options()).await;
    (database, connection.unwrap())
}

/// Every statement with its plan.
async fn plans(connection: &mut PgConnection) -> Vec<(Statement, Value)> {
    raw(connection, GENERIC).await;
    let mut plans = Vec::new();
    for statement in statements::all() {
        let plan = plan(connection, &statement).await;
        plans.push((statement, plan));
    }
    plans
}

fn assert_lawful<'p>(keys: &Keys, plans: impl IntoIterator<Item = &'p (Statement, Value)>) {
    let wrong = plans.into_iter().flat_map(|(statement, plan)| {
        let faults = keys.faults(statement, plan).into_iter();
        faults.map(move |fault| format!("{}: {fault}", statement.name))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Statements that may be planned from the tenant's side where no table was ever analysed, since they
/// are asked for now and then, and of little while all is new; and one that a batch's settings hold.
const LEFT_TO_STATISTICS: &[&str] = &[
    "list_runtime_turns",
    "list_slot_holders",
    "mark_runtimes",
    "reads/get_agents",
    "reads/list_threads_of_agent",
];

#[tokio::test]
async fn statements_go_by_the_whole_key_on_an_empty_database() {
    let (_database, mut connection) = empty().await;
    let keys = Keys::read(&mut connection).await;
    let plans = plans(&mut connection).await;
    connection.close().await.unwrap();
    let hot = plans.iter().filter(|(it, _)| {
        !it.name.starts_with("invariants/") && !LEFT_TO_STATISTICS.contains(&&*it.name)
    });
    assert_lawful(&keys, hot);
}

/// Statements that nothing holds to their keys where tables were analysed while they were empty, since
/// every way looks free there. They go wrong for ten seconds at most: a lane makes its plans anew.
const LEFT_TO_RENEWED_PLANS: &[&str] = &[
    "read_rows",
    "except_messages",
    "deliver_reports",
    "return_reports",
    "delete_effects",
    "put_off_effects",
    "read_status",
];

/// A table that was analysed while it was empty looks free to scan, and the plan is kept while the
/// table grows. What locks, claims and writes back goes by the whole key all the same.
#[tokio::test]
async fn statements_go_by_the_whole_key_where_tables_were_analysed_while_empty() {
    let (_database, mut connection) = empty().await;
    raw(&mut connection, "ANALYZE").await;
    raw(&mut connection, HELD).await;
    let keys = Keys::read(&mut connection).await;
    let plans = plans(&mut connection).await;
    connection.close().await.unwrap();
    let held = plans.iter();
    // Calls that only read are planned without the settings of a batch, and for what they ask.
    let reads = [
        "reads/",
        "list_",
        "gauge_",
        "stats_",
        "stuck_",
        "invariants/",
    ];
    let held = held.filter(|(it, _)| {
        let read = reads.iter().any(|kind| it.name.starts_with(kind));
        !read && !LEFT_TO_RENEWED_PLANS.contains(&&*it.name)
    });
    assert_lawful(&keys, held);
}

#[tokio::test]
async fn statements_go_by_the_whole_key_where_one_tenant_has_most_of_everything() {
    let mut connection = seed::connect().await;
    let keys = Keys::read(&mut connection).await;
    let plans = plans(&mut connection).await;
    connection.close().await.unwrap();
    assert_lawful(&keys, &plans);
}

#[tokio::test]
async fn plans_are_as_they_were_shown() {
    let mut connection = seed::connect().await;
    let version: String = sqlx::query_scalar("SHOW server_version")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let plans = plans(&mut connection).await;
    connection.close().await.unwrap();
    if version.split('.').next() != Some(SHOWN) {
        return;
    }
    // A statement that goes to no table has one plan only.
    let shown = plans
        .iter()
        .filter(|(_, plan)| !names(plan, "Relation Name").is_empty());
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        for (statement, plan) in shown {
            let name = statement.name.replace('/', "_");
            insta::assert_snapshot!(name, shape(plan));
        }
    });
}

/// The composed W finds the rows it locked by their addresses, without descending an index.
#[tokio::test]
async fn updates_find_their_rows_by_address() {
    let (_database, mut connection) = empty().await;
    let plans = plans(&mut connection).await;
    connection.close().await.unwrap();
    for name in [
        "update_heads",
        "update_handoffs",
        "update_turns",
        "update_hearts",
        "update_slots",
    ] {
        let (_, plan) = plans.iter().find(|(it, _)| it.name == name).unwrap();
        let mut by_address = false;
        walk(plan, &mut |node| {
            by_address |= text(node, "Node Type") == "Tid Scan";
        });
        assert!(by_address, "{name}: {plan:#}");
    }
}

/// Indexes that no statement is planned with: they hold a rule, or serve what is not in the store.
const RULES: &[&str] = &[
    "handoffs_unfinished_child_key",
    "idempotency_keys_expire_idx",
];

/// Indexes in whose place another is as good by the laws, though it goes over what is closed or in order: only
/// the shown plans tell.
const SHOWN_ONLY: &[&str] = &[
    "handoffs_open_idx",
    // That of mail set aside.
    "messages_default_namespace_to_thread_id_mail_number_idx",
];

/// Where an index is missing a law says so: none is there for nothing, and the laws have teeth.
#[tokio::test]
async fn without_any_one_index_a_law_is_broken() {
    let mut connection = seed::connect().await;
    let keys = Keys::read(&mut connection).await;
    let plans = plans(&mut connection).await;
    let mut users = BTreeMap::<String, Vec<&Statement>>::new();
    for (statement, plan) in &plans {
        let indexes = BTreeSet::from_iter(names(plan, "Index Name"));
        for index in keys.indexes().filter(|it| indexes.contains(it)) {
            users.entry(index.to_owned()).or_default().push(statement);
        }
    }
    let mut unnoticed = Vec::new();
    for (index, users) in &users {
        raw(&mut connection, "BEGIN").await;
        let drop = drop_index(&mut connection, index).await;
        raw(&mut connection, &drop).await;
        let mut noticed = false;
        for statement in users {
            let plan = plan(&mut connection, statement).await;
            noticed |= !keys.faults(statement, &plan).is_empty();
        }
        raw(&mut connection, "ROLLBACK").await;
        if !noticed {
            unnoticed.push(index);
        }
    }
    let all = keys.indexes().filter(|it| !users.contains_key(*it));
    let unused: Vec<&str> = all.collect();
    connection.close().await.unwrap();
    assert_eq!(unnoticed, SHOWN_ONLY);
    assert_eq!(unused, RULES);
}

/// The statement that drops an index, with the constraint that it stands for and all that hangs on it.
async fn drop_index(connection: &mut PgConnection, index: &str) -> String {
    let drop = sqlx::query_scalar(
        "SELECT CASE WHEN o.oid IS NULL THEN format('DROP INDEX %I', p.relname)
            ELSE format('ALTER TABLE %s DROP CONSTRAINT %I CASCADE', o.conrelid::regclass, o.conname) END
        FROM pg_class AS c
        JOIN pg_class AS p ON p.oid = coalesce(pg_partition_root(c.oid), c.oid)
        LEFT JOIN pg_constraint AS o ON o.conindid = p.oid AND o.contype IN ('p', 'u')
        WHERE c.relname = $1",
    );
    drop.bind(index).fetch_one(connection).await.unwrap()
}
