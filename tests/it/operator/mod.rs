//! What operators ask of a server.

mod broken;
mod bulk_cancel;
mod checks;
mod force;
mod metrics;
mod stuck;

use handoffd::proto::v1;

use crate::support::Clients;

/// Every invariant, or these, from the beginning.
async fn check(clients: &Clients, names: &[&str]) -> v1::CheckInvariantsResponse {
    check_from(clients, names, "").await
}

/// The same from a page token on.
async fn check_from(
    clients: &Clients,
    names: &[&str],
    page_token: &str,
) -> v1::CheckInvariantsResponse {
    let request = v1::CheckInvariantsRequest {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        page_token: page_token.to_owned(),
    };
    let answer = clients.operators().check_invariants(request).await;
    answer.unwrap().into_inner()
}
