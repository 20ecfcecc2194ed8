use handoffd::proto::v1;

use super::{DAY, HOUR, idle_child, pass, state};
use crate::handoffs::scene::{self, Worker};
use crate::support::with_server;

/// Cases D1 and D5: seven quiet days, counted from the last activity, and the parent is told.
#[tokio::test]
async fn a_child_that_was_quiet_for_seven_days_is_given_up_and_the_parent_is_told() {
    with_server(async |server| {
        let (parent, _, handoff) = idle_child(server).await;
        for _ in 0..6 {
            pass(server, DAY).await;
        }
        pass(server, 23 * HOUR).await;
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Running);
        let status = scene::status(server, &handoff.handoff_id).await;
        assert!(status.abandon_time.is_some(), "{status:?}");
        pass(server, HOUR).await;
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Abandoned);
        let progress = scene::progress(server, &handoff.handoff_id).await;
        assert_eq!(progress.live_state, None);
        let mail = scene::mail(server, &parent).await;
        assert_eq!(mail.len(), 1, "{mail:?}");
        assert_eq!(mail[0].kind(), v1::MessageKind::Notice);
        pass(server, 8 * DAY).await;
        assert!(scene::mail(server, &parent).await.is_empty());
    })
    .await;
}

/// Case C15 in its spirit: activity that is committed first wins over the pass.
#[tokio::test]
async fn activity_just_before_the_pass_keeps_the_work() {
    with_server(async |server| {
        let (_, worker, handoff) = idle_child(server).await;
        pass(server, HOUR).await;
        server.clock.advance(7 * DAY).await;
        let turn = worker.begin().await;
        pass(server, DAY / 86_400).await;
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Running);
        worker.finish(scene::done(&turn, v1::TurnNext::Wait)).await;
        pass(server, HOUR).await;
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Running);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_given_up_while_a_lease_holds() {
    with_server(async |server| {
        let parent = scene::boss(server).await;
        let handoff = scene::hand_off(server, scene::asking(&parent)).await;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        for _ in 0..9 {
            server.clock.advance(DAY).await;
            worker.beat(&turn, None).await;
            pass(server, DAY / 86_400).await;
        }
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Running);
        // Lost now: the retry is waited for, and its silence begins only now.
        pass(server, HOUR).await;
        pass(server, HOUR).await;
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Running);
    })
    .await;
}

/// What a child waited for is no silence: the days of its timer do not count.
#[tokio::test]
async fn a_child_that_slept_until_its_time_is_not_given_up_when_that_comes() {
    with_server(async |server| {
        let parent = scene::boss(server).await;
        let handoff = scene::hand_off(server, scene::asking(&parent)).await;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let wake = server.clock.now().await + 9 * DAY;
        worker
            .finish(v1::FinishTurnRequest {
                wake_time: Some(wake.into()),
                ..scene::done(&turn, v1::TurnNext::WakeAt)
            })
            .await;
        for _ in 0..38 {
            pass(server, 6 * HOUR).await;
        }
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Running);
        assert_eq!(worker.claim().await.len(), 1);
    })
    .await;
}
