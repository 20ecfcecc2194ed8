//! How often the reconciler looks at a row: when there can be something to do, and not before.

use std::time::Duration;

use handoffd::proto::v1;
use handoffd::server::config::Span;
use handoffd::workers::JobName;

use super::{DAY, HOUR, MINUTE, idle_child, state};
use crate::handoffs::scene::{self, Worker};
use crate::support::{TestServer, with_server, with_server_of};

const SECOND: Duration = Duration::from_secs(1);

/// Moves the time by `span`, from due row to due row as the driver does, and counts the rows that were
/// looked at and those that were acted on.
async fn watch(server: &TestServer, span: Duration) -> (usize, usize) {
    let (mut looks, mut acts) = (0, 0);
    let mut left = span;
    loop {
        let report = server.sweep(JobName::CheckQuiet).await;
        looks += report.found;
        acts += report.moved;
        if report.found > 0 {
            assert_eq!(report.failed, 0, "{report:?}");
            continue;
        }
        assert!(looks < 1_000, "the same rows are due again and again");
        if left.is_zero() {
            return (looks, acts);
        }
        let step = report.next.map_or(left, |next| next.min(left));
        server.clock.advance(step).await;
        left -= step;
    }
}

/// Reads the reminder that woke the worker, and waits again.
async fn hear(worker: &Worker) {
    let turn = worker.begin().await;
    worker.finish(scene::done(&turn, v1::TurnNext::Wait)).await;
}

#[tokio::test]
async fn short_rules_make_no_more_looks_than_there_is_to_do() {
    let rules = |config: &mut handoffd::server::config::Config| {
        config.rules.reminder_after = Span(4 * SECOND);
        config.rules.reminder_interval = Span(4 * SECOND);
        config.rules.abandon_after = Span(10 * MINUTE);
    };
    with_server_of(rules, async |server| {
        let parent = scene::boss(server).await;
        let handoff = scene::hand_off(server, scene::asking(&parent)).await;
        assert_eq!(
            watch(server, MINUTE).await,
            (0, 0),
            "it waits for a runtime"
        );
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        assert_eq!(watch(server, MINUTE).await, (0, 0), "its turn lives");
        worker.finish(scene::done(&turn, v1::TurnNext::Wait)).await;
        for reminder in 1..=3 {
            let passed = watch(server, MINUTE).await;
            assert_eq!(
                passed,
                (1, 1),
                "reminder {reminder}, then it is outstanding"
            );
            hear(&worker).await;
        }
        assert_eq!(watch(server, 9 * MINUTE).await, (1, 0), "none is left");
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Running);
        assert_eq!(watch(server, MINUTE).await, (1, 1));
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Abandoned);
        assert_eq!(watch(server, HOUR).await, (0, 0), "it is closed");
    })
    .await;
}

#[tokio::test]
async fn a_quiet_child_is_looked_at_once_a_reminder_and_once_a_day() {
    with_server(async |server| {
        let (_, worker, handoff) = idle_child(server).await;
        for _ in 0..3 {
            assert_eq!(watch(server, HOUR + MINUTE).await, (1, 1));
            hear(&worker).await;
        }
        let (looks, acts) = watch(server, 6 * DAY + 23 * HOUR + 59 * MINUTE).await;
        assert_eq!(acts, 0);
        assert!((7..=8).contains(&looks), "{looks}");
        assert_eq!(watch(server, MINUTE).await, (1, 1));
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Abandoned);
    })
    .await;
}

/// Nobody tells a thread that a slot became free or that its agent was activated.
#[tokio::test]
async fn what_nobody_tells_is_looked_at_once_an_hour() {
    with_server(async |server| {
        let (_, worker, handoff) = idle_child(server).await;
        scene::set_state(server, "worker", v1::AgentState::Deactivated).await;
        let (looks, acts) = watch(server, DAY).await;
        assert_eq!(acts, 0);
        assert!((23..=24).contains(&looks), "{looks}");
        scene::set_state(server, "worker", v1::AgentState::Active).await;
        assert_eq!(watch(server, HOUR).await, (1, 1), "reminded");
        hear(&worker).await;

        limit(server, 0).await;
        let note = v1::SendMessageRequest {
            to_thread_id: handoff.thread_id.clone(),
            kind: v1::MessageKind::Note as i32,
            body: "are you there?".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        scene::send(server, note).await;
        let (looks, acts) = watch(server, 8 * DAY).await;
        assert_eq!(acts, 0, "waiting for a slot is not quiet");
        assert!((190..=192).contains(&looks), "{looks}");
        limit(server, 1).await;
        let (_, acts) = watch(server, 6 * DAY + 23 * HOUR).await;
        assert_eq!(acts, 0, "quiet from here on only");
        assert_eq!(watch(server, 2 * HOUR).await.1, 1);
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Abandoned);
    })
    .await;
}

async fn limit(server: &TestServer, slots: u32) {
    let agent = v1::PutAgentRequest {
        agent_id: "worker".to_owned(),
        max_concurrent_turns: Some(slots),
        ..v1::PutAgentRequest::default()
    };
    server.agents().put_agent(agent).await.unwrap();
}

#[tokio::test]
async fn a_live_turn_is_looked_at_once_a_day_however_short_its_leases_are() {
    with_server(async |server| {
        let parent = scene::boss(server).await;
        scene::hand_off(server, scene::asking(&parent)).await;
        let worker = Worker::register(server, "worker").await;
        worker.begin().await;
        assert_eq!(watch(server, 3 * DAY).await, (3, 0));
    })
    .await;
}
