//! What must be so of every plan: cost follows what is asked, not what the tenant or the table has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sqlx::{PgConnection, Row};

use super::plan::{text, walk};
use super::statements::{Kind, Statement};

/// Tables that have one row, and what the tests and the migrations put beside ours.
const NOT_HOT: &[&str] = &["service", "test_clock", "_sqlx_migrations"];

/// Columns of an index that a statement does not look for, and why that is right: it takes them in
/// their order and stops, or wants all there is below the columns before.
const FREE: &[(&str, &str, &str)] = &[
    // What is earliest comes first, due or not.
    ("due_effects", "deferred_effects_due_idx", "due_time"),
    ("due_handoffs", "handoffs_due_idx", "due_time"),
    // The first or the last ones, bounded.
    ("read_rows", "reports_pkey", "version"),
    ("read_rows", "handoffs_parent_idx", "handoff_id"),
    ("read_status", "handoffs_parent_idx", "handoff_id"),
    ("read_status", EVENT_MARKS, "number"),
    // The attempts of a thread, of which the first or the last is wanted.
    ("list_of_root", "handoffs_attempt_key", "attempt"),
    ("list_lineage_threads", "handoffs_attempt_key", "attempt"),
    ("list_newest_of_threads", "handoffs_attempt_key", "attempt"),
    // All turns that began are counted.
    ("read_output", EVENT_MARKS, "number"),
    // Late reports are few, and so is the mail of a pair.
    ("reads/list_events", MAIL_OF_PAIRS, "create_time"),
    // Live turns are few, and an index of their own would be paid for by every claim and finish.
    ("list_runtime_turns", "turns_live_thread_key", "thread_id"),
    ("list_slot_holders", "turns_live_thread_key", "thread_id"),
    ("reads/get_agents", "turns_live_thread_key", "thread_id"),
    (
        "invariants/live_turns_are_counted",
        "turns_live_thread_key",
        "thread_id",
    ),
    // Hardly ever is an effect left.
    (
        "invariants/an_effect_has_its_thread",
        "deferred_effects_pkey",
        "effect_id",
    ),
    (
        "invariants/effects_are_run",
        "deferred_effects_pkey",
        "effect_id",
    ),
    (
        "invariants/set_aside_mail_is_told_to_its_sender",
        "deferred_effects_pkey",
        "effect_id",
    ),
    (
        "invariants/list/threads",
        "deferred_effects_pkey",
        "effect_id",
    ),
    // Hardly ever is mail set aside.
    (
        "invariants/set_aside_mail_is_told_to_its_sender",
        MAIL_SET_ASIDE,
        "to_thread_id",
    ),
    // Agents are few, and their order is not that of the key.
    ("invariants/list/agents", "agent_slots_pkey", "agent_id"),
];

/// The index `thread_events_mark_idx` under the name that partitions give it.
const EVENT_MARKS: &str = "thread_events_namespace_thread_id_number_idx";
/// The index `messages_pair_idx`, likewise.
const MAIL_OF_PAIRS: &str = "messages_namespace_to_thread_id_from_thread_id_crea_idx";
/// The index `messages_set_aside_idx`, likewise.
const MAIL_SET_ASIDE: &str = "messages_namespace_to_thread_id_mail_number_idx";

/// Filters over columns of a key, and why they are right.
const FILTERED: &[(&str, &str)] = &[
    // Those few that failed lately wait.
    ("due_effects", "deferred_effects"),
    ("due_handoffs", "handoffs"),
    ("due_leases", "turns"),
    ("due_quiet", "thread_heads"),
    // A page may begin within the attempts of its first thread.
    ("list_of_root", "handoffs"),
    // The state of a message follows from its number.
    ("list_messages", "messages"),
    // As above.
    ("invariants/list/agents", "agent_slots"),
    // What somebody was told is found in his mailbox.
    (
        "invariants/set_aside_mail_is_told_to_its_sender",
        "messages",
    ),
];

/// The columns of every index, and those of a table by which an index finds something.
pub(super) struct Keys {
    indexes: BTreeMap<String, Vec<String>>,
    tables: BTreeMap<String, BTreeSet<String>>,
}

impl Keys {
    pub(super) async fn read(connection: &mut PgConnection) -> Self {
        let rows = sqlx::query(
            "SELECT c.relname::text, t.relname::text,
                array_agg(pg_get_indexdef(c.oid, at.n, true) ORDER BY at.n)
            FROM pg_index AS i
            JOIN pg_class AS c ON c.oid = i.indexrelid
            JOIN pg_class AS t ON t.oid = i.indrelid
            CROSS JOIN generate_series(1, i.indnkeyatts) AS at (n)
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'i'
                AND t.relname <> ALL ($1)
            GROUP BY c.relname, t.relname",
        );
        let rows = rows.bind(NOT_HOT).fetch_all(connection).await.unwrap();
        let mut indexes = BTreeMap::new();
        let mut tables = BTreeMap::<String, BTreeSet<String>>::new();
        for row in rows {
            let columns: Vec<String> = row.get(2);
            let found = columns.iter().filter(|it| !it.ends_with("_time"));
            let table = tables.entry(row.get(1)).or_default();
            table.extend(found.cloned());
            indexes.insert(row.get(0), columns);
        }
        Self { indexes, tables }
    }

    /// The names of all indexes that rows are in.
    pub(super) fn indexes(&self) -> impl Iterator<Item = &str> {
        self.indexes.keys().map(String::as_str)
    }

    /// What is wrong with the plan of a statement.
    pub(super) fn faults(&self, statement: &Statement, plan: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        walk(plan, &mut |node| {
            faults.extend(self.scan(node));
            faults.extend(self.filter(statement, node));
            faults.extend(self.index(statement, node));
        });
        faults
    }

    /// No table is read from end to end, and nothing is joined row by row.
    fn scan(&self, node: &Value) -> Option<String> {
        let table = text(node, "Relation Name");
        let join = text(node, "Join Filter");
        if text(node, "Node Type").contains("Seq Scan") && self.tables.contains_key(table) {
            return Some(format!("Seq Scan on {table}"));
        }
        (!join.is_empty()).then(|| format!("Join Filter {join}"))
    }

    /// An index is descended by all of its columns; by an invariant, which wants all that belongs to a
    /// thing, by those that name the thing. What counts so many of a tenant or of all walks it.
    fn index(&self, statement: &Statement, node: &Value) -> Vec<String> {
        let index = text(node, "Index Name");
        let condition = text(node, "Index Cond");
        let columns = self.indexes.get(index).into_iter().flatten();
        let most = match statement.kind() {
            Kind::Counts => 0,
            Kind::Proves => 2,
            Kind::Finds => usize::MAX,
        };
        let columns = columns.take(most);
        let unused = columns.filter(|column| !names(condition, column));
        let unused = unused.filter(|column| {
            let free = (&*statement.name, &*whole(index), &***column);
            !FREE.contains(&free)
        });
        let kind = text(node, "Node Type");
        let fault = |column| format!("{kind} by {index} without {column}: {condition}");
        unused.map(fault).collect()
    }

    /// Nothing that is part of a key is looked for by looking at every row. (A row that is found by its
    /// address is held against its key besides.)
    fn filter(&self, statement: &Statement, node: &Value) -> Vec<String> {
        if text(node, "Node Type") == "Tid Scan" {
            return Vec::new();
        }
        let table = text(node, "Relation Name");
        let filter = text(node, "Filter");
        let columns = self.tables.get(table).into_iter().flatten();
        // Whether there is one at all is no look for one.
        let looks = |column: &str| {
            let filter = filter.replace(&format!("{column} IS NOT NULL"), "");
            names(&filter.replace(&format!("{column} IS NULL"), ""), column)
        };
        let filtered = columns.filter(|column| looks(column));
        let filtered = filtered.filter(|_| !FILTERED.contains(&(&*statement.name, &*whole(table))));
        let fault = |column| format!("Filter on {table} over {column}: {filter}");
        filtered.map(fault).collect()
    }
}

/// Whether a condition names a column or an expression as it stands in an index.
fn names(condition: &str, column: &str) -> bool {
    let column = column.split(" COLLATE ").next().unwrap_or(column);
    condition.match_indices(column).any(|(at, _)| {
        let inside = |it: char| it.is_alphanumeric() || it == '_';
        let before = condition[..at].chars().next_back();
        let after = condition[at + column.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

/// The name of a table or an index without its partition.
fn whole(name: &str) -> String {
    let name = name.strip_suffix("_default").unwrap_or(name);
    name.replacen("_default_", "_", 1)
}
