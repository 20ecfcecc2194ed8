//! Heartbeat and history: what a live turn reports of itself.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{join, join_all};
use handoffd::proto::v1;
use handoffd::proto::v1::event::Kind;

use crate::mailbox::raw;
use crate::support::with_server;

use super::stage::{Runtime, agent, done, hand_off, history, mail, results, thread, turn_ref};

fn activity(turn: &v1::Turn, sequence: u64, tools: &[&str], tokens: u64) -> v1::TurnHeartbeat {
    let tool_calls = tools.iter().map(|&name| v1::ToolCallActivity {
        name: name.to_owned(),
        time: None,
    });
    v1::TurnHeartbeat {
        turn: Some(turn_ref(turn)),
        activity: Some(v1::TurnActivity {
            sequence,
            tool_calls: tool_calls.collect(),
            partial_text: None,
            input_tokens: Some(tokens),
            output_tokens: None,
        }),
    }
}

#[tokio::test]
async fn answers_come_in_the_order_of_the_turns_whatever_became_of_each() {
    with_server(async |server| {
        agent(server, "a", None).await;
        for _ in 0..3 {
            let id = thread(server, "a").await;
            mail(server, &id, "go").await;
        }
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let other = Runtime::register(server, "other", &["a"]).await;
        let turns = runtime.claim(3).await;
        runtime.finish(done(&turns[1])).await;
        let random = v1::Turn {
            turn_id: format!("trn_{:032x}", 7),
            token: 1,
            ..v1::Turn::default()
        };
        let beats = runtime
            .beat(&[&turns[2], &turns[1], &random, &turns[0]])
            .await;
        let states: Vec<_> = beats.iter().map(v1::TurnHeartbeatResult::state).collect();
        assert_eq!(
            states,
            [
                v1::TurnLeaseState::Renewed,
                v1::TurnLeaseState::Closed,
                v1::TurnLeaseState::Unknown,
                v1::TurnLeaseState::Renewed,
            ]
        );
        let ids: Vec<_> = beats.iter().map(|it| &it.turn_id).collect();
        assert_eq!(ids[2], &random.turn_id);
        assert_eq!(beats[1].close_reason(), v1::TurnCloseReason::Finished);
        let foreign = other.beat(&[&turns[0]]).await.remove(0);
        assert_eq!(foreign.state(), v1::TurnLeaseState::Unknown);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_report_of_activity_is_counted_once() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let work = hand_off(server, "", "a", v1::OnTurnLost::Retry).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turn = runtime.claim_one().await;
        runtime
            .beat_with(vec![activity(&turn, 1, &["grep", "sed"], 10)])
            .await;
        runtime
            .beat_with(vec![activity(&turn, 1, &["grep", "sed"], 10)])
            .await;
        runtime
            .beat_with(vec![activity(&turn, 2, &["awk"], 30)])
            .await;
        runtime
            .beat_with(vec![activity(&turn, 1, &["grep", "sed"], 10)])
            .await;
        let usage = results(server, &work).await.usage.unwrap();
        assert_eq!(
            (usage.tool_calls, usage.input_tokens, usage.turns),
            (Some(3), Some(30), 1)
        );
        let again = v1::FinishTurnRequest {
            next: v1::TurnNext::Continue as i32,
            ..done(&turn)
        };
        runtime.finish(again).await;
        let turn = runtime.claim_one().await;
        runtime
            .beat_with(vec![activity(&turn, 1, &["awk"], 5)])
            .await;
        let usage = results(server, &work).await.usage.unwrap();
        assert_eq!(
            (usage.tool_calls, usage.input_tokens, usage.turns),
            (Some(4), Some(35), 2)
        );
    })
    .await;
}

#[tokio::test]
async fn the_largest_counts_break_nothing() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let id = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let most = u64::try_from(i64::MAX).unwrap();
        for _ in 0..3 {
            mail(server, &id, "go").await;
            let turn = runtime.claim_one().await;
            runtime
                .beat_with(vec![activity(&turn, most, &["x"], most)])
                .await;
            runtime.finish(done(&turn)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_history_of_a_turn_is_numbered_without_gaps() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let id = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &id, "go").await;
        let turn = runtime.claim_one().await;
        let said = |text: &str| v1::NewEvent {
            kind: Some(v1::new_event::Kind::AssistantMessage(
                v1::AssistantMessage {
                    text: text.to_owned(),
                },
            )),
        };
        let request = v1::AppendEventsRequest {
            turn: Some(turn_ref(&turn)),
            events: vec![said("one"), said("two")],
            ..v1::AppendEventsRequest::default()
        };
        mail(server, &id, "more").await;
        let appended = server
            .threads()
            .append_events(request)
            .await
            .unwrap()
            .into_inner();
        // The first call of the turn: it begins, and only then says something.
        assert_eq!(
            (appended.first_event_number, appended.last_event_number),
            (3, 4)
        );
        assert_eq!(appended.signals.len(), 1);
        runtime.finish(done(&turn)).await;
        let events = history(server, &id).await;
        let numbers: Vec<u64> = events.iter().map(|it| it.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        assert!(matches!(events[0].kind, Some(Kind::Mail(_))));
        assert!(matches!(events[1].kind, Some(Kind::TurnStarted(_))));
        assert!(matches!(events[4].kind, Some(Kind::TurnEnded(_))));
        assert!(events.iter().all(|it| it.turn_id == turn.turn_id));
    })
    .await;
}

#[tokio::test]
async fn a_heartbeat_renews_the_lease_to_its_full_length() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let id = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &id, "go").await;
        let turn = runtime.claim_one().await;
        let now = server.clock.now().await;
        let after = |seconds| Some((now + Duration::from_secs(seconds)).into());
        assert_eq!(turn.lease_expire_time, after(10));
        assert_eq!(runtime.beat(&[&turn]).await[0].lease_expire_time, after(60));
        server.clock.advance(Duration::from_secs(20)).await;
        assert_eq!(runtime.beat(&[&turn]).await[0].lease_expire_time, after(80));
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_somebody_holds_delays_its_own_heartbeat_and_no_other() {
    with_server(async |server| {
        agent(server, "a", None).await;
        for _ in 0..2 {
            let id = thread(server, "a").await;
            mail(server, &id, "go").await;
        }
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turns = runtime.claim(2).await;
        runtime.beat(&[&turns[0], &turns[1]]).await;
        let mut holder = server.pool.begin().await.unwrap();
        sqlx::query("SELECT 1 FROM turns WHERE turn_id = $1 FOR UPDATE")
            .bind(raw(&turns[0].turn_id))
            .execute(&mut *holder)
            .await
            .unwrap();
        let held = [&turns[0]];
        let mut held = pin!(runtime.beat(&held));
        let free = [&turns[1]];
        let free = tokio::select! {
            _ = &mut held => panic!("answered although its row is held"),
            free = runtime.beat(&free) => free,
        };
        assert_eq!(free[0].state(), v1::TurnLeaseState::Renewed);
        holder.rollback().await.unwrap();
        assert_eq!(held.await[0].state(), v1::TurnLeaseState::Renewed);
    })
    .await;
}

#[tokio::test]
async fn heartbeats_of_two_servers_never_bring_a_finished_turn_back() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let id = thread(server, "a").await;
        let here = Runtime::register(server, "r", &["a"]).await;
        let there = here.on(&*server.second().await);
        for round in 0..10 {
            mail(server, &id, "go").await;
            let turn = here.begin_one().await;
            let report = activity(&turn, 1, &["sed"], 1);
            let beats = (0..16).map(|at| {
                let runtime = if at % 2 == 0 { &here } else { &there };
                runtime.beat_with(vec![report.clone()])
            });
            let (beats, _) = join(join_all(beats), here.finish(done(&turn))).await;
            for state in beats.iter().map(|beat| beat[0].state()) {
                let renewed = state == v1::TurnLeaseState::Renewed;
                assert!(renewed || state == v1::TurnLeaseState::Closed, "{state:?}");
            }
            let after = there.beat(&[&turn]).await;
            assert_eq!(
                after[0].state(),
                v1::TurnLeaseState::Closed,
                "round {round}"
            );
        }
    })
    .await;
}
