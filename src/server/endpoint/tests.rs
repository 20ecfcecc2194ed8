//! The endpoint in process, without a database: health, reflection, the end.

use std::convert::Infallible;
use std::net::SocketAddr;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio_stream::StreamExt;
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use super::*;
use crate::app::App;
use crate::domain::limits::Rules;
use crate::server::health::Readiness;
use crate::server::services;

/// A server whose database nobody answers for.
async fn server(drain: Duration) -> (Lifecycle, SocketAddr) {
    let life = Lifecycle::new(drain);
    let pool = PgPoolOptions::new()
        .connect_lazy("postgres://nobody@127.0.0.1:1/none")
        .unwrap();
    let app = App::start(
        PgConnectOptions::new(),
        pool.clone(),
        Rules::default(),
        1,
        life.soft().clone(),
    )
    .unwrap();
    let routes = services::routes(Readiness::watch(pool, &life), &app).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    serve(listener, routes, Arc::clone(app.metrics()), &life);
    (life, address)
}

async fn channel(address: SocketAddr) -> Channel {
    Channel::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
        .unwrap()
}

fn ask(service: &str) -> HealthCheckRequest {
    HealthCheckRequest {
        service: service.to_owned(),
    }
}

#[tokio::test]
async fn it_lives_without_its_database_and_is_not_ready() {
    let (life, address) = server(Duration::from_mins(1)).await;
    let mut health = HealthClient::new(channel(address).await);
    for service in ["", "liveness"] {
        let answer = health.check(ask(service)).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving);
    }
    let mut told = health.watch(ask("readiness")).await.unwrap().into_inner();
    let not_ready = |answer: &tonic_health::pb::HealthCheckResponse| {
        answer.status() == ServingStatus::NotServing
    };
    while !not_ready(&told.next().await.unwrap().unwrap()) {}
    life.stop();
    life.ended().await.unwrap();
}

#[tokio::test]
async fn every_answer_names_its_call() {
    let (_life, address) = server(Duration::from_mins(1)).await;
    let mut health = HealthClient::new(channel(address).await);
    let good = health.check(ask("")).await.unwrap();
    let bad = health.check(ask("nothing")).await.unwrap_err();
    assert_eq!(bad.code(), Code::NotFound);
    let id = |metadata: &tonic::metadata::MetadataMap| {
        metadata
            .get("handoffd-call-id")
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_ne!(id(good.metadata()), id(bad.metadata()));
}

#[tokio::test]
async fn reflection_knows_the_services_and_the_details_of_errors() {
    let (_life, address) = server(Duration::from_mins(1)).await;
    let mut reflection = ServerReflectionClient::new(channel(address).await);
    for symbol in [
        "grpc.health.v1.Health",
        "google.rpc.BadRequest",
        "handoff.v1.ErrorReason",
    ] {
        let request = ServerReflectionRequest {
            host: String::new(),
            message_request: Some(MessageRequest::FileContainingSymbol(symbol.to_owned())),
        };
        let mut answers = reflection
            .server_reflection_info(tokio_stream::iter([request]))
            .await
            .unwrap()
            .into_inner();
        let answer = answers
            .next()
            .await
            .unwrap()
            .unwrap()
            .message_response
            .unwrap();
        assert!(
            matches!(answer, MessageResponse::FileDescriptorResponse(_)),
            "{symbol}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn a_stop_ends_watches_in_order() {
    // A drain far longer than a test may last: the watch must end by itself.
    let (life, address) = server(Duration::from_hours(1)).await;
    let mut health = HealthClient::new(channel(address).await);
    let mut told = health.watch(ask("liveness")).await.unwrap().into_inner();
    told.next().await.unwrap().unwrap();
    life.stop();
    assert!(told.next().await.is_none());
    life.ended().await.unwrap();
}

#[tokio::test]
async fn a_client_that_never_answers_is_cut_at_the_end_of_the_drain() {
    let (life, address) = server(Duration::from_millis(1)).await;
    // Says nothing at all, not even hello.
    let mute = TcpStream::connect(address).await.unwrap();
    let mut health = HealthClient::new(channel(address).await);
    health.check(ask("")).await.unwrap();
    life.stop();
    life.ended().await.unwrap();
    drop(mute);
}

#[tokio::test]
async fn a_second_signal_does_not_wait_for_the_drain() {
    let (life, address) = server(Duration::from_hours(1)).await;
    let _open = channel(address).await;
    life.spawn("stubborn", {
        let hard = life.hard().clone();
        async move {
            hard.cancelled().await;
            Ok::<_, Infallible>(())
        }
    });
    life.stop();
    life.cut();
    life.ended().await.unwrap();
}
