//! The whole server, through its public API, on a real PostgreSQL.

#![expect(
    clippy::too_many_lines,
    reason = "a story is told from its beginning to its end"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod agents;
mod bench;
mod ctl;
mod faults;
mod handoffs;
mod hostile;
mod mailbox;
mod model;
mod operator;
#[path = "../pages/mod.rs"]
mod pages;
mod pipeline;
mod plans;
mod promises;
mod reconciler;
mod schema;
mod serve;
mod slow;
mod status;
mod support;
mod tenants;
mod threads;
mod turns;

use handoffd::proto::v1;
use support::{eventually, with_server};

#[tokio::test]
async fn a_server_starts_serves_and_stops_with_every_invariant_kept() {
    with_server(async |server| {
        let second = server.second().await;
        eventually("the second server answers", async || {
            let all = v1::ListAgentsRequest::default();
            second.agents().list_agents(all).await.is_ok()
        })
        .await;
        server
            .clock
            .advance(std::time::Duration::from_secs(1))
            .await;
        server.check_invariants().await;
    })
    .await;
}
