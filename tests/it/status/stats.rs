//! GetStats.

use std::time::Duration;

use handoffd::proto::v1;

use crate::handoffs::scene::{Worker, asking, boss, cancel, cancelling, done, hand_off, report};
use crate::support::{Clients, with_server};

async fn stats(clients: &Clients) -> v1::Stats {
    let told = clients.status().get_stats(v1::GetStatsRequest {}).await;
    told.unwrap().into_inner().stats.unwrap()
}

fn seconds(span: Option<prost_types::Duration>) -> Option<i64> {
    span.map(|span| span.seconds)
}

fn live(all: &v1::Stats, state: v1::LiveState) -> u64 {
    let found = all.live_states.iter().find(|it| it.live_state() == state);
    found.unwrap().count
}

/// Case D21: the age of the oldest open handoff is told.
#[tokio::test]
async fn what_is_open_is_counted_by_agent_and_state_with_its_age() {
    with_server(async |server| {
        let parent = boss(server).await;
        let empty = stats(server).await;
        assert_eq!((empty.open_count, empty.oldest_open_age), (0, None));
        assert!(empty.counted_all && empty.live_states_of_all && empty.agents.is_empty());
        assert_eq!(empty.time_to_claim.unwrap().count, 0);

        let first = hand_off(server, asking(&parent)).await;
        server.clock.advance(Duration::from_secs(10)).await;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        server.clock.advance(Duration::from_secs(30)).await;
        worker.finish(done(&turn, v1::TurnNext::Wait)).await;
        for _ in 0..2 {
            hand_off(server, asking(&parent)).await;
        }
        let ended = hand_off(server, asking(&parent)).await;
        report(server, &ended, "done").await;
        let to_boss = v1::CreateHandoffRequest {
            target_agent: "boss".to_owned(),
            ..asking(&parent)
        };
        let gone = hand_off(server, to_boss.clone()).await;
        cancel(server, cancelling(&gone.handoff_id)).await;
        hand_off(server, to_boss).await;
        server.clock.advance(Duration::from_secs(200)).await;

        let told = stats(server).await;
        assert_eq!((told.open_count, told.queued_count), (4, 4));
        assert_eq!(told.oldest_open_handoff_id, first.handoff_id);
        assert_eq!(seconds(told.oldest_open_age), Some(240));
        assert_eq!(live(&told, v1::LiveState::Stalled), 1);
        assert_eq!(live(&told, v1::LiveState::Running), 3);
        assert_eq!(live(&told, v1::LiveState::ChildMissing), 0);
        let [workers, bosses] = told.agents.as_slice() else {
            panic!("{:?}", told.agents);
        };
        assert_eq!(workers.agent_id, "worker");
        assert_eq!((workers.started_count, workers.running_count), (2, 1));
        assert_eq!(seconds(workers.oldest_open_age), Some(240));
        assert_eq!(
            (bosses.agent_id.as_str(), bosses.started_count),
            ("boss", 1)
        );
        assert_eq!(
            (bosses.queued_count, seconds(bosses.oldest_wake_age)),
            (1, Some(200))
        );
        let newest: Vec<(v1::HandoffStatus, u64)> = told
            .newest_statuses
            .iter()
            .map(|it| (it.status(), it.count))
            .collect();
        assert!(
            newest.contains(&(v1::HandoffStatus::Completed, 1)),
            "{newest:?}"
        );
        assert!(
            newest.contains(&(v1::HandoffStatus::Cancelled, 1)),
            "{newest:?}"
        );
        let claim = told.time_to_claim.unwrap();
        assert_eq!(
            (claim.count, seconds(claim.p50), seconds(claim.max)),
            (1, Some(10), Some(10))
        );
        let turn = told.turn_time.unwrap();
        assert_eq!((turn.count, seconds(turn.p99)), (1, Some(30)));
        assert_eq!(stats(&server.in_namespace("other")).await.open_count, 0);
    })
    .await;
}
