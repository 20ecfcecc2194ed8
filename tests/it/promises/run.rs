//! Promise 2, no double run: a thread never has two live turns, and a closed one changes nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use handoffd::proto::v1;
use tonic::Code;

use crate::support::{told, with_server};
use crate::turns::stage::{
    Runtime, agent, done, history, lose, mail, pass, read, thread, turn_ref,
};

/// Case E3.
#[tokio::test]
async fn in_a_storm_of_claims_each_thread_is_claimed_once() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let other = server.second().await;
        let made = (0..200).map(|_| async {
            let id = thread(server, "a").await;
            mail(server, &id, "go").await;
            id
        });
        let threads: BTreeSet<String> = join_all(made).await.into_iter().collect();
        let mut runtimes = Vec::new();
        for at in 0..32 {
            let clients = if at % 2 == 0 { &**server } else { &**other };
            runtimes.push(Runtime::register(clients, &format!("r{at}"), &["a"]).await);
        }
        let storm = runtimes.iter().map(|runtime| async move {
            let mut turns = Vec::new();
            let mut empty = 0;
            while empty < 3 {
                let got = runtime.claim(7).await;
                empty = if got.is_empty() { empty + 1 } else { 0 };
                turns.extend(got);
            }
            turns
        });
        let turns: Vec<v1::Turn> = join_all(storm).await.into_iter().flatten().collect();
        let claimed: BTreeSet<String> = turns.iter().map(|turn| turn.thread_id.clone()).collect();
        assert_eq!(turns.len(), 200);
        assert_eq!(claimed, threads);
    })
    .await;
}

/// Every mutating call that takes a turn, with this one.
async fn calls(runtime: &Runtime, turn: &v1::Turn, to: &str) -> Vec<(&'static str, Code, String)> {
    let clients = &runtime.clients;
    let turn = Some(turn_ref(turn));
    let mut mailbox = clients.mailbox();
    let note = v1::SendMessageRequest {
        turn: turn.clone(),
        to_thread_id: to.to_owned(),
        body: "late".to_owned(),
        ..v1::SendMessageRequest::default()
    };
    let reading = v1::ReadMailRequest {
        turn: turn.clone(),
        ..v1::ReadMailRequest::default()
    };
    let ack = v1::AckMailRequest {
        turn: turn.clone(),
        received_through: Some(1),
        ..v1::AckMailRequest::default()
    };
    let said = v1::AssistantMessage {
        text: "late".to_owned(),
    };
    let append = v1::AppendEventsRequest {
        turn: turn.clone(),
        events: vec![v1::NewEvent {
            kind: Some(v1::new_event::Kind::AssistantMessage(said)),
        }],
        ..v1::AppendEventsRequest::default()
    };
    let finish = v1::FinishTurnRequest {
        turn,
        outcome: v1::TurnOutcome::Done as i32,
        response_text: Some("late".to_owned()),
        ..v1::FinishTurnRequest::default()
    };
    let heard = [
        ("send", told(mailbox.send_message(note).await)),
        ("read", told(mailbox.read_mail(reading).await)),
        ("ack", told(mailbox.ack_mail(ack).await)),
        (
            "append",
            told(clients.threads().append_events(append).await),
        ),
        ("finish", told(runtime.try_finish(finish).await)),
    ];
    heard
        .into_iter()
        .map(|(name, told)| (name, told.code, told.reason))
        .collect()
}

/// Case C9.
#[tokio::test]
async fn a_late_call_of_a_lost_turn_is_aborted_and_changes_nothing() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let (lost, other) = (thread(server, "a").await, thread(server, "a").await);
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &lost, "one").await;
        let turn = runtime.begin_one().await;
        lose(server).await;
        let before = history(server, &lost).await;

        for (name, code, reason) in calls(&runtime, &turn, &other).await {
            assert_eq!(
                (code, reason.as_str()),
                (Code::Aborted, "TURN_CLOSED"),
                "{name}"
            );
        }
        let beat = runtime.beat(&[&turn]).await.remove(0);
        assert_eq!(beat.state(), v1::TurnLeaseState::Closed);
        assert_eq!(beat.close_reason(), v1::TurnCloseReason::Lost);
        assert!(runtime.release(&[&turn]).await.turn_ids.is_empty());
        assert_eq!(history(server, &lost).await, before);

        // Nor while the next turn of the thread is live.
        pass(server, 1).await;
        let next = runtime.begin_one().await;
        for (name, code, reason) in calls(&runtime, &turn, &other).await {
            assert_eq!(
                (code, reason.as_str()),
                (Code::Aborted, "TURN_CLOSED"),
                "{name}"
            );
        }
        assert_eq!(
            runtime.beat(&[&next]).await[0].state(),
            v1::TurnLeaseState::Renewed
        );
    })
    .await;
}

#[tokio::test]
async fn a_wrong_token_is_stale_everywhere() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let (thread, other) = (thread(server, "a").await, thread(server, "a").await);
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        let forged = v1::Turn {
            token: turn.token + 1,
            ..turn.clone()
        };
        for (name, code, reason) in calls(&runtime, &forged, &other).await {
            assert_eq!(
                (code, reason.as_str()),
                (Code::Aborted, "STALE_TOKEN"),
                "{name}"
            );
        }
        let beat = runtime.beat(&[&forged]).await.remove(0);
        assert_eq!(beat.state(), v1::TurnLeaseState::Unknown);
        assert!(runtime.release(&[&forged]).await.turn_ids.is_empty());
        runtime.finish(done(&turn)).await;
    })
    .await;
}

/// Case D7.
#[tokio::test]
async fn a_heartbeat_after_the_lease_is_life_until_the_row_is_closed() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        server.clock.advance(Duration::from_secs(300)).await;
        assert_eq!(
            runtime.beat(&[&turn]).await[0].state(),
            v1::TurnLeaseState::Renewed
        );
        pass(server, 59).await;
        assert_eq!(
            runtime.beat(&[&turn]).await[0].state(),
            v1::TurnLeaseState::Renewed
        );
        pass(server, 60).await;
        let beat = runtime.beat(&[&turn]).await.remove(0);
        assert_eq!(beat.close_reason(), v1::TurnCloseReason::Lost);
    })
    .await;
}

/// Case D11.
#[tokio::test]
async fn a_restarted_runtime_claims_anew_and_its_older_life_only_keeps_what_it_has() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let (first, second) = (thread(server, "a").await, thread(server, "a").await);
        let old = Runtime::register(server, "r", &["a"]).await;
        mail(server, &first, "one").await;
        let turn = old.begin_one().await;
        let new = Runtime::register(server, "r", &["a"]).await;
        assert_eq!((old.incarnation, new.incarnation), (1, 2));

        mail(server, &second, "two").await;
        let refused = told(old.try_claim(1, Duration::ZERO).await);
        assert_eq!(refused.what(), (Code::Aborted, "STALE_INCARNATION"));
        assert_eq!(refused.metadata["currentIncarnation"], "2");
        let never = Runtime {
            incarnation: 9,
            ..new.clone()
        };
        let refused = told(never.try_claim(1, Duration::ZERO).await);
        assert_eq!(refused.what(), (Code::Aborted, "STALE_INCARNATION"));

        assert_eq!(new.claim_one().await.thread_id, second);
        assert_eq!(
            old.beat(&[&turn]).await[0].state(),
            v1::TurnLeaseState::Renewed
        );
        assert!(
            new.release(&[&turn]).await.turn_ids.is_empty(),
            "not its own"
        );
        old.finish(done(&turn)).await;
    })
    .await;
}

#[tokio::test]
async fn a_registration_ends_the_waiting_claim_of_the_older_life() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let old = Runtime::register(server, "r", &["a"]).await;
        let waiting = old.try_claim(1, Duration::from_secs(60));
        let (refused, ()) = tokio::join!(waiting, async {
            Runtime::register(server, "r", &["a"]).await;
            mail(server, &thread, "one").await;
        });
        assert_eq!(told(refused).what(), (Code::Aborted, "STALE_INCARNATION"));
    })
    .await;
}

#[tokio::test]
async fn any_call_of_a_turn_renews_its_lease() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        for _ in 0..4 {
            server.clock.advance(Duration::from_secs(50)).await;
            read(server, &turn).await;
            let renewed = async || {
                let lease: i64 = sqlx::query_scalar(
                    "SELECT extract(epoch FROM lease_expire_time - handoffd_now())::bigint FROM turns",
                )
                .fetch_one(&server.pool)
                .await
                .unwrap();
                lease == 60
            };
            crate::support::eventually("the lease is renewed", renewed).await;
            pass(server, 0).await;
        }
        runtime.finish(done(&turn)).await;
    })
    .await;
}
