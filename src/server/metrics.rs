//! The port of the metrics: `GET /metrics`, for Prometheus.
//!
//! A port of its own, so that it may be reached by whoever watches over a server and by nobody who calls
//! it, and so that a server that is full of calls still shows that it is.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use super::RunError;
use super::lifecycle::Lifecycle;
use crate::app::App;

/// The text format that is written; every Prometheus of the last years takes it.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Begins to show metrics; returns where.
///
/// # Errors
/// The address cannot be listened on.
pub(super) async fn serve(
    address: SocketAddr,
    app: &Arc<App>,
    life: &Lifecycle,
) -> Result<SocketAddr, RunError> {
    let refused = |source| RunError::Metrics { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let routes = Router::new()
        .route("/metrics", get(show))
        .with_state(Arc::clone(app));
    tracing::info!(%address, "showing metrics");
    let soft = life.soft().clone();
    life.spawn("metrics", async move {
        // Whoever scrapes comes again: a stop waits for nobody here.
        let served = soft.run_until_cancelled(axum::serve(listener, routes).into_future());
        served.await.unwrap_or(Ok(()))
    });
    Ok(address)
}

async fn show(State(app): State<Arc<App>>) -> impl IntoResponse {
    ([(CONTENT_TYPE, FORMAT)], app.metrics_text().await)
}
