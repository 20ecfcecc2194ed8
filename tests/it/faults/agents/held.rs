//! A turn in hand, and the calls that are made under it.

use std::cell::Cell;
use std::time::Duration;

use handoffd::proto::v1::{
    AppendEventsRequest, CreateHandoffRequest, FinishTurnRequest, ListMailRequest, Message,
    MessageKind, NewEvent, ReadMailRequest, SendMessageRequest, Signal, ToolCall, Turn, TurnRef,
    new_event, signal,
};
use tonic::{Code, Response, Status};

use super::journal::Journal;
use crate::faults::link::Link;
use crate::support::{Clients, pause};

/// How long a sender that was refused for its rate waits before it tries again.
const RATED: Duration = Duration::from_millis(500);

/// Why nothing more is to be done in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// It was closed under the agent: it is somebody else's.
    Lost,
    /// It is asked to stop.
    Asked,
}

/// See the module.
pub(super) struct Held<'a> {
    link: &'a Link,
    journal: Journal,
    pub(super) turn: Turn,
    pub(super) incarnation: u64,
    given: Cell<u64>,
    stopped: Cell<Option<Stopped>>,
}

impl<'a> Held<'a> {
    pub(super) fn new(link: &'a Link, journal: Journal, turn: Turn, incarnation: u64) -> Self {
        let held = Self {
            link,
            journal,
            incarnation,
            given: Cell::new(turn.given_through),
            stopped: Cell::default(),
            turn,
        };
        held.obey(&held.turn.signals);
        for message in &held.turn.mail {
            held.journal.given(&held.turn.turn_id, message);
        }
        held
    }

    pub(super) fn reference(&self) -> TurnRef {
        TurnRef {
            turn_id: self.turn.turn_id.clone(),
            token: self.turn.token,
        }
    }

    /// Takes note of a stop. Waiting mail needs no note: it is read, or wakes the thread again.
    pub(super) fn obey(&self, signals: &[Signal]) {
        let abort = |told: &Signal| matches!(told.kind, Some(signal::Kind::Abort(_)));
        if signals.iter().any(abort) && self.stopped.get().is_none() {
            self.stopped.set(Some(Stopped::Asked));
        }
    }

    pub(super) fn is_lost(&self) {
        self.stopped.set(Some(Stopped::Lost));
    }

    /// An error where nothing more is to be done.
    pub(super) fn goes_on(&self) -> Result<(), Stopped> {
        self.stopped.get().map_or(Ok(()), Err)
    }

    async fn call<T>(
        &self,
        what: &str,
        call: impl AsyncFnMut(&Clients) -> Result<Response<T>, Status>,
    ) -> Result<T, Stopped> {
        self.goes_on()?;
        self.answered(self.link.call(what, call).await)
    }

    fn answered<T>(&self, answer: Result<T, Status>) -> Result<T, Stopped> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(status) if status.code() == Code::Aborted => {
                self.is_lost();
                Err(Stopped::Lost)
            }
            Err(status) => panic!("an agent was refused: {status:?}"),
        }
    }

    /// Reads what came since, and waits a moment for it.
    pub(super) async fn read(&self, wait: i64) -> Result<Vec<Message>, Stopped> {
        let mut read = ReadMailRequest {
            turn: Some(self.reference()),
            received_through: Some(self.given.get()),
            wait: Some(super::seconds(wait)),
            ..ReadMailRequest::default()
        };
        let mut mail = Vec::new();
        loop {
            let page = self.call("an agent reads", async |server| {
                server.mailbox().read_mail(read.clone()).await
            });
            let page = page.await?;
            for message in &page.messages {
                self.journal.given(&self.turn.turn_id, message);
            }
            self.obey(&page.signals);
            self.given.set(page.given_through);
            mail.extend(page.messages);
            if !page.has_more {
                return Ok(mail);
            }
            read.received_through = Some(page.given_through);
            read.wait = None;
        }
    }

    /// All mail that the thread ever got.
    pub(super) async fn mailbox(&self) -> Result<Vec<Message>, Stopped> {
        let list = ListMailRequest {
            thread_id: self.turn.thread_id.clone(),
            page_size: Some(500),
            ..ListMailRequest::default()
        };
        let page = self.call("an agent looks at its mail", async |server| {
            server.mailbox().list_mail(list.clone()).await
        });
        Ok(page.await?.messages)
    }

    /// Writes a tool call into the history.
    pub(super) async fn tool(&self, name: &str) -> Result<(), Stopped> {
        let call = ToolCall {
            call_id: format!("{}-{name}", self.turn.turn_id),
            name: name.to_owned(),
            arguments: None,
        };
        let append = AppendEventsRequest {
            turn: Some(self.reference()),
            events: vec![NewEvent {
                kind: Some(new_event::Kind::ToolCall(call)),
            }],
            request_id: Some(format!("{}-{name}", self.turn.turn_id)),
            ..AppendEventsRequest::default()
        };
        let appended = self.call("an agent writes history", async |server| {
            server.threads().append_events(append.clone()).await
        });
        self.obey(&appended.await?.signals);
        Ok(())
    }

    /// Hands the same work on, also in another turn after this one was lost.
    pub(super) async fn hand_on(&self, task: &str) -> Result<(), Stopped> {
        let create = CreateHandoffRequest {
            turn: Some(self.reference()),
            task: task.to_owned(),
            idempotency_key: Some(self.turn.handoff_id.clone()),
            request_id: Some(format!("{}-hand-on", self.turn.turn_id)),
            ..CreateHandoffRequest::default()
        };
        let created = self.call("an agent hands work on", async |server| {
            server.handoffs().create_handoff(create.clone()).await
        });
        created.await.map(drop)
    }

    pub(super) async fn report(&self, body: String) -> Result<(), Stopped> {
        self.send(SendMessageRequest {
            kind: MessageKind::Report.into(),
            body,
            request_id: Some(format!("{}-report", self.turn.turn_id)),
            ..SendMessageRequest::default()
        })
        .await
    }

    pub(super) async fn progress(&self, body: &str) -> Result<(), Stopped> {
        self.send(SendMessageRequest {
            kind: MessageKind::Progress.into(),
            body: body.to_owned(),
            request_id: Some(format!("{}-progress", self.turn.turn_id)),
            ..SendMessageRequest::default()
        })
        .await
    }

    /// Answers a message. The request id is the message's, so that of all turns that were given it
    /// only one answers.
    pub(super) async fn reply(&self, to: &Message, body: String) -> Result<(), Stopped> {
        self.send(SendMessageRequest {
            to_thread_id: to.from_thread_id.clone(),
            kind: MessageKind::Note.into(),
            in_reply_to: to.message_id.clone(),
            body,
            request_id: Some(format!("reply-{}", to.message_id)),
            ..SendMessageRequest::default()
        })
        .await
    }

    async fn send(&self, message: SendMessageRequest) -> Result<(), Stopped> {
        let message = SendMessageRequest {
            turn: Some(self.reference()),
            ..message
        };
        loop {
            self.goes_on()?;
            let sent = self.link.call("an agent sends", async |server| {
                server.mailbox().send_message(message.clone()).await
            });
            match sent.await {
                Err(status) if status.code() == Code::ResourceExhausted => pause(RATED).await,
                answer => return self.answered(answer.map(drop)),
            }
        }
    }

    /// Ends the turn; what it was given is done with. A turn that is asked to stop may still say so.
    pub(super) async fn finish(&self, finish: FinishTurnRequest) {
        let finish = FinishTurnRequest {
            turn: Some(self.reference()),
            received_through: Some(self.given.get()),
            ..finish
        };
        let finished = self.link.call("a turn is finished", async |server| {
            server.runtimes().finish_turn(finish.clone()).await
        });
        if self.answered(finished.await).is_ok() {
            self.journal.ended(&self.turn.turn_id, finish.outcome());
        }
    }
}
