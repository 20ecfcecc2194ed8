//! `handoffd bench`: drives any server from its own process, beside the database's own floor.
//!
//! A ratio counts, not a figure: machines differ and drift, so the floor is measured in the same run
//! as what is compared with it. One file per benchmark.

mod claim;
mod commit;
mod cpu;
mod create;
mod database;
mod empty_call;
mod floor;
mod goals;
mod heartbeat;
mod lifecycle;
mod load;
mod meter;
mod report;
mod seed;
mod send;
mod site;
mod spread;
mod status;

use std::time::Duration;

use clap::{Subcommand, ValueEnum};

pub use goals::Verdict;
pub use load::{Load, Measured};
pub use meter::Cost;
pub use report::{Line, Report};

use site::Site;

/// Calls of each caller before a measurement.
const WARM_UP_CALLS: usize = 20;

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
    /// `SendMessage`: a note, which wakes its recipient
    Send(site::Args),
    /// `CreateHandoff`: a handoff from a thread to an agent
    Create(site::Args),
    /// `ClaimTurns`: up to 100 turns a call from a long queue, counted in turns
    Claim(site::Args),
    /// Heartbeat: 50 turns a call, counted in turns
    Heartbeat(site::Args),
    /// `GetHandoffStatus`
    Status(site::Args),
    /// Whole lifecycles: create, claim, heartbeat, report, the parent's wake, read, finish
    Lifecycle(site::Args),
}

/// What is measured of a server.
#[derive(Debug, Clone, Copy)]
enum Product {
    Send,
    Create,
    Claim,
    Heartbeat,
    Status,
    Lifecycle,
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

impl RunArgs {
    fn loads(&self) -> impl Iterator<Item = Load> {
        self.callers.iter().map(|&callers| Load {
            callers,
            duration: self.duration,
            warm_up_calls: WARM_UP_CALLS,
        })
    }
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
    /// No port for the smallest of servers.
    #[error("cannot listen")]
    Listen(#[source] std::io::Error),
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

impl From<tonic::Status> for BenchError {
    fn from(status: tonic::Status) -> Self {
        Self::Call(status.to_string())
    }
}

/// Measures, and prints the report.
///
/// # Errors
/// The target cannot be reached, or a measured call failed.
pub async fn run(args: Args) -> Result<(), BenchError> {
    let run = &args.run;
    let report = match args.benchmark {
        Benchmark::Floor(target) => floor::run(target, run).await?,
        Benchmark::Send(target) => product(Product::Send, &target, run).await?,
        Benchmark::Create(target) => product(Product::Create, &target, run).await?,
        Benchmark::Claim(target) => product(Product::Claim, &target, run).await?,
        Benchmark::Heartbeat(target) => product(Product::Heartbeat, &target, run).await?,
        Benchmark::Status(target) => product(Product::Status, &target, run).await?,
        Benchmark::Lifecycle(target) => product(Product::Lifecycle, &target, run).await?,
    };
    report.print(run.output)
}

/// Measures a server, with both floors right before, at each number of callers.
async fn product(
    product: Product,
    target: &site::Args,
    run: &RunArgs,
) -> Result<Report, BenchError> {
    let site = Site::open(target).await?;
    let mut report = Report::default();
    report
        .notes
        .extend(floor::durability(&target.database_url).await?);
    for load in run.loads() {
        let floors = commit::run(&target.database_url, &load).await?;
        let measured = match product {
            Product::Send => send::run(&site, &load).await,
            Product::Create => create::run(&site, &load).await,
            Product::Claim => claim::run(&site, &load).await,
            Product::Heartbeat => heartbeat::run(&site, &load).await,
            Product::Status => status::run(&site, &load).await,
            Product::Lifecycle => lifecycle::run(&site, &load).await,
        };
        // Also where a call failed.
        seed::clear(&site.pool).await?;
        let mut line = measured?;
        let [floor, grpc_floor] = &floors;
        line.compare(floor, grpc_floor);
        report.lines.extend(floors);
        report.lines.push(line);
    }
    report.verdicts = goals::judge(&report.lines);
    Ok(report)
}
