//! Threads that hand off work whose ends they know, cancel some of it, write to their children, repeat
//! what they said, and read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use handoffd::proto::v1::{
    CancelHandoffRequest, CreateHandoffRequest, Message, MessageKind, OnTurnLost, Outcome,
    ReadMailRequest, SendMessageRequest,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tonic::Code;

use super::account::Part;
use super::{NARROW, Work};
use crate::faults::agents::{Task, WORKER, seconds};
use crate::faults::parents::{agent, thread};
use crate::support::pause;

/// Notes that gathering work waits for.
const NOTES: usize = 3;

/// Work that a parent handed off, and what came of it.
pub(in crate::faults) struct Handed {
    pub(super) task: Task,
    pub(super) child: String,
    /// The first lost turn ends it.
    pub(super) frail: bool,
    /// What a cancel was answered: whether it had ended already.
    pub(super) cancelled: Option<bool>,
    /// The numbers that the child was sent, and those still to be sent.
    notes: Vec<u64>,
    unsent: Vec<u64>,
    begin: Instant,
    end: Option<Message>,
}

impl Handed {
    /// Work that waits for nothing.
    pub(super) fn plain(task: Task, child: String) -> Self {
        Self {
            task,
            child,
            frail: false,
            cancelled: None,
            notes: Vec::new(),
            unsent: Vec::new(),
            begin: Instant::now(),
            end: None,
        }
    }

    /// What it must answer. None: it must fail.
    pub(super) fn answer(&self) -> Option<String> {
        self.task.answer(&self.notes)
    }
}

/// A thread that nobody runs: it calls when it likes.
pub(super) struct Parent<'a> {
    work: &'a Work,
    name: String,
    thread_id: String,
    rng: StdRng,
    /// Of everything that is numbered: never used twice.
    next: u64,
    handed: BTreeMap<String, Handed>,
    /// Those of them that have not ended.
    open: BTreeSet<String>,
    read: BTreeSet<String>,
    reads: u64,
}

impl<'a> Parent<'a> {
    /// Works until the run is over and everything has ended, and tells what it handed off.
    pub(super) async fn work(work: &'a Work, number: u64) -> BTreeMap<String, Handed> {
        let name = format!("parent-{number}");
        agent(&work.link, &name).await;
        let mut parent = Self {
            work,
            thread_id: thread(&work.link, &name).await,
            name,
            rng: StdRng::seed_from_u64(work.seed + number),
            next: number * 1_000_000,
            handed: BTreeMap::new(),
            open: BTreeSet::new(),
            read: BTreeSet::new(),
            reads: 0,
        };
        loop {
            while !work.is_over() && parent.open.len() < work.pace.open {
                parent.hand_off().await;
            }
            parent.write_to_children().await;
            if parent.rng.random_ratio(1, 12) {
                parent.cancel().await;
            }
            parent.read().await;
            if work.is_over() && parent.open.is_empty() {
                return parent.handed;
            }
            if work.is_given_up() {
                for id in &parent.open {
                    work.broken(format!("stuck: {id}, {}", parent.handed[id].task.text()));
                }
                return parent.handed;
            }
            pause(work.pace.round).await;
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn task(&mut self) -> Task {
        let number = self.number();
        let plain = [
            Task::Square(number),
            Task::Slow(number),
            Task::Steps(number),
            Task::Drop(number),
        ];
        match self.rng.random_range(0..100) {
            0..5 => Task::Fail(number),
            5..7 if self.work.pace.crashes => Task::Crash(number),
            7..27 => Task::Gather(number, NOTES),
            27..47 => Task::Nest(Box::new(plain.choose(&mut self.rng).unwrap().clone())),
            _ => plain.choose(&mut self.rng).unwrap().clone(),
        }
    }

    async fn hand_off(&mut self) {
        let (task, number) = (self.task(), self.number());
        let frail = self.rng.random_ratio(1, 15);
        let narrow = self.rng.random_ratio(1, self.work.pace.narrow);
        let key = self.rng.random_ratio(1, 2);
        let create = CreateHandoffRequest {
            parent_thread_id: self.thread_id.clone(),
            task: task.text(),
            target_agent: if narrow { NARROW } else { WORKER }.to_owned(),
            request_id: Some(format!("create-{number}")),
            idempotency_key: key.then(|| format!("key-{number}")),
            on_turn_lost: if frail {
                OnTurnLost::Fail
            } else {
                OnTurnLost::Retry
            }
            .into(),
            ..CreateHandoffRequest::default()
        };
        let begin = Instant::now();
        let made = self
            .work
            .link
            .accepted("a parent hands work off", async |server| {
                server.handoffs().create_handoff(create.clone()).await
            });
        let handoff = made.await.handoff.unwrap();
        self.work.count(Part::Work, "handoffs created");
        self.work.watched.add(&handoff.handoff_id);
        if self.rng.random_ratio(1, 4) {
            self.repeat(create.clone(), &handoff.handoff_id).await;
        }
        if key && self.rng.random_ratio(1, 3) {
            let again = CreateHandoffRequest {
                request_id: Some(format!("create-{number}-again")),
                ..create.clone()
            };
            self.repeat(again, &handoff.handoff_id).await;
        }
        if key && self.rng.random_ratio(1, 4) {
            let other = CreateHandoffRequest {
                request_id: Some(format!("create-{number}-other")),
                task: "square 7".to_owned(),
                ..create
            };
            self.conflict(other).await;
        }
        let notes = if let Task::Gather(..) = task {
            NOTES
        } else {
            0
        };
        let unsent = (0..notes).map(|_| self.number()).collect();
        let handed = Handed {
            child: handoff.thread_id,
            task,
            frail,
            cancelled: None,
            notes: Vec::new(),
            unsent,
            begin,
            end: None,
        };
        self.open.insert(handoff.handoff_id.clone());
        self.handed.insert(handoff.handoff_id, handed);
    }

    /// The same call, or the same work under its key: no second handoff.
    async fn repeat(&self, create: CreateHandoffRequest, first: &str) {
        let made = self
            .work
            .link
            .accepted("a create is repeated", async |server| {
                server.handoffs().create_handoff(create.clone()).await
            });
        let made = made.await;
        let again = made.handoff.unwrap().handoff_id;
        self.work
            .count(Part::Work, "creates repeated, by request id or key");
        self.work.holds(again == first && made.deduplicated, || {
            format!("doubled: {first} and {again} are one create")
        });
    }

    /// Other work under the same key.
    async fn conflict(&self, other: CreateHandoffRequest) {
        let refused = self.work.link.call("a key is used again", async |server| {
            server.handoffs().create_handoff(other.clone()).await
        });
        let code = refused.await.err().map(|status| status.code());
        self.work
            .count(Part::Work, "keys used for other work, and refused");
        self.work.holds(code == Some(Code::AlreadyExists), || {
            format!("other work under a key was answered {code:?}")
        });
    }

    /// Sends one note to each child that waits for some.
    async fn write_to_children(&mut self) {
        for id in &self.open {
            let handed = self.handed.get_mut(id).unwrap();
            let Some(number) = handed.unsent.pop() else {
                continue;
            };
            let note = SendMessageRequest {
                from_thread_id: self.thread_id.clone(),
                to_thread_id: handed.child.clone(),
                kind: MessageKind::Note.into(),
                body: number.to_string(),
                request_id: Some(format!("note-{number}")),
                ..SendMessageRequest::default()
            };
            let sent = self.work.link.accepted("a parent writes", async |server| {
                server.mailbox().send_message(note.clone()).await
            });
            let message_id = sent.await.message_id;
            handed.notes.push(number);
            self.work.sent(message_id, note.body);
            self.work.count(Part::Work, "notes to children");
        }
    }

    async fn cancel(&mut self) {
        // Of nested work the inner half would report to whoever lives.
        let plain = |id: &&String| {
            let handed = &self.handed[*id];
            !matches!(handed.task, Task::Nest(_)) && handed.cancelled.is_none()
        };
        let open: Vec<_> = self.open.iter().filter(plain).cloned().collect();
        let Some(id) = open.choose(&mut self.rng) else {
            return;
        };
        let cancel = CancelHandoffRequest {
            handoff_id: id.clone(),
            reason: "no longer wanted".to_owned(),
            stop_child: self.rng.random_ratio(1, 2),
            request_id: Some(format!("cancel-{id}")),
            ..CancelHandoffRequest::default()
        };
        let cancelled = self.work.link.accepted("a parent cancels", async |server| {
            server.handoffs().cancel_handoff(cancel.clone()).await
        });
        let already = cancelled.await.already_ended;
        self.work.count(
            Part::Work,
            if already {
                "cancels that came too late"
            } else {
                "cancels"
            },
        );
        self.handed.get_mut(id).unwrap().cancelled = Some(already);
    }

    async fn read(&mut self) {
        self.reads += 1;
        let read = ReadMailRequest {
            thread_id: self.thread_id.clone(),
            wait: Some(seconds(1)),
            request_id: Some(format!("{}-read-{}", self.name, self.reads)),
            ..ReadMailRequest::default()
        };
        let mut mail = self.work.read("a parent reads", &read).await;
        if self.rng.random_ratio(1, 8) {
            let again = self.work.read("a read is repeated", &read).await;
            self.work.count(Part::Work, "reads repeated");
            // One that found nothing did nothing, and binds nothing.
            if mail.is_empty() {
                mail = again;
            } else {
                let ids = |mail: &[Message]| -> Vec<String> {
                    mail.iter().map(|it| it.message_id.clone()).collect()
                };
                self.work.holds(ids(&mail) == ids(&again), || {
                    format!("a read and its repeat: {mail:?}, {again:?}")
                });
            }
        }
        for message in mail {
            self.take(message);
        }
    }

    fn take(&mut self, message: Message) {
        let work = self.work;
        let first = self.read.insert(message.message_id.clone());
        work.holds(first, || format!("doubled: read twice: {message:?}"));
        let handed_id = message.handoff_id.clone();
        let Some(handed) = self.handed.get_mut(&handed_id) else {
            return work.broken(format!(
                "mail of a handoff that was never made: {message:?}"
            ));
        };
        if message.outcome.is_none() {
            return work.count(Part::Work, "progress read");
        }
        if message.late {
            work.holds(handed.cancelled == Some(false) || handed.frail, || {
                format!("late, though nothing ended it before: {message:?}")
            });
            return work.count(Part::Work, "late reports read");
        }
        work.holds(handed.end.is_none(), || {
            format!("doubled: ended twice: {message:?}")
        });
        work.ended_after(handed.begin.elapsed());
        let (report, outcome) = (message.kind() == MessageKind::Report, message.outcome());
        let right = match outcome {
            Outcome::Succeeded => report && handed.answer().as_ref() == Some(&message.body),
            Outcome::Failed => !report && (handed.frail || handed.answer().is_none()),
            Outcome::Cancelled => !report && handed.cancelled == Some(false),
            _ => false,
        };
        work.holds(right, || {
            format!("wrong: {}: {message:?}", handed.task.text())
        });
        work.count(
            Part::Work,
            match outcome {
                Outcome::Succeeded => "reports read, with the right answer",
                Outcome::Cancelled => "notices of a cancel read",
                _ => "notices of a failure read",
            },
        );
        handed.end = Some(message);
        self.open.remove(&handed_id);
    }
}
