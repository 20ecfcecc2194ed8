//! What must be true of the database after every test: one SQL file each, which finds what breaks it.

use std::path::Path;

use sqlx::{AssertSqlSafe, PgPool};

/// Runs every file of `tests/it/invariants` and fails with the rows that it finds.
pub(crate) async fn check(pool: &PgPool) {
    let broken = broken(pool).await.unwrap();
    assert!(
        broken.is_empty(),
        "invariants broken:\n{}",
        broken.join("\n")
    );
}

/// What breaks them. An error means that the database is away.
pub(crate) async fn broken(pool: &PgPool) -> Result<Vec<String>, sqlx::Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/invariants");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut broken = Vec::new();
    for file in files {
        let query = std::fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_string_lossy();
        for row in rows(pool, &query, &name).await? {
            broken.push(format!("{name}: {row}"));
        }
    }
    Ok(broken)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the text is a file of this repository"
)]
async fn rows(pool: &PgPool, query: &str, name: &str) -> Result<Vec<String>, sqlx::Error> {
    let query = query.trim().trim_end_matches(';');
    let text = format!("SELECT to_jsonb(broken)::text FROM (\n{query}\n) AS broken LIMIT 20");
    let rows = sqlx::query_scalar(AssertSqlSafe(text))
        .fetch_all(pool)
        .await;
    if let Err(sqlx::Error::Database(error)) = &rows {
        // Class 42: the text is wrong.
        let wrong = error.code().is_some_and(|code| code.starts_with("42"));
        assert!(!wrong, "invariant {name} is no query: {error}");
    }
    rows
}
