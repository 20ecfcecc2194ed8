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
mod finish;
mod floor;
mod goals;
mod heartbeat;
mod idle;
mod lifecycle;
mod list;
mod load;
mod meter;
mod read;
mod report;
mod seed;
mod send;
mod site;
mod spread;
mod status;
mod waiters;
mod wake;

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
    /// The same with up to 4 turns a call, as a runtime with a few free places
    ClaimFew(site::Args),
    /// Heartbeat: 50 turns a call, counted in turns
    Heartbeat(site::Args),
    /// The same with 4 turns a call
    HeartbeatFew(site::Args),
    /// `FinishTurn`: turns without work
    Finish(site::Args),
    /// `ReadMail`: one message, consumed
    Read(site::Args),
    /// `GetHandoffStatus`
    Status(site::Args),
    /// `ListHandoffs`: the first 50 open ones of an agent
    List(site::Args),
    /// Whole lifecycles: create, claim, heartbeat, report, the parent's wake, read, finish
    Lifecycle(site::Args),
    /// Many open waits for one event: until all are answered
    Waiters {
        #[command(flatten)]
        target: site::Args,

        /// Numbers of waits, each measured by itself
        #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000])]
        waits: Vec<usize>,
    },
    /// How soon a new handoff reaches its waiting worker, and a report its waiting parent
    Wake(site::Args),
    /// A server with nothing to do: 1,000 runtimes and 10,000 waits
    Idle(site::Args),
}

/// How much one call asks for.
#[derive(Debug, Clone, Copy)]
enum Amount {
    /// As much as a large runtime does.
    Most,
    /// A few turns, as a runtime with a few places does.
    Few,
}

/// What is measured of a server.
#[derive(Debug, Clone, Copy)]
enum Product {
    Send,
    Create,
    Claim(Amount),
    Heartbeat(Amount),
    Finish,
    Read,
    Status,
    List,
    Lifecycle,
}

/// What a benchmark of a server measures.
#[derive(Debug)]
enum Kind {
    /// Calls in a closed loop, beside the floors.
    Product(Product),
    /// Many waits for one event.
    Waiters(Vec<usize>),
    /// How soon an event reaches who waits for it.
    Wake,
    /// An idle server.
    Idle,
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
    let (kind, target) = match args.benchmark {
        Benchmark::Floor(target) => {
            let report = floor::run(target, run).await?;
            return report.print(run.output);
        }
        Benchmark::Send(target) => (Kind::Product(Product::Send), target),
        Benchmark::Create(target) => (Kind::Product(Product::Create), target),
        Benchmark::Claim(target) => (Kind::Product(Product::Claim(Amount::Most)), target),
        Benchmark::ClaimFew(target) => (Kind::Product(Product::Claim(Amount::Few)), target),
        Benchmark::Heartbeat(target) => (Kind::Product(Product::Heartbeat(Amount::Most)), target),
        Benchmark::HeartbeatFew(target) => (Kind::Product(Product::Heartbeat(Amount::Few)), target),
        Benchmark::Finish(target) => (Kind::Product(Product::Finish), target),
        Benchmark::Read(target) => (Kind::Product(Product::Read), target),
        Benchmark::Status(target) => (Kind::Product(Product::Status), target),
        Benchmark::List(target) => (Kind::Product(Product::List), target),
        Benchmark::Lifecycle(target) => (Kind::Product(Product::Lifecycle), target),
        Benchmark::Waiters { target, waits } => (Kind::Waiters(waits), target),
        Benchmark::Wake(target) => (Kind::Wake, target),
        Benchmark::Idle(target) => (Kind::Idle, target),
    };
    let site = Site::open(&target).await?;
    let measured = match kind {
        Kind::Product(product) => measure(product, &site, &target, run).await,
        Kind::Waiters(waits) => waiters::run(&site, &waits).await,
        Kind::Wake => wake::run(&site, run).await,
        Kind::Idle => idle::run(&site, run).await,
    };
    // Also where a call failed.
    site.close().await?;
    let mut report = measured?;
    report
        .notes
        .extend(floor::durability(&target.database_url).await?);
    report.verdicts = goals::judge(&report.lines);
    report.print(run.output)
}

/// Measures a server, with both floors right before, at each number of callers.
async fn measure(
    product: Product,
    site: &Site,
    target: &site::Args,
    run: &RunArgs,
) -> Result<Report, BenchError> {
    let mut report = Report::default();
    for load in run.loads() {
        let floors = commit::run(&target.database_url, &load).await?;
        let measured = match product {
            Product::Send => send::run(site, &load).await,
            Product::Create => create::run(site, &load).await,
            Product::Claim(amount) => claim::run(site, &load, amount).await,
            Product::Heartbeat(amount) => heartbeat::run(site, &load, amount).await,
            Product::Finish => finish::run(site, &load).await,
            Product::Read => read::run(site, &load).await,
            Product::Status => status::run(site, &load).await,
            Product::List => list::run(site, &load).await,
            Product::Lifecycle => lifecycle::run(site, &load).await,
        };
        seed::clear(&site.pool, site.kept).await?;
        let mut line = measured?;
        let [floor, grpc_floor] = &floors;
        line.compare(floor, grpc_floor);
        report.lines.extend(floors);
        report.lines.push(line);
    }
    Ok(report)
}
