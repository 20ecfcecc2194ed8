//! CreateHandoff: for an idle parent thread, with a request id: thread, head, handoff, assignment,
//! wake, history of both threads and key.

use super::seed::{PARENT, Seed, WORKER};
use super::site::{Site, Wire};
use super::spread::Spread;
use super::{BenchError, Line, Load};
use crate::proto::v1::CreateHandoffRequest;
use crate::proto::v1::handoff_service_client::HandoffServiceClient;

/// Parents, so that few calls meet at one.
const PARENTS: usize = 1 << 16;

/// Measures creations.
pub(super) async fn run(site: &Site, load: &Load) -> Result<Line, BenchError> {
    let seed = Seed::begin(&site.pool, 0).await?;
    seed.threads(PARENT, 0..PARENTS, false).await?;
    let ids = seed.end().await?;
    let spread = Spread::new(PARENTS);
    let caller = |number| {
        let (client, spread) = (HandoffServiceClient::new(site.wire(number)), spread.clone());
        move || {
            let (parent, count) = spread.next();
            create(
                client.clone(),
                CreateHandoffRequest {
                    parent_thread_id: ids.thread(parent),
                    target_agent: WORKER.to_owned(),
                    task: "Count the words of every page and report the ten longest.".to_owned(),
                    request_id: Some(format!("create-{count}")),
                    ..CreateHandoffRequest::default()
                },
            )
        }
    };
    let (measured, cost) = site.meter.gauge(load, caller).await?;
    Ok(Line::new("CreateHandoff", load.callers, &measured).with_cost(cost))
}

async fn create(
    mut client: HandoffServiceClient<Wire>,
    request: CreateHandoffRequest,
) -> Result<u32, BenchError> {
    client.create_handoff(request).await?;
    Ok(1)
}
