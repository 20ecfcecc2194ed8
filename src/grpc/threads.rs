//! ThreadService: makes root threads, reads threads, and keeps their history.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::check::Check;
use super::encode::{Wire, json, opt_id, timestamp};
use super::page::{Query, bounded};
use super::request::Call;
use super::{events, signals};
use crate::app::App;
use crate::app::threads::{ThreadFilter, ThreadView};
use crate::domain::caller::Caller;
use crate::domain::handoffs::Assignment;
use crate::domain::ids::ThreadId;
use crate::domain::limits;
use crate::domain::threads::append::AppendEvents;
use crate::domain::threads::create::CreateThread;
use crate::domain::threads::{Drive, Owner};
use crate::proto::v1;
use crate::proto::v1::thread_service_server::ThreadService;

/// The role of a root thread that says none.
const ROOT_ROLE: &str = "init";
/// The role of a handoff's child, which nobody else may take.
const CHILD_ROLE: &str = "task";
/// Characters of an owner's subject and e-mail address.
const OWNER_CHARS: usize = 255;

/// See the module.
#[derive(Debug)]
pub struct Threads {
    app: Arc<App>,
}

impl Threads {
    /// The service over `app`.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl ThreadService for Threads {
    async fn create_thread(
        &self,
        request: Request<v1::CreateThreadRequest>,
    ) -> Result<Response<v1::CreateThreadResponse>, Status> {
        let (call, mut message) = Call::open(request)?;
        let mut check = Check::default();
        let request_id = check.request_id(message.request_id.take());
        let command = create(&mut check, message);
        let command = check.finish(command)?;
        let created = self.app.submit(call.mutating(request_id), command).await?;
        let thread = self.app.thread(&call.namespace, created.thread_id).await?;
        Ok(Response::new(v1::CreateThreadResponse {
            thread: Some(encode(thread)),
            deduplicated: created.deduplicated,
        }))
    }

    async fn get_thread(
        &self,
        request: Request<v1::GetThreadRequest>,
    ) -> Result<Response<v1::GetThreadResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let thread_id = check.id("thread_id", &message.thread_id);
        let thread_id = check.finish(thread_id)?;
        let thread = self.app.thread(&call.namespace, thread_id).await?;
        Ok(Response::new(v1::GetThreadResponse {
            thread: Some(encode(thread)),
        }))
    }

    async fn list_threads(
        &self,
        request: Request<v1::ListThreadsRequest>,
    ) -> Result<Response<v1::ListThreadsResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let query = Query::of(
            "ListThreads",
            &[
                &call.namespace.0,
                &message.agent_id,
                &message.parent_thread_id,
                &message.include_unlisted.to_string(),
                &message.include_hidden.to_string(),
            ],
        );
        let mut check = Check::default();
        let size = check.page_size(message.page_size);
        let filter = ThreadFilter {
            agent: check.opt_agent_id("agent_id", message.agent_id),
            parent: check.opt_id("parent_thread_id", &message.parent_thread_id),
            unlisted: message.include_unlisted,
            hidden: message.include_hidden,
        };
        let filter = check.finish(filter)?;
        let after: Option<ThreadId> = query.after(&message.page_token, |last| last.parse().ok())?;
        let page = self
            .app
            .threads(&call.namespace, &filter, after, size)
            .await?;
        let (threads, cut) = bounded(page.threads.into_iter().map(encode).collect());
        let last_shown = threads.last().filter(|_| cut);
        let next = last_shown.map(|last| last.thread_id.clone());
        let next = next.or(page.next.map(|next| next.to_string()));
        Ok(Response::new(v1::ListThreadsResponse {
            threads,
            next_page_token: next.map(|next| query.token(&next)).unwrap_or_default(),
        }))
    }

    async fn append_events(
        &self,
        request: Request<v1::AppendEventsRequest>,
    ) -> Result<Response<v1::AppendEventsResponse>, Status> {
        let (call, mut message) = Call::open(request)?;
        let mut check = Check::default();
        let request_id = check.request_id(message.request_id.take());
        let command = append(&mut check, message);
        let command = check.finish(command)?;
        let appended = self.app.submit(call.mutating(request_id), command).await?;
        let signals = signals::of_turn(&self.app, &call.namespace, appended.turn_id).await?;
        Ok(Response::new(v1::AppendEventsResponse {
            first_event_number: appended.first,
            last_event_number: appended.last,
            late: appended.late,
            signals,
            deduplicated: appended.deduplicated,
        }))
    }

    async fn list_events(
        &self,
        request: Request<v1::ListEventsRequest>,
    ) -> Result<Response<v1::ListEventsResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let size = check.page_size(message.page_size);
        let thread_id = check.id("thread_id", &message.thread_id);
        let thread_id = check.finish(thread_id)?;
        let after = message.after_number;
        let page = self
            .app
            .events(&call.namespace, thread_id, after, size)
            .await?;
        let (events, _) = bounded(page.events.into_iter().map(events::encode).collect());
        let read = events.last().map_or(after, |newest| newest.number);
        Ok(Response::new(v1::ListEventsResponse {
            events,
            has_more: read < page.last_number,
            last_event_number: page.last_number,
        }))
    }
}

fn create(check: &mut Check, message: v1::CreateThreadRequest) -> CreateThread {
    let role = message.role.unwrap_or_else(|| ROOT_ROLE.to_owned());
    if role == CHILD_ROLE {
        check.wrong(
            "role",
            "`task` is kept for the children of handoffs; use another word",
        );
    }
    let visibility = v1::Visibility::try_from(message.visibility);
    if visibility.is_err() {
        check.wrong(
            "visibility",
            "is no value of the enum; use VISIBLE or HIDDEN",
        );
    }
    let hidden = visibility == Ok(v1::Visibility::Hidden);
    CreateThread {
        agent_id: check.agent_id("agent_id", message.agent_id),
        role: check.name("role", role, limits::NAME_CHARS),
        drive: check
            .choice("drive", message.drive)
            .unwrap_or(Drive::Runtime),
        title: check.line("title", message.title, limits::LINE_CHARS),
        hidden,
        listed: message.show_in_thread_list.unwrap_or(!hidden),
        owner: message.owner.map(|owner| Owner {
            subject: check.name("owner.subject", owner.subject, OWNER_CHARS),
            email: Some(check.line("owner.email", owner.email, OWNER_CHARS))
                .filter(|email| !email.is_empty()),
        }),
    }
}

fn append(check: &mut Check, message: v1::AppendEventsRequest) -> AppendEvents {
    let caller = check.caller(message.turn);
    let thread: Option<ThreadId> = check.opt_id("thread_id", &message.thread_id);
    if caller == Caller::Operator && message.thread_id.is_empty() {
        check.wrong("thread_id", "is required without `turn`");
    }
    if message.events.is_empty() {
        check.wrong("events", "is required, 1 to 500 events");
    }
    check.at_most("events", message.events.len(), limits::EVENTS_PER_APPEND);
    let events = message.events.into_iter().take(limits::EVENTS_PER_APPEND);
    AppendEvents {
        caller,
        thread,
        kinds: events
            .enumerate()
            .map(|(at, event)| events::read(check, at, event))
            .collect(),
    }
}

/// What a child was given to do.
pub(crate) fn assignment(given: &Assignment) -> v1::Assignment {
    v1::Assignment {
        task: given.task.clone(),
        context_data: given.context_data.as_ref().map(json),
    }
}

/// Whom turns act for.
pub(crate) fn owner(owner: &Owner) -> v1::Owner {
    v1::Owner {
        subject: owner.subject.clone(),
        email: owner.email.clone().unwrap_or_default(),
    }
}

pub(crate) fn encode(view: ThreadView) -> v1::Thread {
    let state = if view.delete_time.is_some() {
        v1::ThreadState::Deleted
    } else if view.turn_id.is_some() {
        v1::ThreadState::Processing
    } else if view.claimable {
        v1::ThreadState::Queued
    } else {
        v1::ThreadState::Idle
    };
    let visibility = if view.thread.hidden {
        v1::Visibility::Hidden
    } else {
        v1::Visibility::Visible
    };
    let thread = view.thread;
    v1::Thread {
        thread_id: thread.thread_id.to_string(),
        agent_id: thread.agent_id.0,
        parent_thread_id: opt_id(thread.parent_thread_id.as_ref()),
        root_thread_id: thread.root_thread_id.to_string(),
        depth: thread.depth,
        role: thread.role,
        drive: thread.drive.wire(),
        title: thread.title,
        visibility: visibility as i32,
        show_in_thread_list: thread.listed,
        owner: thread.owner.as_ref().map(owner),
        assignment: view.assignment.as_ref().map(assignment),
        state: state as i32,
        turn_id: opt_id(view.turn_id.as_ref()),
        unfinished_handoff_id: opt_id(view.unfinished_handoff.as_ref()),
        unread_count: view.unread,
        given_through: view.given_through,
        consumed_through: view.consumed_through,
        last_event_number: view.event_number,
        latest_response: view.latest_response,
        last_activity_time: Some(timestamp(view.last_activity_time)),
        create_time: Some(timestamp(thread.create_time)),
        update_time: Some(timestamp(view.update_time)),
        delete_time: view.delete_time.map(timestamp),
    }
}
