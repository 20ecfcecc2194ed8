//! What a server shows to Prometheus.

use std::net::SocketAddr;
use std::time::Duration;

use handoffd::server::config::MetricsAddress;
use handoffd::workers::JobName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::handoffs::scene::{Worker, asking, boss, hand_off};
use crate::support::{eventually, told, with_server_of};

/// One request of a scraper, and the whole answer.
async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// The value of a sample, where it is shown.
fn sample(text: &str, name: &str) -> Option<f64> {
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")))?;
    line.rsplit(' ').next().and_then(|value| value.parse().ok())
}

fn shown(config: &mut handoffd::server::config::Config) {
    config.server.metrics_addr = MetricsAddress(Some("127.0.0.1:0".parse().unwrap()));
}

/// Case D21: the age of the oldest handoff that is not closed is a gauge.
#[tokio::test]
async fn what_is_open_and_what_happened_is_shown_on_a_port_of_its_own() {
    with_server_of(shown, async |server| {
        // The first server of all finds no mark of life, and gives leases one more time.
        server.sweep(JobName::ExpireLeases).await;
        let parent = boss(server).await;
        hand_off(server, asking(&parent)).await;
        server.clock.advance(Duration::from_secs(100)).await;
        let worker = Worker::register(server, "worker").await;
        worker.begin().await;
        hand_off(server, asking(&parent)).await;
        server.clock.advance(Duration::from_mins(5)).await;
        server.sweep(JobName::ExpireLeases).await;
        let unknown = handoffd::proto::v1::GetHandoffStatusRequest {
            handoff_id: "hnd_00000000000070008000000000000000".to_owned(),
        };
        told(server.status().get_handoff_status(unknown).await);

        let address = server.metrics_address().await;
        // A call is counted when its answer is gone, which its caller may see a little before.
        eventually("the last call is counted", async || {
            get(address, "/metrics")
                .await
                .contains("code=\"NOT_FOUND\"")
        })
        .await;
        let text = get(address, "/metrics").await;
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(text.contains("application/openmetrics-text"), "{text}");
        let create = "method=\"handoff.v1.HandoffService/CreateHandoff\"";
        let status = "method=\"handoff.v1.StatusService/GetHandoffStatus\"";
        for (name, value) in [
            ("handoffd_oldest_open_handoff_age_seconds".to_owned(), 400.0),
            ("handoffd_oldest_wake_age_seconds".to_owned(), 300.0),
            ("handoffd_open_handoffs{status=\"started\"}".to_owned(), 1.0),
            ("handoffd_open_handoffs{status=\"running\"}".to_owned(), 1.0),
            ("handoffd_live_turns".to_owned(), 0.0),
            ("handoffd_deferred_effects".to_owned(), 0.0),
            ("handoffd_database_up".to_owned(), 1.0),
            ("handoffd_turns_claimed_total".to_owned(), 1.0),
            ("handoffd_time_to_claim_seconds_sum".to_owned(), 100.0),
            (
                "handoffd_leases_lost_total{state=\"running\"}".to_owned(),
                1.0,
            ),
            (format!("handoffd_calls_total{{{create},code=\"OK\"}}"), 2.0),
            (
                format!("handoffd_calls_total{{{status},code=\"NOT_FOUND\"}}"),
                1.0,
            ),
            (
                format!("handoffd_call_duration_seconds_count{{{create}}}"),
                2.0,
            ),
            (
                "handoffd_sweep_lag_seconds{job=\"run_effects\"}".to_owned(),
                0.0,
            ),
            ("handoffd_pool_connections{state=\"most\"}".to_owned(), 4.0),
        ] {
            assert_eq!(sample(&text, &name), Some(value), "{name} in\n{text}");
        }
        assert!(!text.contains("worker") && !text.contains("hnd_"), "{text}");
        assert!(get(address, "/").await.starts_with("HTTP/1.1 404"));
    })
    .await;
}

#[tokio::test]
async fn the_jobs_of_a_server_are_measured() {
    with_server_of(shown, async |server| {
        let node = server.working().await;
        let address = node.metrics_address().await;
        eventually("every job has made a pass", async || {
            let text = get(address, "/metrics").await;
            let passes = |job: &JobName| {
                let labels = format!("{{job=\"{}\",result=\"done\"}}", job.as_str());
                sample(&text, &format!("handoffd_reconciler_passes_total{labels}"))
            };
            JobName::ALL
                .iter()
                .all(|job| passes(job).is_some_and(|it| it >= 1.0))
        })
        .await;
    })
    .await;
}

/// Gauges are read from the database at a bounded rate, however often somebody asks.
#[tokio::test]
async fn many_scrapes_read_the_database_once() {
    with_server_of(shown, async |server| {
        let parent = boss(server).await;
        let address = server.metrics_address().await;
        let first = get(address, "/metrics").await;
        hand_off(server, asking(&parent)).await;
        let second = get(address, "/metrics").await;
        let started = "handoffd_open_handoffs{status=\"started\"}";
        assert_eq!(
            (sample(&first, started), sample(&second, started)),
            (Some(0.0), Some(0.0))
        );
    })
    .await;
}
