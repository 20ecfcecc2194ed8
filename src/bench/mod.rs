//! `handoffd bench`: drives any server from its own process, beside the database's own floor.
//!
//! A ratio counts, not a figure: machines differ and drift, so the floor is measured in the same run
//! as what is compared with it. One file per benchmark.

mod database;
mod empty_call;
mod floor;
mod load;
mod report;

use std::time::Duration;

use clap::{Subcommand, ValueEnum};

pub use load::{Measured, drive};
pub use report::{Line, Report};

/// `handoffd bench ...`
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,

    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// What PostgreSQL and gRPC allow at most: one-row commits, and calls that do nothing
    Floor(floor::Args),
}

/// How a benchmark runs, whichever it is.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    /// How long each figure is measured
    #[arg(long, global = true, default_value = "5s", value_parser = humantime::parse_duration)]
    pub duration: Duration,

    /// Numbers of callers, each measured by itself
    #[arg(long, global = true, value_delimiter = ',', default_values_t = [1, 32, 256])]
    pub callers: Vec<usize>,

    /// For people, or for programs
    #[arg(long, global = true, value_enum, default_value_t = Output::Table)]
    pub output: Output,
}

/// How figures are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table.
    Table,
    /// One JSON object.
    Json,
}

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// Neither a database nor a server was named.
    #[error("nothing to measure: give `--database-url`, `--addr` or both")]
    NoTarget,
    /// The address is no URI.
    #[error("`{0}` is no address")]
    Address(String),
    /// The server does not answer.
    #[error("cannot reach the server")]
    Connect(#[from] tonic::transport::Error),
    /// A measured call failed: its figure would mean nothing.
    #[error("a call failed: {0}")]
    Call(String),
    /// A statement of the benchmark's own failed.
    #[error("the database refused")]
    Database(#[from] sqlx::Error),
    /// A caller's task died.
    #[error("a caller died")]
    Caller(#[from] tokio::task::JoinError),
    /// The report cannot be written.
    #[error("cannot write the report")]
    Report(#[from] serde_json::Error),
}

/// Measures, and prints the report.
///
/// # Errors
/// The target cannot be reached, or a measured call failed.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let report = match args.benchmark {
        Benchmark::Floor(target) => floor::run(target, &args.run).await?,
    };
    report.print(args.run.output)
}
