//! `RuntimeService`: turns are given to runtimes and taken back.

mod encode;
mod parse;

use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};

use super::encode::duration;
use super::request::Call;
use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline;
use crate::proto::v1;
use crate::proto::v1::runtime_service_server::RuntimeService;

/// What one turn of a call costs a batch, in bytes: few turns, or many of few calls, travel together.
const TURN_BYTES: usize = 1024;

/// How long before its deadline a wait ends, so that the answer still arrives.
const MARGIN: Duration = Duration::from_millis(500);

/// The service.
#[derive(Debug)]
pub struct Runtimes {
    app: Arc<App>,
}

impl Runtimes {
    /// Serves `app`.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    async fn register(
        &self,
        request: Request<v1::RegisterRuntimeRequest>,
    ) -> Result<v1::RegisterRuntimeResponse, Error> {
        let (call, request) = Call::open(request)?;
        let command = parse::register(request)?;
        let runtime_id = command.runtime_id.clone();
        let registered = self.app.submit(call.mutating(None), command).await?;
        let (lease, assign) = self.app.leases();
        Ok(v1::RegisterRuntimeResponse {
            runtime_id,
            incarnation: registered.incarnation,
            lease_duration: Some(duration(lease)),
            assign_lease: Some(duration(assign)),
        })
    }

    async fn claim(
        &self,
        request: Request<v1::ClaimTurnsRequest>,
    ) -> Result<v1::ClaimTurnsResponse, Error> {
        let (call, request) = Call::open(request)?;
        let claim = parse::claim(request)?;
        let request = pipeline::Request {
            // A long-poll may outlast what a change may take; only its caller's deadline ends it.
            deadline: call
                .deadline
                .map(|deadline| deadline.checked_sub(MARGIN).unwrap_or(deadline)),
            ..call.mutating(None)
        };
        let turns = self.app.claim(&request, claim).await?;
        Ok(v1::ClaimTurnsResponse {
            turns: turns.into_iter().map(encode::turn).collect(),
        })
    }

    async fn heartbeat(
        &self,
        request: Request<v1::HeartbeatRequest>,
    ) -> Result<v1::HeartbeatResponse, Error> {
        let (call, request) = Call::open(request)?;
        let (runtime_id, beats) = parse::heartbeat(request)?;
        let request = pipeline::Request {
            size: TURN_BYTES * beats.len().max(1),
            ..call.mutating(None)
        };
        let ids: Vec<_> = beats.iter().map(|beat| beat.turn_id).collect();
        let pulses = self.app.heartbeat(request, runtime_id, beats).await?;
        let turns = ids.into_iter().zip(pulses);
        Ok(v1::HeartbeatResponse {
            turns: turns
                .map(|(id, (pulse, told))| encode::pulse(id, &pulse, told))
                .collect(),
        })
    }

    async fn finish(
        &self,
        request: Request<v1::FinishTurnRequest>,
    ) -> Result<v1::FinishTurnResponse, Error> {
        let (call, request) = Call::open(request)?;
        let command = parse::finish(request)?;
        let finished = self.app.submit(call.mutating(None), command).await?;
        Ok(encode::finished(finished))
    }

    async fn release(
        &self,
        request: Request<v1::ReleaseTurnsRequest>,
    ) -> Result<v1::ReleaseTurnsResponse, Error> {
        let (call, request) = Call::open(request)?;
        let (holder, turns) = parse::release(request)?;
        let request = pipeline::Request {
            size: TURN_BYTES,
            ..call.mutating(None)
        };
        let returned = self.app.release(&request, holder, turns).await?;
        Ok(v1::ReleaseTurnsResponse {
            turn_ids: returned.turns.iter().map(ToString::to_string).collect(),
            has_more: returned.has_more,
        })
    }
}

#[tonic::async_trait]
impl RuntimeService for Runtimes {
    async fn register_runtime(
        &self,
        request: Request<v1::RegisterRuntimeRequest>,
    ) -> Result<Response<v1::RegisterRuntimeResponse>, Status> {
        Ok(Response::new(self.register(request).await?))
    }

    async fn claim_turns(
        &self,
        request: Request<v1::ClaimTurnsRequest>,
    ) -> Result<Response<v1::ClaimTurnsResponse>, Status> {
        Ok(Response::new(self.claim(request).await?))
    }

    async fn heartbeat(
        &self,
        request: Request<v1::HeartbeatRequest>,
    ) -> Result<Response<v1::HeartbeatResponse>, Status> {
        Ok(Response::new(Self::heartbeat(self, request).await?))
    }

    async fn finish_turn(
        &self,
        request: Request<v1::FinishTurnRequest>,
    ) -> Result<Response<v1::FinishTurnResponse>, Status> {
        Ok(Response::new(self.finish(request).await?))
    }

    async fn release_turns(
        &self,
        request: Request<v1::ReleaseTurnsRequest>,
    ) -> Result<Response<v1::ReleaseTurnsResponse>, Status> {
        Ok(Response::new(self.release(request).await?))
    }
}
