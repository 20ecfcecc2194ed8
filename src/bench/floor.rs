//! The floor: what the database and the wire allow before any of our work.

use std::collections::BTreeMap;

use sqlx::Connection;
use sqlx::postgres::PgConnection;

use super::{BenchError, Report, RunArgs, commit, database, empty_call};

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
        report.notes.extend(durability(url).await?);
        for load in run.loads() {
            let mut lines = commit::run(url, &load).await?;
            let rate = lines[0].per_second;
            for line in &mut lines {
                line.floor_ratio = Some(line.per_second / rate);
            }
            floor.insert(load.callers, rate);
            report.lines.extend(lines);
        }
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

/// What a reader must know about the commits of that database.
pub(super) async fn durability(url: &str) -> Result<Option<String>, BenchError> {
    let mut connection = PgConnection::connect(url).await?;
    let note = database::durability(&mut connection).await?;
    connection.close().await?;
    Ok(note)
}
