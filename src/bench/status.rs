//! `GetHandoffStatus`: of one among many handoffs that wait for a runtime.

use super::seed::{Seed, WORKER};
use super::site::{Site, Wire};
use super::spread::Spread;
use super::{BenchError, Line, Load};
use crate::proto::v1::GetHandoffStatusRequest;
use crate::proto::v1::status_service_client::StatusServiceClient;

/// Handoffs that are asked about.
const HANDOFFS: usize = 1 << 14;

/// Measures status reads.
pub(super) async fn run(site: &Site, load: &Load) -> Result<Line, BenchError> {
    let seed = Seed::begin(&site.pool, 0).await?;
    seed.handoffs(WORKER, 0..HANDOFFS).await?;
    let ids = seed.end().await?;
    let spread = Spread::new(HANDOFFS);
    let caller = |number| {
        let (client, spread) = (StatusServiceClient::new(site.wire(number)), spread.clone());
        move || {
            let (handoff, _) = spread.next();
            status(
                client.clone(),
                GetHandoffStatusRequest {
                    handoff_id: ids.handoff(handoff),
                },
            )
        }
    };
    let (measured, cost) = site.meter.gauge(load, caller).await?;
    Ok(Line::new("GetHandoffStatus", load.callers, &measured).with_cost(cost))
}

async fn status(
    mut client: StatusServiceClient<Wire>,
    request: GetHandoffStatusRequest,
) -> Result<u32, BenchError> {
    client.get_handoff_status(request).await?;
    Ok(1)
}
