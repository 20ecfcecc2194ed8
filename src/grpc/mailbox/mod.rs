//! MailboxService.

mod parse;

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::encode::{self, Wire};
use super::mail;
use super::page::Query;
use super::request::Call;
use super::signals;
use crate::app::App;
use crate::app::mailbox::{Reader, Received};
use crate::domain::mailbox::Delivery;
use crate::domain::mailbox::send::Sent;
use crate::proto::v1;
use v1::mailbox_service_server::MailboxService;

/// See the module.
#[derive(Clone, Debug)]
pub struct Mailbox {
    app: Arc<App>,
}

impl Mailbox {
    /// The service.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl MailboxService for Mailbox {
    async fn send_message(
        &self,
        request: Request<v1::SendMessageRequest>,
    ) -> Result<Response<v1::SendMessageResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let (command, request_id) = parse::send(message)?;
        let sent = self.app.submit(call.mutating(request_id), command).await?;
        Ok(Response::new(sent_message(&sent)))
    }

    async fn read_mail(
        &self,
        request: Request<v1::ReadMailRequest>,
    ) -> Result<Response<v1::ReadMailResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let (command, wait, request_id) = parse::read(message)?;
        let reader = Reader {
            command,
            wait,
            deadline: call.deadline,
        };
        let received = self
            .app
            .read_mail(call.mutating(request_id), reader)
            .await?;
        Ok(Response::new(received_mail(received)))
    }

    async fn ack_mail(
        &self,
        request: Request<v1::AckMailRequest>,
    ) -> Result<Response<v1::AckMailResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let (command, request_id) = parse::ack(message)?;
        let (acked, told) = self
            .app
            .ack_mail(call.mutating(request_id), command)
            .await?;
        Ok(Response::new(v1::AckMailResponse {
            consumed_through: acked.consumed_through,
            unread_count: acked.unread,
            signals: signals::encode(told),
            deduplicated: acked.deduplicated,
        }))
    }

    async fn list_mail(
        &self,
        request: Request<v1::ListMailRequest>,
    ) -> Result<Response<v1::ListMailResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let token = message.page_token.clone();
        let mut list = parse::list(&message)?;
        let query = list_query(&call, &list);
        let above = query.after(&token, |number| number.parse().ok())?;
        list.above = above.unwrap_or(0);
        let page = self.app.list_mail(&call.namespace, &list).await?;
        let encode = |it| mail::message(it, &page.agent_id, page.marks, page.now);
        Ok(Response::new(v1::ListMailResponse {
            messages: page.messages.iter().map(encode).collect(),
            next_page_token: page
                .next
                .map(|number| query.token(&number.to_string()))
                .unwrap_or_default(),
            given_through: page.marks.given_through,
            consumed_through: page.marks.consumed_through,
        }))
    }
}

fn list_query(call: &Call, list: &crate::app::mailbox::ListMail) -> Query {
    let thread = list.thread_id.to_string();
    let states: Vec<String> = list
        .states
        .iter()
        .map(|state| state.wire().to_string())
        .collect();
    let mut filters = vec![call.namespace.0.as_str(), thread.as_str()];
    filters.extend(states.iter().map(String::as_str));
    Query::of("ListMail", &filters)
}

fn sent_message(sent: &Sent) -> v1::SendMessageResponse {
    v1::SendMessageResponse {
        message_id: encode::opt_id(sent.message_id.as_ref()),
        to_thread_id: encode::opt_id(sent.to.as_ref()),
        delivery: sent.delivery.wire(),
        note: note(sent).to_owned(),
        late: sent.late,
        deduplicated: sent.deduplicated,
    }
}

/// One sentence for the sender: what happens next.
fn note(sent: &Sent) -> &'static str {
    if sent.late {
        return "The handoff had ended already: this is kept as late and changes nothing.";
    }
    match sent.delivery {
        Delivery::NoticeQueued => {
            "The recipient is in a turn and is being told; it reads the message in that turn or in its next."
        }
        Delivery::WakeQueued => "A turn of the recipient is due because of this message.",
        Delivery::Waiting => "The message waits to be read; it makes no wake of its own.",
        Delivery::Held => {
            "The recipient's agent is deactivated: the message waits, and wakes it once it is activated."
        }
        Delivery::Recorded => {
            "The report is recorded with the handoff and is not mailed to anybody."
        }
    }
}

fn received_mail(received: Received) -> v1::ReadMailResponse {
    let read = &received.read;
    let encode = |it| mail::message(it, &read.agent_id, read.marks, received.now);
    v1::ReadMailResponse {
        messages: read.messages.iter().map(encode).collect(),
        given_through: read.through,
        has_more: read.has_more,
        signals: signals::encode(received.signals),
        deduplicated: read.deduplicated,
    }
}
