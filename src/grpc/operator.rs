//! `OperatorService`: proof of the promises, and what a server stands on.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::check::Check;
use super::encode::duration;
use super::page::Query;
use super::request::Call;
use crate::app::App;
use crate::app::hints::Hearing;
use crate::app::operator::{
    ALL, Invariant, LongTransaction, Progress, ServerView, Violation, named,
};
use crate::proto::v1;
use crate::proto::v1::operator_service_server::OperatorService;

/// Names that one request may give.
const NAMES: usize = 100;

/// See the module.
#[derive(Debug)]
pub struct Operators {
    app: Arc<App>,
}

impl Operators {
    /// The service over `app`.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl OperatorService for Operators {
    async fn check_invariants(
        &self,
        request: Request<v1::CheckInvariantsRequest>,
    ) -> Result<Response<v1::CheckInvariantsResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let asked = invariants(&mut check, &message.names);
        let asked = check.finish(asked)?;
        let names = asked.iter().map(|it| it.name);
        let filters: Vec<&str> = std::iter::once(call.namespace.0.as_str())
            .chain(names)
            .collect();
        let query = Query::of("CheckInvariants", &filters);
        let from = query.after(&message.page_token, |text| text.parse().ok())?;
        let progress = self
            .app
            .check_invariants(&call.namespace, &asked, from, call.deadline)
            .await?;
        let next = progress.next.as_ref();
        let next_page_token = next.map(|cursor| query.token(&cursor.to_string()));
        Ok(Response::new(answer(
            progress,
            next_page_token.unwrap_or_default(),
        )))
    }

    async fn get_server(
        &self,
        request: Request<v1::GetServerRequest>,
    ) -> Result<Response<v1::GetServerResponse>, Status> {
        Call::open(request)?;
        let server = self.app.server().await?;
        Ok(Response::new(v1::GetServerResponse {
            server: Some(encode(server)),
        }))
    }
}

fn invariants(check: &mut Check, names: &[String]) -> Vec<&'static Invariant> {
    check.at_most("names", names.len(), NAMES);
    named(names).unwrap_or_else(|unknown| {
        let unknown: String = unknown.chars().take(100).collect();
        let all: Vec<&str> = ALL.iter().map(|it| it.name).collect();
        let wrong = format!(
            "has `{unknown}`, which is no invariant; leave it empty for all of them: {}",
            all.join(", ")
        );
        check.wrong("names", wrong);
        Vec::new()
    })
}

fn answer(progress: Progress, next_page_token: String) -> v1::CheckInvariantsResponse {
    let checked =
        |(invariant, looked_at, broken): &(&'static Invariant, u64, u64)| v1::InvariantCheck {
            name: invariant.name.to_owned(),
            proves: invariant.proves(),
            looked_at: *looked_at,
            broken: *broken,
            finished: progress.is_finished(invariant),
        };
    let violation = |it: Violation| v1::InvariantViolation {
        invariant: it.invariant.to_owned(),
        id: it.id,
        problem: it.problem,
    };
    v1::CheckInvariantsResponse {
        invariants: progress.invariants.iter().map(checked).collect(),
        violations: progress.violations.into_iter().map(violation).collect(),
        unchecked_ids: progress.unchecked,
        next_page_token,
    }
}

fn encode(server: ServerView) -> v1::Server {
    let listener_state = match server.hearing {
        Hearing::Up => v1::ListenerState::Up,
        Hearing::Lost => v1::ListenerState::Lost,
        Hearing::Off => v1::ListenerState::Off,
    };
    let long = |it: LongTransaction| v1::LongTransaction {
        process_id: it.process_id,
        application: it.application,
        idle: it.idle,
        age: Some(duration(it.age)),
    };
    v1::Server {
        release: server.release.to_owned(),
        database_version: server.database_version,
        schema_version: server.schema_version,
        clock_ahead: Some(signed(server.clock_ahead_micros)),
        listener_state: listener_state.into(),
        long_transactions: server.long_transactions.into_iter().map(long).collect(),
    }
}

/// A span that may be negative: then both parts are.
fn signed(micros: i64) -> prost_types::Duration {
    prost_types::Duration {
        seconds: micros / 1_000_000,
        nanos: i32::try_from(micros % 1_000_000 * 1_000).unwrap_or(0),
    }
}
