//! A call that does nothing: the standard health check, which touches no database.

use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::{BenchError, Line, RunArgs};

/// Connections that the callers share. One would measure the one task that writes to it.
const CONNECTIONS: usize = 8;

/// Measures empty unary calls to the server at `address`.
pub(super) async fn run(address: &str, run: &RunArgs) -> Result<Vec<Line>, BenchError> {
    let channels = connect(address).await?;
    let mut lines = Vec::new();
    for load in run.loads() {
        let warm = load.warm_up(|number| {
            let client = HealthClient::new(channels[number % channels.len()].clone());
            move || check(client.clone())
        });
        let measured = load.measure(warm.await?).await?;
        lines.push(Line::new("empty call", load.callers, &measured));
    }
    Ok(lines)
}

/// Opens the connections that a benchmark's callers share.
pub(super) async fn connect(address: &str) -> Result<Vec<Channel>, BenchError> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))
        .map_err(|_| BenchError::Address(address.to_owned()))?
        .tcp_nodelay(true);
    let mut channels = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        channels.push(endpoint.connect().await?);
    }
    Ok(channels)
}

/// One standard health check.
pub(super) async fn check(mut client: HealthClient<Channel>) -> Result<u32, BenchError> {
    let answer = client.check(HealthCheckRequest::default()).await;
    answer?;
    Ok(1)
}
