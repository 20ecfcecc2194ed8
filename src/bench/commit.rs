//! F and Fg: durable one-row commits, through a pool alone, and one for each gRPC call.
//!
//! F is what the database allows a server that commits each call by itself at the database's best; Fg
//! is what such a server reaches in fact. Both write to a table of their own.

use sqlx::postgres::{PgPool, PgPoolOptions};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_stream::Empty;
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::empty_call::{check, connect};
use super::meter::Meter;
use super::{BenchError, Line, Load};

/// More only wait for each other on a small machine; the server's pool has as many.
const CONNECTIONS: u32 = 16;

const MAKE: [&str; 2] = [
    "CREATE SCHEMA handoffd_bench",
    "CREATE TABLE handoffd_bench.floor (
         id   bigint GENERATED ALWAYS AS IDENTITY,
         body text NOT NULL,
         CONSTRAINT floor_pkey PRIMARY KEY (id)
     )",
];
const DROP: &str = "DROP SCHEMA IF EXISTS handoffd_bench CASCADE";

/// Measures F, then Fg.
pub(super) async fn run(url: &str, load: &Load) -> Result<[Line; 2], BenchError> {
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .min_connections(CONNECTIONS)
        // Every caller beyond the connections waits its turn, which is part of what is measured.
        .acquire_timeout(std::time::Duration::from_mins(1))
        .test_before_acquire(false)
        .connect(url)
        .await?;
    // Also after a run that was killed.
    sqlx::query(DROP).execute(&pool).await?;
    for statement in MAKE {
        sqlx::query(statement).execute(&pool).await?;
    }
    let lines = measure(&pool, load).await;
    sqlx::query(DROP).execute(&pool).await?;
    pool.close().await;
    lines
}

async fn measure(pool: &PgPool, load: &Load) -> Result<[Line; 2], BenchError> {
    let meter = Meter::new(pool, None).await?;
    let caller = |_| {
        let pool = pool.clone();
        move || insert_once(pool.clone())
    };
    let (measured, cost) = meter.gauge(load, caller).await?;
    let floor = Line::new("one-row commit (F)", load.callers, &measured).with_cost(cost);
    Ok([floor, through_grpc(pool, &meter, load).await?])
}

async fn through_grpc(pool: &PgPool, meter: &Meter, load: &Load) -> Result<Line, BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .map_err(BenchError::Listen)?;
    let address = listener.local_addr().map_err(BenchError::Listen)?;
    let service = HealthServer::new(Commits { pool: pool.clone() });
    // Ends with the set.
    let mut server = JoinSet::new();
    server.spawn(
        Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true))),
    );
    let channels = connect(&address.to_string()).await?;
    let caller = |number: usize| {
        let client = HealthClient::new(channels[number % channels.len()].clone());
        move || check(client.clone())
    };
    let (measured, cost) = meter.gauge(load, caller).await?;
    Ok(Line::new("gRPC, one-row commit (Fg)", load.callers, &measured).with_cost(cost))
}

async fn insert(pool: &PgPool) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO handoffd_bench.floor (body) VALUES ($1)")
        .bind("one row, one commit")
        .execute(pool)
        .await?;
    Ok(())
}

async fn insert_once(pool: PgPool) -> Result<u32, BenchError> {
    insert(&pool).await?;
    Ok(1)
}

/// A server whose health check commits a row: the least there is to a service.
#[derive(Debug)]
struct Commits {
    pool: PgPool,
}

#[tonic::async_trait]
impl Health for Commits {
    type WatchStream = Empty<Result<HealthCheckResponse, Status>>;

    async fn check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        insert(&self.pool)
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(Response::new(HealthCheckResponse {
            status: ServingStatus::Serving.into(),
        }))
    }

    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("only checks are measured"))
    }
}
