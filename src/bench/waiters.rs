//! Many open waits for one event: how soon all are answered, and what the database hears of it.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::load::micros;
use super::seed::{Seed, WORKER};
use super::site::{Site, Wire};
use super::{BenchError, Line, Measured, Report, seed};
use crate::proto::v1::handoff_service_client::HandoffServiceClient;
use crate::proto::v1::{CancelHandoffRequest, WaitHandoffRequest, WaitReason, WaitUntil};

/// How long a wait takes at most.
const WAIT: Duration = Duration::from_mins(1);
/// How long the waits are left to settle before the event.
const SETTLE: Duration = Duration::from_secs(4);

/// Measures each number of waits. The event is that the handoff is cancelled.
pub(super) async fn run(site: &Site, waits: &[usize]) -> Result<Report, BenchError> {
    let mut report = Report::default();
    for &count in waits {
        let line = measure(site, count, &mut report.notes).await;
        seed::clear(&site.pool, site.kept).await?;
        report.lines.push(line?);
    }
    Ok(report)
}

async fn measure(site: &Site, count: usize, notes: &mut Vec<String>) -> Result<Line, BenchError> {
    let seed = Seed::begin(&site.pool, 0).await?;
    seed.handoffs(WORKER, 0..1).await?;
    let handoff = seed.end().await?.handoff(0);
    let mut waits = JoinSet::new();
    for number in 0..count {
        waits.spawn(wait(site.wire(number), handoff.clone()));
    }
    if let Ok(Some(early)) = timeout(SETTLE, waits.join_next()).await {
        early??;
        return Err(BenchError::Call("a wait ended before the event".to_owned()));
    }
    site.meter.settle().await;
    let before = site.meter.read().await?;
    let begin = Instant::now();
    let cancel = CancelHandoffRequest {
        handoff_id: handoff,
        ..CancelHandoffRequest::default()
    };
    HandoffServiceClient::new(site.wire(0))
        .cancel_handoff(cancel)
        .await?;
    let mut latencies = Vec::with_capacity(count);
    while let Some(answer) = waits.join_next().await {
        latencies.push(micros(answer??.duration_since(begin)));
    }
    let elapsed = begin.elapsed();
    site.meter.settle().await;
    let units = count as u64;
    let cost = site.meter.since(before, units).await?;
    notes.push(format!(
        "{count} waits: all answered {} ms after the event was sent, {:.0} transactions in all",
        elapsed.as_millis(),
        cost.transactions * f64::from(u32::try_from(count).unwrap_or(u32::MAX)),
    ));
    let measured = Measured::new(latencies, units, elapsed);
    Ok(Line::new("waits for one event", count, &measured).with_cost(cost))
}

/// Waits, and tells when the answer came.
async fn wait(wire: Wire, handoff_id: String) -> Result<Instant, BenchError> {
    let request = WaitHandoffRequest {
        handoff_id,
        until: WaitUntil::Finish.into(),
        timeout: prost_types::Duration::try_from(WAIT).ok(),
        ..WaitHandoffRequest::default()
    };
    let answer = HandoffServiceClient::new(wire)
        .wait_handoff(request)
        .await?;
    if answer.into_inner().reason() == WaitReason::Finished {
        Ok(Instant::now())
    } else {
        Err(BenchError::Call(
            "a wait ended without the event".to_owned(),
        ))
    }
}
