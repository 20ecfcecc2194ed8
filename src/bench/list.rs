//! `ListHandoffs`: the first page of what is open, of an agent with many more.

use super::seed::{Seed, WORKER};
use super::site::{Site, Wire};
use super::{BenchError, Line, Load};
use crate::proto::v1::ListHandoffsRequest;
use crate::proto::v1::status_service_client::StatusServiceClient;

/// Handoffs of the agent.
const HANDOFFS: usize = 1 << 14;
/// Handoffs of a page.
const PAGE: i32 = 50;

/// Measures pages.
pub(super) async fn run(site: &Site, load: &Load) -> Result<Line, BenchError> {
    let seed = Seed::begin(&site.pool, 0).await?;
    seed.handoffs(WORKER, 0..HANDOFFS).await?;
    seed.end().await?;
    let caller = |number| {
        let client = StatusServiceClient::new(site.wire(number));
        move || list(client.clone())
    };
    let (measured, cost) = site.meter.gauge(load, caller).await?;
    Ok(Line::new("ListHandoffs, page of 50", load.callers, &measured).with_cost(cost))
}

async fn list(mut client: StatusServiceClient<Wire>) -> Result<u32, BenchError> {
    let request = ListHandoffsRequest {
        agent_id: WORKER.to_owned(),
        page_size: Some(PAGE),
        ..ListHandoffsRequest::default()
    };
    let page = client.list_handoffs(request).await?.into_inner();
    let whole = usize::try_from(PAGE).is_ok_and(|size| page.handoffs.len() == size);
    if whole {
        Ok(1)
    } else {
        Err(BenchError::Call("a page is not whole".to_owned()))
    }
}
