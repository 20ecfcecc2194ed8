//! FinishTurn: running turns without work, each finished once.

use super::seed::Seed;
use super::site::{Site, Wire};
use super::spread::Spread;
use super::{BenchError, Line, Load};
use crate::proto::v1::runtime_service_client::RuntimeServiceClient;
use crate::proto::v1::{FinishTurnRequest, TurnNext, TurnOutcome, TurnRef};

/// Turns that run. When all are finished the measurement ends early, and its figure holds.
const TURNS: usize = 1 << 17;

/// Measures the ends of turns.
pub(super) async fn run(site: &Site, load: &Load) -> Result<Line, BenchError> {
    let seed = Seed::begin(&site.pool, 1).await?;
    seed.turns(TURNS).await?;
    let ids = seed.end().await?;
    let spread = Spread::new(TURNS);
    let caller = |number| {
        let (client, spread) = (RuntimeServiceClient::new(site.wire(number)), spread.clone());
        move || {
            let (turn, count) = spread.next();
            let turn = (count < TURNS).then(|| ids.turn(turn));
            finish(client.clone(), turn)
        }
    };
    let (measured, cost) = site.meter.gauge(load, caller).await?;
    Ok(Line::new("FinishTurn", load.callers, &measured).with_cost(cost))
}

async fn finish(
    mut client: RuntimeServiceClient<Wire>,
    turn_id: Option<String>,
) -> Result<u32, BenchError> {
    let Some(turn_id) = turn_id else {
        return Ok(0);
    };
    let request = FinishTurnRequest {
        turn: Some(TurnRef { turn_id, token: 1 }),
        outcome: TurnOutcome::Done.into(),
        next: TurnNext::Finished.into(),
        received_through: Some(0),
        ..FinishTurnRequest::default()
    };
    client.finish_turn(request).await?;
    Ok(1)
}
