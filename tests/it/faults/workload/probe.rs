//! A thread that makes the same few calls again and again, one after the other, so that somebody can see
//! how long they take: a handoff, its whole life, and looks at it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use handoffd::proto::v1::{
    CreateHandoffRequest, GetHandoffStatusRequest, HandoffStatus, ListHandoffsRequest,
    ReadMailRequest, WaitHandoffRequest, WaitReason, WaitUntil,
};

use super::account::Part;
use super::{Handed, Work};
use crate::faults::agents::{Task, WORKER, seconds};
use crate::faults::parents::{agent, thread};
use crate::support::pause;

const NAME: &str = "probe";

/// What [`Link::spans`](crate::faults::link::Link::spans) calls them: calls that wait for nothing, and a
/// lifecycle, which waits for the runtimes.
pub(in crate::faults) const CREATE: &str = "a probe hands work off";
pub(in crate::faults) const LIFECYCLE: &str = "a probe's work is done";
pub(in crate::faults) const STATUS: &str = "a probe looks at its work";
pub(in crate::faults) const LIST: &str = "a probe lists its work";
pub(in crate::faults) const READ: &str = "a probe reads";

/// Makes them until the work is over, with a pause in between, and tells what was handed off.
pub(super) async fn ask(work: &Work, between: Duration) -> BTreeMap<String, Handed> {
    agent(&work.link, NAME).await;
    let thread_id = thread(&work.link, NAME).await;
    let mut all = BTreeMap::new();
    for number in 1_u64.. {
        pause(between).await;
        if work.is_over() {
            break;
        }
        let begin = Instant::now();
        let task = Task::Square(number);
        let create = CreateHandoffRequest {
            parent_thread_id: thread_id.clone(),
            task: task.text(),
            target_agent: WORKER.to_owned(),
            request_id: Some(format!("{NAME}-{number}")),
            ..CreateHandoffRequest::default()
        };
        let made = work.link.accepted(CREATE, async |server| {
            server.handoffs().create_handoff(create.clone()).await
        });
        let handoff = made.await.handoff.unwrap();
        work.count(Part::Work, "handoffs of the probe");
        let id = handoff.handoff_id;
        let status = wait(work, &id).await;
        work.link.took(LIFECYCLE, begin.elapsed());
        work.ended_after(begin.elapsed());
        work.holds(status == HandoffStatus::Completed, || {
            format!("wrong: a square ended as {status:?}")
        });
        let handed = Handed::plain(task, handoff.thread_id);
        look(work, &thread_id, &id, number, &handed).await;
        all.insert(id, handed);
    }
    all
}

async fn wait(work: &Work, handoff_id: &str) -> HandoffStatus {
    let wait = WaitHandoffRequest {
        handoff_id: handoff_id.to_owned(),
        until: WaitUntil::Finish.into(),
        timeout: Some(seconds(5)),
        ..WaitHandoffRequest::default()
    };
    loop {
        let waited = work.link.accepted("a probe waits", async |server| {
            server.handoffs().wait_handoff(wait.clone()).await
        });
        let waited = waited.await;
        if waited.reason() == WaitReason::Finished {
            return waited.status();
        }
        if work.is_given_up() {
            work.broken(format!("stuck: {handoff_id}, of the probe"));
            return waited.status();
        }
    }
}

async fn look(work: &Work, thread_id: &str, handoff_id: &str, number: u64, handed: &Handed) {
    let status = GetHandoffStatusRequest {
        handoff_id: handoff_id.to_owned(),
    };
    let seen = work.link.accepted(STATUS, async |server| {
        server.status().get_handoff_status(status.clone()).await
    });
    seen.await;
    let list = ListHandoffsRequest {
        page_size: Some(20),
        ..ListHandoffsRequest::default()
    };
    let listed = work.link.accepted(LIST, async |server| {
        server.status().list_handoffs(list.clone()).await
    });
    listed.await;
    let read = ReadMailRequest {
        thread_id: thread_id.to_owned(),
        request_id: Some(format!("{NAME}-read-{number}")),
        ..ReadMailRequest::default()
    };
    let mail = work.read(READ, &read).await;
    let right = mail.len() == 1 && Some(&mail[0].body) == handed.answer().as_ref();
    work.holds(right, || format!("wrong: {}: {mail:?}", handed.task.text()));
}
