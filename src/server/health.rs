//! Health: whether the process lives, and apart from that whether it can serve.
//!
//! Not tonic-health's own service: its watches never end, so one probe that watches would hold every
//! stop until the drain is cut.

use std::pin::Pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use sqlx::PgPool;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::database::{Obstacle, check_schema, find_obstacle};
use super::lifecycle::{Lifecycle, chain};

/// Between two looks at the database: well below the period of a usual probe.
const RECHECK: Duration = Duration::from_secs(3);

/// When a look counts as failed.
const LOOK_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether the server can serve: the database answers, its schema fits, no stop was asked for.
#[derive(Debug, Clone)]
pub(super) struct Readiness {
    ready: watch::Receiver<bool>,
    draining: CancellationToken,
}

impl Readiness {
    /// Begins to watch the database, and counts it as ready until a look says otherwise.
    pub(super) fn watch(pool: PgPool, life: &Lifecycle) -> Self {
        let (found, ready) = watch::channel(true);
        let draining = life.soft().clone();
        life.spawn("readiness", look_again(pool, found, draining.clone()));
        Self { ready, draining }
    }

    /// Whether the server can serve now.
    pub(super) fn is_ready(&self) -> bool {
        *self.ready.borrow() && !self.draining.is_cancelled()
    }

    fn status_of(&self, service: &str) -> Option<ServingStatus> {
        let serving = match service {
            "" | "liveness" => true,
            "readiness" => self.is_ready(),
            _ => return None,
        };
        Some(if serving {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        })
    }
}

async fn look_again(
    pool: PgPool,
    found: watch::Sender<bool>,
    draining: CancellationToken,
) -> Result<(), std::convert::Infallible> {
    let mut looks = interval(RECHECK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = draining.cancelled() => return Ok(()),
            _ = looks.tick() => {}
        }
        // A stop must not wait for a database that is away.
        let look = tokio::select! {
            () = draining.cancelled() => return Ok(()),
            look = timeout(LOOK_TIMEOUT, check_schema(&pool)) => look,
        };
        let silent = look.is_err();
        let problem = match look {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(chain(&error)),
            Err(_) => Some(format!("no answer within {LOOK_TIMEOUT:?}")),
        };
        let changed = found.send_if_modified(|ready| {
            std::mem::replace(ready, problem.is_none()) != problem.is_none()
        });
        match problem {
            Some(reason) if changed => {
                // The pool waited for a connection and keeps to itself why there is none.
                let obstacle = tokio::select! {
                    () = draining.cancelled() => return Ok(()),
                    obstacle = obstacle_behind(&pool, silent) => obstacle,
                };
                let reason = obstacle.map_or(reason, |obstacle| obstacle.to_string());
                tracing::warn!(reason, "not ready");
            }
            None if changed => tracing::info!("ready again"),
            _ => {}
        }
    }
}

async fn obstacle_behind(pool: &PgPool, silence: bool) -> Option<Obstacle> {
    if silence {
        find_obstacle(&pool.connect_options()).await
    } else {
        None
    }
}

#[tonic::async_trait]
impl Health for Readiness {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        let status = self.status_of(&service).ok_or_else(|| {
            Status::not_found("unknown service: ask for `liveness` or `readiness`")
        })?;
        Ok(Response::new(answer(status)))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let watch = Watch {
            readiness: self.clone(),
            service: request.into_inner().service,
            told: None,
            over: false,
        };
        let told = stream::unfold(watch, |mut watch| async move {
            let status = watch.next().await?;
            Some((Ok(answer(status)), watch))
        });
        Ok(Response::new(told.boxed()))
    }
}

/// One open watch: it tells each change once, the drain as the last, and then ends.
struct Watch {
    readiness: Readiness,
    service: String,
    told: Option<ServingStatus>,
    over: bool,
}

impl Watch {
    async fn next(&mut self) -> Option<ServingStatus> {
        while !self.over {
            self.over = self.readiness.draining.is_cancelled();
            // The protocol wants an unknown service told, and the watch kept.
            let status = self
                .readiness
                .status_of(&self.service)
                .unwrap_or(ServingStatus::ServiceUnknown);
            if self.told.replace(status) != Some(status) {
                return Some(status);
            }
            tokio::select! {
                () = self.readiness.draining.cancelled() => {}
                changed = self.readiness.ready.changed() => {
                    // The looker is gone, which only a stop brings about.
                    if changed.is_err() { self.readiness.draining.cancelled().await }
                }
            }
        }
        None
    }
}

fn answer(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}
