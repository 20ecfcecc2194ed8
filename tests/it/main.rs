//! The whole server, through its public API, on a real PostgreSQL.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use support::with_server;

#[tokio::test]
async fn a_server_starts_serves_and_stops_with_every_invariant_kept() {
    with_server(async |server| {
        server.second().await;
        server
            .clock
            .advance(std::time::Duration::from_secs(1))
            .await;
        server.check_invariants().await;
    })
    .await;
}
