//! Threads that hand off tasks whose answers they know, and read the reports.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use handoffd::proto::v1::{
    CreateHandoffRequest, CreateThreadRequest, Message, MessageKind, PutAgentRequest,
    ReadMailRequest, ThreadDrive,
};

use super::agents::{Task, WORKER, seconds};
use super::link::Link;

/// Handoffs that a parent has open at once.
const OPEN: usize = 4;
/// Every so many tasks one is handed on by whoever gets it.
const NESTED: usize = 3;

/// How much there is to do, and how far it is.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) parents: usize,
    pub(super) tasks: usize,
    reports: Cell<usize>,
}

/// A parent at the end of its work.
#[derive(Debug)]
pub(super) struct Parent {
    pub(super) thread_id: String,
    /// What each of its handoffs must be answered with.
    pub(super) expected: BTreeMap<String, String>,
    /// Every message it read, in the order it read them.
    pub(super) read: Vec<Message>,
}

impl Load {
    pub(super) fn new(parents: usize, tasks: usize) -> Self {
        Self {
            parents,
            tasks,
            reports: Cell::new(0),
        }
    }

    /// Whether so many percent of the reports were read.
    pub(super) fn is_done(&self, percent: usize) -> bool {
        self.reports.get() * 100 >= self.parents * self.tasks * percent
    }

    /// All handoffs that come of it, those of the agents included.
    pub(super) fn handoffs(&self) -> usize {
        let nested = (0..self.tasks).filter(|at| is_nested(*at)).count();
        self.parents * (self.tasks + nested)
    }

    /// Carries it out.
    pub(super) async fn run(&self, link: &Link) -> Vec<Parent> {
        join_all((0..self.parents).map(|number| self.parent(link, number))).await
    }

    async fn parent(&self, link: &Link, number: usize) -> Parent {
        let name = format!("parent-{number}");
        agent(link, &name).await;
        let mut parent = Parent {
            thread_id: thread(link, &name).await,
            expected: BTreeMap::new(),
            read: Vec::new(),
        };
        let mut reported = BTreeSet::new();
        for reads in 0.. {
            while parent.expected.len() < self.tasks
                && parent.expected.len() - reported.len() < OPEN
            {
                let at = parent.expected.len();
                let (id, answer) = hand_off(link, &parent.thread_id, number * self.tasks + at, at);
                parent.expected.insert(id.await, answer);
            }
            if reported.len() == self.tasks {
                break;
            }
            let before = reported.len();
            for message in read(link, &parent.thread_id, &format!("{name}-read-{reads}")).await {
                if message.kind() == MessageKind::Report {
                    reported.insert(message.handoff_id.clone());
                }
                parent.read.push(message);
            }
            let new = reported.len() - before;
            self.reports.set(self.reports.get() + new);
        }
        parent
    }
}

fn is_nested(at: usize) -> bool {
    at % NESTED == NESTED - 1
}

/// The id to be, and the answer.
fn hand_off(
    link: &Link,
    thread_id: &str,
    number: usize,
    at: usize,
) -> (impl Future<Output = String>, String) {
    let number = number.try_into().unwrap();
    let mut task = Task::Square(number);
    if is_nested(at) {
        task = Task::Nest(Box::new(task));
    }
    let answer = task.answer(&[]).unwrap();
    let create = CreateHandoffRequest {
        parent_thread_id: thread_id.to_owned(),
        task: task.text(),
        target_agent: WORKER.to_owned(),
        request_id: Some(format!("{thread_id}-{number}")),
        ..CreateHandoffRequest::default()
    };
    let id = async move {
        let created = link.accepted("a parent hands work off", async |server| {
            server.handoffs().create_handoff(create.clone()).await
        });
        created.await.handoff.unwrap().handoff_id
    };
    (id, answer)
}

async fn read(link: &Link, thread_id: &str, request_id: &str) -> Vec<Message> {
    let read = ReadMailRequest {
        thread_id: thread_id.to_owned(),
        wait: Some(seconds(2)),
        request_id: Some(request_id.to_owned()),
        ..ReadMailRequest::default()
    };
    let answer = link.accepted("a parent reads", async |server| {
        server.mailbox().read_mail(read.clone()).await
    });
    answer.await.messages
}

/// Puts an agent.
pub(super) async fn agent(link: &Link, id: &str) {
    let put = PutAgentRequest {
        agent_id: id.to_owned(),
        request_id: Some(format!("put-{id}")),
        ..PutAgentRequest::default()
    };
    let put = link.accepted("an agent is put", async |server| {
        server.agents().put_agent(put.clone()).await
    });
    put.await;
}

/// Makes a thread that calls when it likes.
pub(super) async fn thread(link: &Link, agent_id: &str) -> String {
    let create = CreateThreadRequest {
        agent_id: agent_id.to_owned(),
        drive: ThreadDrive::Pull.into(),
        request_id: Some(format!("thread-{agent_id}")),
        ..CreateThreadRequest::default()
    };
    let created = link.accepted("a thread is created", async |server| {
        server.threads().create_thread(create.clone()).await
    });
    created.await.thread.unwrap().thread_id
}
