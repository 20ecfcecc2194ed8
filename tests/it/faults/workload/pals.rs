//! Threads that write to threads of their like, each number once: every ping has one pong.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use handoffd::proto::v1::{CreateThreadRequest, MessageKind, ReadMailRequest, SendMessageRequest};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tonic_types::StatusExt;

use super::account::Part;
use super::{PAIR_LIMIT, Work};
use crate::faults::agents::seconds;
use crate::faults::parents::{agent, thread};
use crate::support::pause;

/// The agent that answers pings.
pub(super) const SCRIBE: &str = "scribe";

/// Between two rounds of a pal: what bounds the load.
const ROUND: Duration = Duration::from_millis(400);

/// Makes a thread that runtimes work, with no handoff.
pub(super) async fn scribe(work: &Work, number: u64) -> String {
    let create = CreateThreadRequest {
        agent_id: SCRIBE.to_owned(),
        request_id: Some(format!("scribe-{number}")),
        ..CreateThreadRequest::default()
    };
    let created = work.link.accepted("a scribe is there", async |server| {
        server.threads().create_thread(create.clone()).await
    });
    created.await.thread.unwrap().thread_id
}

/// Writes to scribes until the run is over, and reads until every ping is answered.
pub(super) async fn write(work: &Work, number: u64, scribes: &[String]) {
    let name = format!("pal-{number}");
    agent(&work.link, &name).await;
    let own = thread(&work.link, &name).await;
    let mut rng = StdRng::seed_from_u64(work.seed + 100 + number);
    let mut next = number * 1_000_000;
    let (mut unanswered, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for round in 0_u64.. {
        if !work.is_over() {
            // Now and then more than the pair may send.
            let most = if rng.random_ratio(1, 25) {
                PAIR_LIMIT + 10
            } else {
                3
            };
            let numbers = (0..rng.random_range(1..=most)).map(|_| {
                next += 1;
                next
            });
            let scribe = scribes.choose(&mut rng).unwrap();
            let pings = numbers.map(|number| ping(work, &own, scribe, number));
            unanswered.extend(join_all(pings).await.into_iter().flatten());
        }
        let read = ReadMailRequest {
            thread_id: own.clone(),
            wait: Some(seconds(1)),
            request_id: Some(format!("{name}-read-{round}")),
            ..ReadMailRequest::default()
        };
        for message in work.read("a pal reads", &read).await {
            let number = message
                .body
                .strip_prefix("pong ")
                .and_then(|it| it.parse().ok());
            let expected = number.is_some_and(|it| unanswered.remove(&it) && answered.insert(it));
            work.holds(expected, || format!("doubled or never asked: {message:?}"));
            work.count(Part::Work, "pongs read");
        }
        if work.is_over() && unanswered.is_empty() {
            return;
        }
        if work.is_given_up() {
            return work.broken(format!("lost: no pong for {unanswered:?}"));
        }
        pause(ROUND).await;
    }
}

/// The number, where it was accepted.
async fn ping(work: &Work, from: &str, to: &str, number: u64) -> Option<u64> {
    let ping = SendMessageRequest {
        from_thread_id: from.to_owned(),
        to_thread_id: to.to_owned(),
        kind: MessageKind::Note.into(),
        body: format!("ping {number}"),
        request_id: Some(format!("ping-{number}")),
        ..SendMessageRequest::default()
    };
    let sent = work.link.call("a pal writes", async |server| {
        server.mailbox().send_message(ping.clone()).await
    });
    match sent.await {
        Ok(sent) => {
            work.sent(sent.message_id, ping.body);
            work.count(Part::Work, "pings sent");
            Some(number)
        }
        Err(status) => {
            let details = status.get_error_details();
            let reason = details.error_info().map(|it| it.reason.as_str());
            work.holds(reason == Some("PAIR_LIMIT"), || {
                format!("a ping was refused: {status:?}")
            });
            work.count(Part::Work, "pings refused: the pair limit");
            None
        }
    }
}
