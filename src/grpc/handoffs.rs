//! `HandoffService`: parents hand work off, stop it, read and await what came of it.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};

use super::check::Check;
use super::encode::Wire;
use super::link::thread_link;
use super::request::Call;
use super::{encode_handoff, encode_status};
use crate::app::App;
use crate::app::handoffs::wait::{Reason, Until, WaitHandoff};
use crate::app::handoffs::watch::Watched;
use crate::domain::caller::Caller;
use crate::domain::handoffs::OnCompletion;
use crate::domain::handoffs::cancel::CancelHandoff;
use crate::domain::handoffs::create::{CreateHandoff, Created};
use crate::domain::handoffs::extend::ExtendDeadline;
use crate::domain::ids::ThreadId;
use crate::domain::limits;
use crate::domain::status::Observed;
use crate::proto::v1;
use crate::proto::v1::handoff_service_server::HandoffService;

/// How long work may be allowed to run.
const DEADLINES: (Duration, Duration) = (limits::DEADLINE_MIN, limits::DEADLINE_MAX);

/// See the module.
#[derive(Debug)]
pub struct Handoffs {
    app: Arc<App>,
}

impl Handoffs {
    /// The service over `app`.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl HandoffService for Handoffs {
    async fn create_handoff(
        &self,
        request: Request<v1::CreateHandoffRequest>,
    ) -> Result<Response<v1::CreateHandoffResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let command = create(&mut check, message);
        let command = check.finish(command)?;
        let request = call.mutating(command.request_id.clone());
        let created = self.app.create_handoff(request, command, call.deadline);
        let (created, watched) = created.await?;
        let response = created_handoff(&created);
        Ok(Response::new(match watched {
            Some(watched) => with_watched(response, watched),
            None => response,
        }))
    }

    async fn cancel_handoff(
        &self,
        request: Request<v1::CancelHandoffRequest>,
    ) -> Result<Response<v1::CancelHandoffResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let request_id = check.request_id(message.request_id);
        let command = CancelHandoff {
            caller: check.caller(message.turn),
            handoff_id: check.id("handoff_id", &message.handoff_id),
            reason: check.text("reason", message.reason, limits::TEXT_CHARS),
            stop_child: message.stop_child,
            wake_parent: message.wake_parent,
        };
        let command = check.finish(command)?;
        let call = call.mutating(request_id);
        let (cancelled, observed) = self.app.cancel_handoff(call, command).await?;
        Ok(Response::new(v1::CancelHandoffResponse {
            handoff: Some(present(&observed)),
            already_ended: cancelled.already_ended,
            stop_requested: cancelled.stop_requested,
            deduplicated: cancelled.deduplicated,
        }))
    }

    async fn extend_deadline(
        &self,
        request: Request<v1::ExtendDeadlineRequest>,
    ) -> Result<Response<v1::ExtendDeadlineResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let request_id = check.request_id(message.request_id);
        let deadline = check.opt_duration("deadline", message.deadline, DEADLINES);
        if deadline.is_none() {
            check.wrong("deadline", "is required");
        }
        let command = ExtendDeadline {
            caller: check.caller(message.turn),
            handoff_id: check.id("handoff_id", &message.handoff_id),
            deadline_version: message.deadline_version,
            deadline: deadline.unwrap_or_default(),
        };
        let command = check.finish(command)?;
        let request = call.mutating(request_id);
        let extended = self.app.extend_deadline(request, command).await?;
        Ok(Response::new(v1::ExtendDeadlineResponse {
            handoff: Some(encode_handoff::handoff(
                &extended.handoff,
                extended.parent_agent_id.as_ref(),
            )),
            deduplicated: extended.deduplicated,
        }))
    }

    async fn get_handoff_results(
        &self,
        request: Request<v1::GetHandoffResultsRequest>,
    ) -> Result<Response<v1::GetHandoffResultsResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let id = check.id("handoff_id", &message.handoff_id);
        let id = check.finish(id)?;
        let results = self.app.results(&call.namespace, id, call.deadline).await?;
        let observed = &results.observed;
        let partial = observed.facts.handoff.result_version.is_none();
        let assessment = self.app.assess(observed);
        let reports = results
            .reports
            .iter()
            .map(|report| encode_handoff::report(id, report));
        Ok(Response::new(v1::GetHandoffResultsResponse {
            handoff: Some(present(observed)),
            partial,
            result: observed.result.clone(),
            latest_response: results.output.response.filter(|_| partial),
            reports: reports.collect(),
            progress: Some(encode_status::progress(observed, &assessment)),
            usage: Some(encode_status::usage(&observed.facts, results.output.turns)),
        }))
    }

    async fn wait_handoff(
        &self,
        request: Request<v1::WaitHandoffRequest>,
    ) -> Result<Response<v1::WaitHandoffResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let wait = wait(&mut check, &message);
        let wait = check.finish(wait)?;
        let (reason, observed) = self.app.wait(&call.namespace, wait, call.deadline).await?;
        let assessment = self.app.assess(&observed);
        let handoff = &observed.facts.handoff;
        let report = observed.newest_report.as_ref();
        Ok(Response::new(v1::WaitHandoffResponse {
            reason: wait_reason(reason) as i32,
            still_running: handoff.is_unfinished(),
            report_version: handoff.report_version,
            status: handoff.status().wire(),
            newest_report: report.map(|it| encode_handoff::report(handoff.handoff_id, it)),
            outcome: handoff.outcome().map(Wire::wire),
            progress: Some(encode_status::progress(&observed, &assessment)),
        }))
    }
}

fn present(observed: &Observed) -> v1::Handoff {
    encode_handoff::handoff(&observed.facts.handoff, observed.parent_agent_id.as_ref())
}

fn created_handoff(created: &Created) -> v1::CreateHandoffResponse {
    let handoff = &created.handoff;
    let link = handoff
        .child_thread_id
        .map(|thread| thread_link(&thread.to_string(), &handoff.agent_id.0, &handoff.title));
    v1::CreateHandoffResponse {
        handoff: Some(encode_handoff::handoff(
            handoff,
            created.parent_agent_id.as_ref(),
        )),
        thread_link: link.unwrap_or_default(),
        deduplicated: created.deduplicated,
        ..v1::CreateHandoffResponse::default()
    }
}

/// Adds what a synchronous call saw.
fn with_watched(
    response: v1::CreateHandoffResponse,
    watched: Watched,
) -> v1::CreateHandoffResponse {
    let results = watched.results;
    let observed = &results.observed;
    let partial = observed.facts.handoff.result_version.is_none();
    let turn = observed.facts.turn.as_ref();
    let so_far = || turn.and_then(|turn| turn.partial_text.clone());
    v1::CreateHandoffResponse {
        watch_end: wait_reason(watched.reason) as i32,
        result: observed.result.clone(),
        partial_result: partial
            .then(|| results.output.response.or_else(so_far))
            .flatten(),
        ..response
    }
}

fn create(check: &mut Check, message: v1::CreateHandoffRequest) -> CreateHandoff {
    let given = |text: String| (!text.is_empty()).then_some(text);
    let caller = check.caller(message.turn);
    let parent: Option<ThreadId> = check.opt_id("parent_thread_id", &message.parent_thread_id);
    let task = check.required_text("task", message.task, limits::TASK_CHARS);
    // A display name is longer than an id may be.
    let target = check.line("target_agent", message.target_agent, limits::LINE_CHARS);
    let on_completion = check.choice("on_completion", message.on_completion);
    if caller == Caller::Operator && message.parent_thread_id.is_empty() {
        if target.is_empty() {
            check.wrong(
                "target_agent",
                "is required where there is no parent thread",
            );
        }
        if on_completion == Some(OnCompletion::Notify) {
            check.wrong("on_completion", "NOTIFY needs a parent thread to tell");
        }
    }
    let visibility = v1::Visibility::try_from(message.visibility);
    if visibility.is_err() {
        check.wrong("visibility", "has no such value; use one of the enum's");
    }
    let hidden = visibility == Ok(v1::Visibility::Hidden);
    let title = check.line("thread_title", message.thread_title, limits::LINE_CHARS);
    let key = message.idempotency_key;
    CreateHandoff {
        caller,
        parent,
        task,
        target: given(target),
        title: given(title),
        hidden,
        listed: message.show_in_thread_list.unwrap_or(!hidden),
        context_data: check.json("context_data", message.context_data, limits::JSON_BYTES),
        on_completion,
        watch: watch(check, message.async_mode, message.timeout),
        deadline: check.opt_duration("deadline", message.deadline, DEADLINES),
        on_turn_lost: check.choice("on_turn_lost", message.on_turn_lost),
        idempotency_key: key
            .map(|key| check.required_text("idempotency_key", key, limits::KEY_CHARS)),
        request_id: check.request_id(message.request_id),
    }
}

/// The window of a synchronous call.
fn watch(
    check: &mut Check,
    async_mode: Option<bool>,
    timeout: Option<prost_types::Duration>,
) -> Option<Duration> {
    let window = timeout.map_or(limits::WATCH_DEFAULT, |timeout| {
        let window = check.duration("timeout", timeout, limits::WATCH_MAX);
        if timeout == prost_types::Duration::default() {
            check.wrong(
                "timeout",
                "must be above zero; leave it out for the default",
            );
        }
        window
    });
    (async_mode == Some(false)).then_some(window)
}

fn wait(check: &mut Check, message: &v1::WaitHandoffRequest) -> WaitHandoff {
    let until = match v1::WaitUntil::try_from(message.until) {
        Ok(v1::WaitUntil::Unspecified | v1::WaitUntil::Update) => Until::Update,
        Ok(v1::WaitUntil::Finish) => Until::Finish,
        Err(_) => {
            check.wrong("until", "has no such value; use one of the enum's");
            Until::Update
        }
    };
    let timeout = message
        .timeout
        .map(|timeout| check.duration("timeout", timeout, limits::WAIT_MAX));
    WaitHandoff {
        handoff_id: check.id("handoff_id", &message.handoff_id),
        until,
        after_version: message.after_version,
        timeout: timeout.unwrap_or_else(|| until.default_timeout()),
    }
}

fn wait_reason(reason: Reason) -> v1::WaitReason {
    match reason {
        Reason::Update => v1::WaitReason::Update,
        Reason::Finished => v1::WaitReason::Finished,
        Reason::Timeout => v1::WaitReason::Timeout,
        Reason::Draining => v1::WaitReason::Draining,
    }
}
