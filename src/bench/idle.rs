//! What a server costs that has nothing to do: transactions a second with a thousand runtimes that
//! wait for turns, memory with ten thousand waits beside them.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::seed::{self, Seed, WORKER};
use super::site::{Site, Wire};
use super::{BenchError, Line, Measured, Report, RunArgs};
use crate::proto::v1::handoff_service_client::HandoffServiceClient;
use crate::proto::v1::runtime_service_client::RuntimeServiceClient;
use crate::proto::v1::{ClaimTurnsRequest, WaitHandoffRequest, WaitUntil};

/// What is measured, by name.
pub(super) const IDLE: &str = "idle, transactions";

/// Runtimes that wait for turns; each hosts an agent that nobody asks for anything.
const RUNTIMES: usize = 1_000;
/// Waits, ten for each handoff.
const WAITS: usize = 10_000;
/// Handoffs that are waited for, of an agent that no runtime hosts.
const HANDOFFS: usize = WAITS / 10;
/// How long calls are held: longer than any measurement.
const HELD: Duration = Duration::from_mins(5);
/// How long they are left to settle.
const SETTLE: Duration = Duration::from_secs(5);

/// Measures an idle server, which must be on this machine for its memory.
pub(super) async fn run(site: &Site, run: &RunArgs) -> Result<Report, BenchError> {
    let report = measure(site, run).await;
    seed::clear(&site.pool, site.kept).await?;
    report
}

async fn measure(site: &Site, run: &RunArgs) -> Result<Report, BenchError> {
    let seed = Seed::begin(&site.pool, RUNTIMES).await?;
    seed.handoffs(WORKER, 0..HANDOFFS).await?;
    let ids = seed.end().await?;
    let mut report = Report::default();
    let mut held = JoinSet::new();
    report.notes.push(memory(site, "no calls"));
    for number in 0..RUNTIMES {
        held.spawn(claim(site.wire(number), seed::runtime(number)));
    }
    hold(&mut held, SETTLE).await?;
    report.lines.push(transactions(site, run, &mut held).await?);
    report.notes.push(memory(site, "1,000 runtimes"));
    for number in 0..WAITS {
        held.spawn(wait(site.wire(number), ids.handoff(number % HANDOFFS)));
    }
    hold(&mut held, SETTLE).await?;
    report
        .notes
        .push(memory(site, "1,000 runtimes and 10,000 waits"));
    Ok(report)
}

fn memory(site: &Site, with: &str) -> String {
    match site.meter.server_memory() {
        Some(kilobytes) => format!("{} MB resident with {with}", kilobytes / 1024),
        None => format!("memory with {with} is unknown: the server is not on this machine"),
    }
}

/// Transactions of the database a second, while nothing happens.
async fn transactions(
    site: &Site,
    run: &RunArgs,
    held: &mut JoinSet<Result<(), BenchError>>,
) -> Result<Line, BenchError> {
    site.meter.settle().await;
    let before = site.meter.read().await?;
    let begin = Instant::now();
    // Settling after it is idle time too.
    hold(held, run.duration).await?;
    site.meter.settle().await;
    let cost = site.meter.since(before, 1).await?;
    let elapsed = begin.elapsed();
    let seen = cost.transactions.round().clamp(0.0, f64::from(u32::MAX));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count, just clamped"
    )]
    let measured = Measured::new(Vec::new(), seen as u64, elapsed);
    Ok(Line::new(IDLE, RUNTIMES, &measured))
}

/// Lets calls wait; fails with the first that ends.
async fn hold(
    held: &mut JoinSet<Result<(), BenchError>>,
    span: Duration,
) -> Result<(), BenchError> {
    match timeout(span, held.join_next()).await {
        Ok(Some(ended)) => {
            ended??;
            Err(BenchError::Call("a call ended that should wait".to_owned()))
        }
        Ok(None) | Err(_) => Ok(()),
    }
}

async fn claim(wire: Wire, runtime_id: String) -> Result<(), BenchError> {
    let request = ClaimTurnsRequest {
        runtime_id,
        incarnation: 1,
        agent_ids: vec![seed::PARENT.to_owned()],
        max_turns: Some(16),
        wait: prost_types::Duration::try_from(HELD).ok(),
    };
    RuntimeServiceClient::new(wire).claim_turns(request).await?;
    Ok(())
}

async fn wait(wire: Wire, handoff_id: String) -> Result<(), BenchError> {
    let request = WaitHandoffRequest {
        handoff_id,
        until: WaitUntil::Finish.into(),
        timeout: prost_types::Duration::try_from(HELD).ok(),
        ..WaitHandoffRequest::default()
    };
    HandoffServiceClient::new(wire)
        .wait_handoff(request)
        .await?;
    Ok(())
}
