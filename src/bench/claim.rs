//! ClaimTurns: up to 100 a call, or a few, with their assignments, from a long queue. Counted in turns.

use std::time::Duration;

use super::seed::{self, Seed, WORKER};
use super::site::{Site, Wire};
use super::{Amount, BenchError, Line, Load};
use crate::proto::v1::ClaimTurnsRequest;
use crate::proto::v1::runtime_service_client::RuntimeServiceClient;

/// Handoffs that wait. When they run out the measurement ends early, and says so by its duration
/// only: its figure holds all the same.
const WAITING: usize = 100_000;
/// Calls before the measurement: few, since each takes so many.
const WARM_UP_CALLS: usize = 1;
/// How long a call waits once the queue is empty, before it says so.
const WAIT: Duration = Duration::from_millis(500);

/// Measures claims. Turns that were claimed are left to their lease, which ends after 10 s: a run
/// that is longer measures their return too.
pub(super) async fn run(site: &Site, load: &Load, amount: Amount) -> Result<Line, BenchError> {
    let (what, turns) = match amount {
        // The most that the API takes.
        Amount::Most => ("ClaimTurns, turns", 100),
        Amount::Few => ("ClaimTurns of 4, turns", 4),
    };
    let seed = Seed::begin(&site.pool, load.callers).await?;
    seed.handoffs(WORKER, 0..WAITING).await?;
    seed.end().await?;
    let load = Load {
        warm_up_calls: WARM_UP_CALLS,
        ..*load
    };
    let caller = |number| {
        let client = RuntimeServiceClient::new(site.wire(number));
        let request = ClaimTurnsRequest {
            runtime_id: seed::runtime(number),
            incarnation: 1,
            agent_ids: vec![WORKER.to_owned()],
            max_turns: Some(turns),
            wait: prost_types::Duration::try_from(WAIT).ok(),
        };
        move || claim(client.clone(), request.clone())
    };
    let (measured, cost) = site.meter.gauge(&load, caller).await?;
    Ok(Line::new(what, load.callers, &measured).with_cost(cost))
}

async fn claim(
    mut client: RuntimeServiceClient<Wire>,
    request: ClaimTurnsRequest,
) -> Result<u32, BenchError> {
    let answer = client.claim_turns(request).await?;
    Ok(u32::try_from(answer.into_inner().turns.len()).unwrap_or(u32::MAX))
}
