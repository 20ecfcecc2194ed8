//! GetHandoffStatus: computed from evidence, moved by nobody's reading.

use std::time::Duration;

use handoffd::proto::v1;
use v1::{HintAction, LiveState, StallReason, WaitingKind};

use crate::handoffs::scene::{
    Worker, asking, boss, done, hand_off, progress, report, set_state, status,
};
use crate::support::with_server;

/// State, stall, hint and what is waited for.
fn shape(
    progress: &v1::HandoffProgress,
) -> (LiveState, Option<StallReason>, HintAction, WaitingKind) {
    let stall = progress.stall_reason.map(|_| progress.stall_reason());
    let hint = progress.hint.clone().unwrap();
    assert!(!hint.text.is_empty());
    let waiting = progress.waiting_on.clone().unwrap();
    (progress.live_state(), stall, hint.action(), waiting.kind())
}

#[tokio::test]
async fn work_that_waits_for_a_runtime_is_running_and_then_unclaimed() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let start = (
            LiveState::Running,
            None,
            HintAction::StartRuntime,
            WaitingKind::Runtime,
        );
        let first = progress(server, id).await;
        assert_eq!(shape(&first), start);
        assert_eq!(first.waiting_on.unwrap().agent_id, "worker");
        assert_eq!(first.tool_call_count, None, "absent, not zero");
        server.clock.advance(Duration::from_secs(3_601)).await;
        let stalled = progress(server, id).await;
        let (state, stall) = (LiveState::Stalled, Some(StallReason::Unclaimed));
        let unclaimed = (state, stall, HintAction::StartRuntime, WaitingKind::Runtime);
        assert_eq!(shape(&stalled), unclaimed);

        set_state(server, "worker", v1::AgentState::Deactivated).await;
        let waits = (
            state,
            stall,
            HintAction::ActivateAgent,
            WaitingKind::AgentDeactivated,
        );
        assert_eq!(shape(&progress(server, id).await), waits);
        set_state(server, "worker", v1::AgentState::Active).await;
        let put = v1::PutAgentRequest {
            agent_id: "worker".to_owned(),
            max_concurrent_turns: Some(0),
            ..v1::PutAgentRequest::default()
        };
        server.agents().put_agent(put).await.unwrap();
        let full = progress(server, id).await;
        let slot = (
            LiveState::Running,
            None,
            HintAction::RaiseSlots,
            WaitingKind::Slot,
        );
        assert_eq!(shape(&full), slot);
    })
    .await;
}

/// Cases D1 and D5.
#[tokio::test]
async fn a_turn_that_lives_without_activity_makes_no_progress_and_an_idle_child_goes_quiet() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let runs = (
            LiveState::Running,
            None,
            HintAction::Wait,
            WaitingKind::Nothing,
        );
        let snapshot = status(server, id).await;
        assert_eq!(shape(&snapshot.progress.unwrap()), runs);
        let stored = snapshot.handoff.unwrap();
        assert_eq!(stored.status(), v1::HandoffStatus::Running);
        assert!(stored.first_turn_time.is_some());
        assert_eq!(
            (snapshot.next_reminder_time, snapshot.abandon_time),
            (None, None)
        );
        let evidence = snapshot.evidence.unwrap();
        assert_eq!(evidence.turn_id, turn.turn_id);
        assert_eq!(evidence.runtime_id, "r1");
        assert!(evidence.last_heartbeat_time.is_some() && evidence.last_poll_time.is_some());
        assert!(evidence.lease_expire_time.is_some() && evidence.wake_time.is_none());
        assert!(evidence.last_event_time.is_some() && evidence.last_delivery_time.is_none());

        for _ in 0..20 {
            server.clock.advance(Duration::from_secs(45)).await;
            worker.beat(&turn, None).await;
        }
        let stalled = progress(server, id).await;
        let stall = Some(StallReason::NoProgress);
        let silent = (
            LiveState::Stalled,
            stall,
            HintAction::Look,
            WaitingKind::Nothing,
        );
        assert_eq!(shape(&stalled), silent);

        worker.finish(done(&turn, v1::TurnNext::Wait)).await;
        let waits = (
            LiveState::Running,
            None,
            HintAction::Wait,
            WaitingKind::Nothing,
        );
        assert_eq!(shape(&progress(server, id).await), waits);
        server.clock.advance(Duration::from_secs(121)).await;
        let snapshot = status(server, id).await;
        let stall = Some(StallReason::Quiet);
        let quiet = (
            LiveState::Stalled,
            stall,
            HintAction::Look,
            WaitingKind::Nothing,
        );
        let computed = snapshot.progress.unwrap();
        assert_eq!(shape(&computed), quiet);
        assert_eq!(computed.idle.unwrap().seconds, 121);
        let seconds = |time: Option<prost_types::Timestamp>| time.unwrap().seconds;
        let active = seconds(computed.last_activity_time);
        assert_eq!(seconds(snapshot.next_reminder_time), active + 1_800);
        assert_eq!(seconds(snapshot.abandon_time), active + 7 * 24 * 3_600);
        let evidence = snapshot.evidence.unwrap();
        assert_eq!(
            (evidence.turn_id.as_str(), evidence.lease_expire_time),
            ("", None)
        );
        assert!(
            evidence.last_heartbeat_time.is_some(),
            "of the turn that was"
        );
    })
    .await;
}

#[tokio::test]
async fn a_child_that_waits_for_its_own_children_or_for_a_time_is_running() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let below = v1::CreateHandoffRequest {
            turn: Some(turn.clone()),
            target_agent: "boss".to_owned(),
            ..asking("")
        };
        let below = hand_off(server, below).await;
        worker.finish(done(&turn, v1::TurnNext::Wait)).await;
        server.clock.advance(Duration::from_secs(9_999)).await;
        let waits = progress(server, id).await;
        let children = (
            LiveState::Running,
            None,
            HintAction::Wait,
            WaitingKind::Children,
        );
        assert_eq!(shape(&waits), children);
        let waiting = waits.waiting_on.unwrap();
        assert_eq!(
            (waiting.handoff_ids, waiting.count),
            (vec![below.handoff_id.clone()], 1)
        );
        report(server, &below, "done").await;
        let turn = worker.begin().await;
        let given = status(server, id).await.evidence.unwrap();
        assert!(given.last_delivery_time.is_some());
        let later = v1::FinishTurnRequest {
            wake_time: Some(prost_types::Timestamp {
                seconds: 1_900_000_000,
                nanos: 0,
            }),
            ..done(&turn, v1::TurnNext::WakeAt)
        };
        worker.finish(later).await;
        let waits = progress(server, id).await;
        let timer = (
            LiveState::Running,
            None,
            HintAction::Wait,
            WaitingKind::Timer,
        );
        assert_eq!(shape(&waits), timer);
        assert_eq!(
            waits.waiting_on.unwrap().time.unwrap().seconds,
            1_900_000_000
        );
    })
    .await;
}

/// Promise 6, and case H9: spans are durations of the protocol.
#[tokio::test]
async fn reading_moves_nothing_and_times_agree() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let rows: Vec<String> = all_rows(server).await;
        server.clock.advance(Duration::from_millis(1_500)).await;
        for _ in 0..10 {
            let snapshot = status(server, id).await;
            let elapsed = snapshot.elapsed.unwrap();
            assert_eq!((elapsed.seconds, elapsed.nanos), (1, 500_000_000));
            let idle = snapshot.progress.unwrap().idle.unwrap();
            assert_eq!((idle.seconds, idle.nanos), (1, 500_000_000));
            let list = v1::ListHandoffsRequest::default();
            server.status().list_handoffs(list).await.unwrap();
            let results = v1::GetHandoffResultsRequest {
                handoff_id: id.clone(),
            };
            server
                .handoffs()
                .get_handoff_results(results)
                .await
                .unwrap();
        }
        assert_eq!(all_rows(server).await, rows);
    })
    .await;
}

async fn all_rows(server: &crate::support::TestServer) -> Vec<String> {
    sqlx::query_scalar(
        "SELECT t::text FROM handoffs AS t UNION ALL SELECT t::text FROM thread_heads AS t
        UNION ALL SELECT t::text FROM agent_slots AS t ORDER BY 1",
    )
    .fetch_all(&server.pool)
    .await
    .unwrap()
}
