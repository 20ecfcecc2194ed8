//! The floor: what the database and the wire allow before any of our work.

use std::collections::BTreeMap;

use sqlx::postgres::{PgPool, PgPoolOptions};

use super::database::{self, Writes};
use super::{BenchError, Line, Report, RunArgs, drive, empty_call};

/// More only wait for each other on a small machine; the server's pool has as many.
const CONNECTIONS: u32 = 16;

/// What to measure: the database, a server, or both.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Database for one-row commits; the run makes and drops a schema `handoffd_bench` there
    #[arg(
        long,
        env = "HANDOFFD_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    database_url: Option<String>,

    /// Server for empty calls, as `host:port`
    #[arg(long, env = "HANDOFFD_ADDR", value_name = "ADDRESS")]
    addr: Option<String>,
}

/// Measures what was named.
pub(super) async fn run(target: Args, run: &RunArgs) -> Result<Report, BenchError> {
    if target.database_url.is_none() && target.addr.is_none() {
        return Err(BenchError::NoTarget);
    }
    let mut report = Report::default();
    let mut floor = BTreeMap::new();
    if let Some(url) = &target.database_url {
        report = commits(url, run).await?;
        floor = report
            .lines
            .iter()
            .map(|line| (line.callers, line.per_second))
            .collect();
    }
    if let Some(address) = &target.addr {
        for mut line in empty_call::run(address, run).await? {
            line.floor_ratio = floor
                .get(&line.callers)
                .map(|floor| line.per_second / floor);
            report.lines.push(line);
        }
    }
    Ok(report)
}

/// Measures F: one-row INSERT commits through a pool.
pub(super) async fn commits(url: &str, run: &RunArgs) -> Result<Report, BenchError> {
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .min_connections(CONNECTIONS)
        // Every caller beyond the connections waits its turn, which is part of what is measured.
        .acquire_timeout(std::time::Duration::from_mins(1))
        .test_before_acquire(false)
        .connect(url)
        .await?;
    // Also after a run that was killed.
    drop_table(&pool).await?;
    make_table(&pool).await?;
    let measured = measure(&pool, run).await;
    drop_table(&pool).await?;
    pool.close().await;
    measured
}

async fn measure(pool: &PgPool, run: &RunArgs) -> Result<Report, BenchError> {
    let mut report = Report::default();
    report.notes.extend(database::durability(pool).await?);
    for &callers in &run.callers {
        let writes = Writes::count(pool).await?;
        let measured = drive(callers, run.duration, |_| {
            let pool = pool.clone();
            move || insert(pool.clone())
        })
        .await?;
        let mut line = Line::new("one-row commit (F)", callers, &measured);
        line.floor_ratio = Some(1.0);
        line.write_transactions = Some(writes.each(pool, &measured).await?);
        report.lines.push(line);
    }
    Ok(report)
}

async fn insert(pool: PgPool) -> Result<(), BenchError> {
    sqlx::query("INSERT INTO handoffd_bench.floor (body) VALUES ($1)")
        .bind("one row, one commit")
        .execute(&pool)
        .await?;
    Ok(())
}

async fn make_table(pool: &PgPool) -> Result<(), BenchError> {
    sqlx::query("CREATE SCHEMA handoffd_bench")
        .execute(pool)
        .await?;
    sqlx::query(
        "CREATE TABLE handoffd_bench.floor (
             id   bigint GENERATED ALWAYS AS IDENTITY,
             body text NOT NULL,
             CONSTRAINT floor_pkey PRIMARY KEY (id)
         )",
    )
    .execute(pool)
    .await?;
    Ok(())
}

async fn drop_table(pool: &PgPool) -> Result<(), BenchError> {
    sqlx::query("DROP SCHEMA IF EXISTS handoffd_bench CASCADE")
        .execute(pool)
        .await?;
    Ok(())
}
