//! A plan, as the database explains it.

use std::fmt::Write as _;

use serde_json::Value;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::statements::Statement;

/// What a node is asked to tell, besides its kind: all that a changed plan differs in, and no guess of
/// rows or costs.
const TOLD: &[&str] = &[
    "Strategy",
    "Join Type",
    "Scan Direction",
    "CTE Name",
    "Function Name",
    "Index Cond",
    "TID Cond",
    "Recheck Cond",
    "Hash Cond",
    "Merge Cond",
    "Join Filter",
    "Filter",
    "One-Time Filter",
    "Sort Key",
    "Conflict Arbiter Indexes",
    "Conflict Resolution",
];

/// The generic plan of a statement.
pub(super) async fn plan(connection: &mut PgConnection, statement: &Statement) -> Value {
    raw(
        connection,
        &format!("PREPARE planned AS {}", statement.text),
    )
    .await;
    let nulls = vec!["NULL"; statement.parameters()].join(", ");
    let nulls = if nulls.is_empty() {
        nulls
    } else {
        format!("({nulls})")
    };
    let explain = format!("EXPLAIN (FORMAT JSON) EXECUTE planned {nulls}");
    let rows = raw(connection, &explain).await;
    raw(connection, "DEALLOCATE planned").await;
    let mut plans: Value = rows[0].get(0);
    plans[0]["Plan"].take()
}

/// Visits every node.
pub(super) fn walk(node: &Value, visit: &mut impl FnMut(&Value)) {
    visit(node);
    for child in node["Plans"].as_array().into_iter().flatten() {
        walk(child, visit);
    }
}

/// What a node tells under a key; nothing where it does not.
pub(super) fn text<'v>(node: &'v Value, key: &str) -> &'v str {
    node[key].as_str().unwrap_or_default()
}

/// The tables and indexes that a plan goes to.
pub(super) fn names<'v>(plan: &'v Value, key: &str) -> Vec<&'v str> {
    let mut names = Vec::new();
    let mut nodes = vec![plan];
    while let Some(node) = nodes.pop() {
        names.extend(node[key].as_str());
        nodes.extend(node["Plans"].as_array().into_iter().flatten());
    }
    names
}

/// The plan as text that stays the same while the plan does.
pub(super) fn shape(plan: &Value) -> String {
    let mut text = String::new();
    draw(plan, 0, &mut text);
    text
}

fn draw(node: &Value, depth: usize, shape: &mut String) {
    let indent = "  ".repeat(depth);
    let name = text(node, "Subplan Name");
    if !name.is_empty() {
        writeln!(shape, "{indent}{name}:").unwrap();
    }
    write!(shape, "{indent}{}", text(node, "Node Type")).unwrap();
    for (key, before) in [
        ("Operation", ": "),
        ("Index Name", " by "),
        ("Relation Name", " on "),
        ("Alias", " as "),
    ] {
        if !text(node, key).is_empty() {
            write!(shape, "{before}{}", text(node, key)).unwrap();
        }
    }
    shape.push('\n');
    for key in TOLD {
        let told = match &node[key] {
            Value::String(told) => told.clone(),
            Value::Array(told) => told
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(", "),
            _ => continue,
        };
        if !matches!(&*told, "Plain" | "Inner" | "Forward") {
            writeln!(shape, "{indent}    {key}: {told}").unwrap();
        }
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        draw(child, depth + 1, shape);
    }
}

/// Runs a text that takes no parameters.
#[expect(
    clippy::disallowed_methods,
    reason = "the text is a file of this repository; EXPLAIN takes no parameters"
)]
pub(super) async fn raw(
    connection: &mut PgConnection,
    statement: &str,
) -> Vec<sqlx::postgres::PgRow> {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
        .fetch_all(connection)
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"))
}
