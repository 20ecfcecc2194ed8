//! Heartbeat: 50 running turns a call, or a few, which live and did nothing new. Counted in turns.

use super::seed::{self, Seed};
use super::site::{Site, Wire};
use super::{Amount, BenchError, Line, Load};
use crate::proto::v1::runtime_service_client::RuntimeServiceClient;
use crate::proto::v1::{HeartbeatRequest, TurnHeartbeat, TurnLeaseState, TurnRef};

/// Measures heartbeats.
pub(super) async fn run(site: &Site, load: &Load, amount: Amount) -> Result<Line, BenchError> {
    // Turns of one call, each caller with its own.
    let (what, turns) = match amount {
        Amount::Most => ("Heartbeat of 50, turns", 50),
        Amount::Few => ("Heartbeat of 4, turns", 4),
    };
    let seed = Seed::begin(&site.pool, 1).await?;
    seed.turns(load.callers * turns).await?;
    let ids = seed.end().await?;
    let caller = |number: usize| {
        let client = RuntimeServiceClient::new(site.wire(number));
        let own = number * turns..(number + 1) * turns;
        let request = HeartbeatRequest {
            runtime_id: seed::runtime(0),
            incarnation: 1,
            turns: own.map(|turn| beat(ids.turn(turn))).collect(),
        };
        move || renew(client.clone(), request.clone())
    };
    let (measured, cost) = site.meter.gauge(load, caller).await?;
    Ok(Line::new(what, load.callers, &measured).with_cost(cost))
}

fn beat(turn_id: String) -> TurnHeartbeat {
    TurnHeartbeat {
        turn: Some(TurnRef { turn_id, token: 1 }),
        activity: None,
    }
}

async fn renew(
    mut client: RuntimeServiceClient<Wire>,
    request: HeartbeatRequest,
) -> Result<u32, BenchError> {
    let answer = client.heartbeat(request).await?;
    let turns = answer.into_inner().turns;
    let lost = turns
        .iter()
        .find(|turn| turn.state() != TurnLeaseState::Renewed);
    match lost {
        Some(turn) => Err(BenchError::Call(format!(
            "the lease of `{}` was not renewed",
            turn.turn_id
        ))),
        None => Ok(u32::try_from(turns.len()).unwrap_or(u32::MAX)),
    }
}
