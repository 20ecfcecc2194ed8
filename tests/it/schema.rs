//! docs/SCHEMA.md: the tables as the migrations leave them. Whoever changes one sees the difference.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sqlx::PgPool;

use crate::pages::assert_page;
use crate::support::database::TestDatabase;

const HEAD: &str = "# Schema

The tables as the migrations leave them, and what their columns mean where the name does not tell. Made from the
database by a test. How rows are locked and written stands in [ARCHITECTURE](../ARCHITECTURE.md).
";

#[tokio::test]
async fn the_page_of_the_schema_is_true() {
    let database = TestDatabase::create().await;
    let pool = database.pool().await;
    let mut page = HEAD.to_owned();
    let enums = enums(&pool).await;
    let columns = columns(&pool).await;
    let rules = rules(&pool).await;
    for (table, comment) in tables(&pool).await {
        write!(page, "\n## {table}\n\n").unwrap();
        if let Some(comment) = comment {
            write!(page, "{comment}\n\n").unwrap();
        }
        page.push_str("| column | type | |\n|---|---|---|\n");
        for (name, kind, optional, comment) in &columns[&table] {
            let kind = enums.get(kind).unwrap_or(kind);
            let optional = if *optional { ", or none" } else { "" };
            let comment = comment.as_deref().unwrap_or_default();
            writeln!(page, "| `{name}` | {kind}{optional} | {comment} |").unwrap();
        }
        page.push('\n');
        for rule in rules.get(&table).into_iter().flatten() {
            writeln!(page, "- `{rule}`").unwrap();
        }
    }
    pool.close().await;
    assert_page("SCHEMA.md", &page);
}

/// Our tables, without the partitions of others and what belongs to migrations and tests.
async fn tables(pool: &PgPool) -> Vec<(String, Option<String>)> {
    let tables = sqlx::query_as(
        "SELECT c.relname::text, obj_description(c.oid, 'pg_class')
        FROM pg_class AS c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
            AND NOT c.relispartition AND c.relname NOT IN ('_sqlx_migrations', 'test_clock')
        ORDER BY c.relname",
    );
    tables.fetch_all(pool).await.unwrap()
}

/// The values of each enum, as the page shows its type.
async fn enums(pool: &PgPool) -> BTreeMap<String, String> {
    let enums = sqlx::query_as(
        "SELECT t.typname::text,
            string_agg('`' || e.enumlabel || '`', ', ' ORDER BY e.enumsortorder)
        FROM pg_type AS t JOIN pg_enum AS e ON e.enumtypid = t.oid GROUP BY t.typname",
    );
    let enums: Vec<(String, String)> = enums.fetch_all(pool).await.unwrap();
    enums.into_iter().collect()
}

type Column = (String, String, bool, Option<String>);

async fn columns(pool: &PgPool) -> BTreeMap<String, Vec<Column>> {
    let columns = sqlx::query_as(
        "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),
            NOT a.attnotnull, col_description(c.oid, a.attnum)
        FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
            AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY c.relname, a.attnum",
    );
    let columns: Vec<(String, String, String, bool, Option<String>)> =
        columns.fetch_all(pool).await.unwrap();
    let mut of = BTreeMap::<_, Vec<Column>>::new();
    for (table, name, kind, optional, comment) in columns {
        of.entry(table)
            .or_default()
            .push((name, kind, optional, comment));
    }
    of
}

/// Keys, checks, other indexes, triggers, and settings, in this order.
async fn rules(pool: &PgPool) -> BTreeMap<String, Vec<String>> {
    let rules = sqlx::query_as(
        "SELECT c.relname::text, r.rule
        FROM pg_class AS c
        CROSS JOIN LATERAL (
            SELECT 1 AS rank, o.conname::text AS name,
                o.conname || ': ' || pg_get_constraintdef(o.oid) AS rule
            FROM pg_constraint AS o WHERE o.conrelid = c.oid AND o.contype <> 'n'
            UNION ALL
            SELECT 2, i.indexrelid::regclass::text, replace(pg_get_indexdef(i.indexrelid), 'public.', '')
            FROM pg_index AS i
            WHERE i.indrelid = c.oid AND NOT EXISTS (
                SELECT FROM pg_constraint AS o
                WHERE o.conindid = i.indexrelid AND o.contype IN ('p', 'u'))
            UNION ALL
            SELECT 3, t.tgname::text, replace(pg_get_triggerdef(t.oid), 'public.', '')
            FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal
            UNION ALL
            SELECT 4, '', 'with ' || array_to_string(c.reloptions, ', ')
            WHERE c.reloptions IS NOT NULL) AS r
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        ORDER BY c.relname, r.rank, r.name",
    );
    let rules: Vec<(String, String)> = rules.fetch_all(pool).await.unwrap();
    let mut of = BTreeMap::<_, Vec<String>>::new();
    for (table, rule) in rules {
        of.entry(table).or_default().push(rule);
    }
    of
}
