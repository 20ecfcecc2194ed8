//! `OperatorService`: proof of the promises, what a server stands on, what a person should look at,
//! and what an operator puts right by hand.

mod bulk_cancel;
mod explain;
mod server;
mod stuck;

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::check::Check;
use super::encode::opt_id;
use super::encode_handoff;
use super::handoff_status::list;
use super::page::Query;
use super::request::Call;
use crate::app::App;
use crate::app::operator::{ALL, Invariant, Progress, Violation, named};
use crate::domain::handoffs::cancel_reminder::CancelReminder;
use crate::domain::handoffs::force_end::ForceEnd;
use crate::domain::limits;
use crate::domain::turns::force_release::ForceRelease;
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
        let found = self.app.server().await?;
        Ok(Response::new(v1::GetServerResponse {
            server: Some(server::encode(found)),
        }))
    }

    async fn list_stuck(
        &self,
        request: Request<v1::ListStuckRequest>,
    ) -> Result<Response<v1::ListStuckResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let size = check.page_size(message.page_size);
        let size = check.finish(size)?;
        let query = Query::of("ListStuck", &[&call.namespace.0]);
        let after = query.after(&message.page_token, |last| last.parse().ok())?;
        let page = self.app.stuck(&call.namespace, after, size).await?;
        let next = page.next.map(|last| query.token(&last.to_string()));
        Ok(Response::new(v1::ListStuckResponse {
            items: stuck::items(&page),
            next_page_token: next.unwrap_or_default(),
            looked_at: page.looked_at,
        }))
    }

    async fn explain(
        &self,
        request: Request<v1::ExplainRequest>,
    ) -> Result<Response<v1::ExplainResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let id = check.id("handoff_id", &message.handoff_id);
        let id = check.finish(id)?;
        let story = self.app.explain(&call.namespace, id).await?;
        Ok(Response::new(v1::ExplainResponse {
            explanation: Some(explain::encode(&self.app, story)),
        }))
    }

    async fn bulk_cancel(
        &self,
        request: Request<v1::BulkCancelRequest>,
    ) -> Result<Response<v1::BulkCancelResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let command = bulk_cancel::command(&mut check, &call, &message);
        let size = check.page_size(message.page_size);
        let (command, size) = check.finish((command, size))?;
        let listing = bulk_cancel::listing(&message);
        let query = list::query(&call, "BulkCancel", &listing);
        let after = query.after(&message.page_token, |last| last.parse().ok())?;
        let request = call.mutating(None);
        let page = self.app.bulk_cancel(request, &command, after, size).await?;
        let confirming = bulk_cancel::confirming(&call, &listing);
        let confirm_token = command
            .dry_run
            .then(|| bulk_cancel::confirm_token(&confirming));
        Ok(Response::new(v1::BulkCancelResponse {
            items: bulk_cancel::items(&self.app, &page),
            next_page_token: page
                .next
                .map(|last| query.token(&last.to_string()))
                .unwrap_or_default(),
            confirm_token: confirm_token.unwrap_or_default(),
        }))
    }

    async fn force_end(
        &self,
        request: Request<v1::ForceEndRequest>,
    ) -> Result<Response<v1::ForceEndResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let request_id = check.request_id(message.request_id);
        let command = ForceEnd {
            handoff_id: check.id("handoff_id", &message.handoff_id),
            reason: check.text("reason", message.reason, limits::TEXT_CHARS),
        };
        let command = check.finish(command)?;
        let request = call.mutating(request_id);
        let (ended, observed) = self.app.force_end(request, command).await?;
        let parent_agent_id = observed.parent_agent_id.as_ref();
        let handoff = encode_handoff::handoff(&observed.facts.handoff, parent_agent_id);
        Ok(Response::new(v1::ForceEndResponse {
            handoff: Some(handoff),
            already_ended: ended.already_ended,
            turn_id: opt_id(ended.turn_id.as_ref()),
            deduplicated: ended.deduplicated,
        }))
    }

    async fn force_release(
        &self,
        request: Request<v1::ForceReleaseRequest>,
    ) -> Result<Response<v1::ForceReleaseResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let request_id = check.request_id(message.request_id);
        let command = ForceRelease {
            turn_id: check.id("turn_id", &message.turn_id),
            reason: check.text("reason", message.reason, limits::TEXT_CHARS),
        };
        let command = check.finish(command)?;
        let released = self.app.submit(call.mutating(request_id), command).await?;
        Ok(Response::new(v1::ForceReleaseResponse {
            released: released.released,
            thread_id: released.thread_id.to_string(),
            handoff_id: opt_id(released.handoff_id.as_ref()),
            deduplicated: released.deduplicated,
        }))
    }

    async fn cancel_reminder(
        &self,
        request: Request<v1::CancelReminderRequest>,
    ) -> Result<Response<v1::CancelReminderResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let request_id = check.request_id(message.request_id);
        let command = CancelReminder {
            handoff_id: check.id("handoff_id", &message.handoff_id),
            reason: check.text("reason", message.reason, limits::TEXT_CHARS),
        };
        let command = check.finish(command)?;
        let cancelled = self.app.submit(call.mutating(request_id), command).await?;
        Ok(Response::new(v1::CancelReminderResponse {
            cancelled: cancelled.cancelled,
            deduplicated: cancelled.deduplicated,
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
