//! ClaimTurns and ReleaseTurns: who gets what, and how it comes back.

use std::time::Duration;

use futures_util::future::join_all;
use handoffd::proto::v1;
use tonic::Code;

use crate::support::{eventually, told, with_server};

use super::stage::{Runtime, agent, bodies, done, mail, note, pass, read, thread};

#[tokio::test]
async fn a_runtime_registers_before_there_is_anything_else() {
    with_server(async |server| {
        let runtime = Runtime::register(server, "r", &["a"]).await;
        assert_eq!(runtime.incarnation, 1);
        assert!(runtime.beat(&[]).await.is_empty());
        let refused = told(runtime.try_claim(1, Duration::ZERO).await);
        assert_eq!(refused.what(), (Code::NotFound, "AGENT_NOT_FOUND"));
        assert_eq!(refused.metadata["agentId"], "a");
        agent(server, "a", None).await;
        assert!(runtime.claim(1).await.is_empty());

        let stranger = Runtime {
            id: "nobody".to_owned(),
            ..runtime.clone()
        };
        let refused = told(stranger.try_claim(1, Duration::ZERO).await);
        assert_eq!(refused.what(), (Code::NotFound, "RUNTIME_NOT_FOUND"));
        let elsewhere = runtime.on(&server.in_namespace("other"));
        let refused = told(elsewhere.try_claim(1, Duration::ZERO).await);
        assert_eq!(refused.what(), (Code::NotFound, "RUNTIME_NOT_FOUND"));
    })
    .await;
}

#[tokio::test]
async fn the_oldest_wake_of_an_agent_is_first_and_no_agent_starves_another() {
    with_server(async |server| {
        agent(server, "busy", None).await;
        agent(server, "calm", None).await;
        let mut busy = Vec::new();
        for _ in 0..6 {
            let id = thread(server, "busy").await;
            mail(server, &id, "go").await;
            server.clock.advance(Duration::from_secs(1)).await;
            busy.push(id);
        }
        let calm = thread(server, "calm").await;
        mail(server, &calm, "go").await;
        let runtime = Runtime::register(server, "r", &["busy", "calm"]).await;
        let mut order = Vec::new();
        for _ in 0..7 {
            order.extend(runtime.claim(1).await.into_iter().map(|it| it.thread_id));
        }
        assert!(
            order[..3].contains(&calm),
            "the calm agent waited behind a queue"
        );
        order.retain(|id| *id != calm);
        assert_eq!(order, busy);
    })
    .await;
}

#[tokio::test]
async fn one_claim_takes_turns_of_its_agents_only_and_as_many_as_it_asks_for() {
    with_server(async |server| {
        agent(server, "a", None).await;
        agent(server, "b", None).await;
        for name in ["a", "a", "a", "b"] {
            let id = thread(server, name).await;
            mail(server, &id, "go").await;
        }
        let runtime = Runtime::register(server, "r", &["a"]).await;
        assert_eq!(runtime.claim(2).await.len(), 2);
        assert_eq!(runtime.claim(2).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_claim_hands_over_64_kib_of_mail_and_signals_the_rest() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        for _ in 0..6 {
            mail(server, &thread, &"x".repeat(16_000)).await;
        }
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turn = runtime.claim_one().await;
        assert_eq!((turn.mail.len(), turn.given_through), (4, 4));
        let Some(v1::signal::Kind::Mail(signal)) = &turn.signals[0].kind else {
            panic!("no signal of mail: {:?}", turn.signals);
        };
        let numbers: Vec<u64> = signal.messages.iter().map(|it| it.mail_number).collect();
        assert_eq!((signal.unread_count, numbers), (2, vec![5, 6]));
        assert_eq!(read(server, &turn).await.messages.len(), 2);
        assert!(!runtime.finish(done(&turn)).await.woken);
    })
    .await;
}

#[tokio::test]
async fn a_claim_that_was_dropped_while_it_waited_takes_nothing() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let ready = Runtime::register(server, "ready", &["a"]).await;
        let gone = runtime.try_claim(1, Duration::from_secs(60));
        assert!(
            tokio::time::timeout(Duration::from_millis(100), gone)
                .await
                .is_err()
        );
        mail(server, &thread, "one").await;
        eventually("the turn is given to who waits", async || {
            !ready.claim(1).await.is_empty()
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn turns_of_a_claimer_that_went_away_come_back() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let ready = Runtime::register(server, "ready", &["a"]).await;
        for round in 0..20 {
            mail(server, &thread, &format!("{round}")).await;
            // The call is dropped at some point of its way: before, while or after it is answered.
            let gone = runtime.try_claim(1, Duration::from_secs(60));
            let answered = tokio::time::timeout(Duration::from_micros(300 * round), gone).await;
            if let Ok(answer) = answered {
                let turns = answer.unwrap().into_inner().turns;
                assert_eq!(runtime.release(&[&turns[0]]).await.turn_ids.len(), 1);
            }
            let mut looks = 0;
            let mut claimed = Vec::new();
            eventually("the turn is given to somebody", async || {
                looks += 1;
                if looks % 50 == 0 {
                    // The answer had left when the client went: only the short lease knows.
                    pass(server, 10).await;
                }
                claimed = ready.claim(1).await;
                !claimed.is_empty()
            })
            .await;
            assert_eq!(bodies(&claimed[0].mail), [format!("{round}")]);
            assert_eq!(claimed[0].lost_turns, 0);
            ready.finish(done(&claimed[0])).await;
        }
    })
    .await;
}

#[tokio::test]
async fn released_turns_are_due_at_once_with_their_mail_and_no_loss() {
    with_server(async |server| {
        agent(server, "a", Some(3)).await;
        let mut threads = Vec::new();
        for _ in 0..3 {
            let id = thread(server, "a").await;
            mail(server, &id, "go").await;
            threads.push(id);
        }
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turns = runtime.claim(3).await;
        runtime.beat(&[&turns[0], &turns[1]]).await;
        let named = runtime.release(&[&turns[0]]).await;
        assert_eq!(named.turn_ids, [turns[0].turn_id.clone()]);
        assert!(!named.has_more);
        let mut rest = runtime.release(&[]).await.turn_ids;
        rest.sort();
        let mut expected = vec![turns[1].turn_id.clone(), turns[2].turn_id.clone()];
        expected.sort();
        assert_eq!(rest, expected);
        assert!(runtime.release(&[]).await.turn_ids.is_empty());
        let beat = runtime.beat(&[&turns[0]]).await.remove(0);
        assert_eq!(beat.close_reason(), v1::TurnCloseReason::Released);

        let again = runtime.claim(3).await;
        assert_eq!(again.len(), 3);
        for turn in &again {
            assert_eq!((bodies(&turn.mail), turn.lost_turns), (vec!["go"], 0));
        }
    })
    .await;
}

#[tokio::test]
async fn a_waiting_claim_answers_empty_at_its_time_and_when_the_server_drains() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let other = server.second().await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let answer = runtime.try_claim(1, Duration::from_millis(50)).await;
        assert!(answer.unwrap().into_inner().turns.is_empty());

        let far = Runtime::register(&other, "far", &["a"]).await;
        let waiting = far.try_claim(1, Duration::from_secs(300));
        let stop = async {
            eventually("the claim waits", async || {
                received(&server.pool, "far").await
            })
            .await;
            other.stop().await;
        };
        let (answer, ()) = tokio::join!(waiting, stop);
        assert!(answer.unwrap().into_inner().turns.is_empty());
    })
    .await;
}

/// Whether the runtime asked for turns since the clock was moved.
async fn received(pool: &sqlx::PgPool, runtime: &str) -> bool {
    let marked = "SELECT receive_time > register_time FROM runtimes WHERE runtime_id = $1";
    sqlx::query("UPDATE test_clock SET at = at + interval '6 seconds'")
        .execute(pool)
        .await
        .unwrap();
    sqlx::query_scalar(marked)
        .bind(runtime)
        .fetch_one(pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn the_mark_of_when_a_runtime_asked_moves_every_few_seconds_only() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let marks = async || -> f64 {
            sqlx::query_scalar("SELECT extract(epoch FROM receive_time)::float8 FROM runtimes")
                .fetch_one(&server.pool)
                .await
                .unwrap()
        };
        let start = marks().await;
        for (advance, moved) in [(4, 0.0), (1, 5.0), (4, 5.0), (1, 10.0)] {
            server.clock.advance(Duration::from_secs(advance)).await;
            // The second claim is answered after the mark of the first is made.
            runtime.claim(1).await;
            runtime.claim(1).await;
            assert!((marks().await - start - moved).abs() < 0.1);
        }
    })
    .await;
}

#[tokio::test]
async fn a_claim_ends_before_the_deadline_of_its_call() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let mut request = tonic::Request::new(v1::ClaimTurnsRequest {
            runtime_id: "r".to_owned(),
            incarnation: runtime.incarnation,
            agent_ids: vec!["a".to_owned()],
            ..v1::ClaimTurnsRequest::default()
        });
        request.set_timeout(Duration::from_secs(2));
        let answer = server.runtimes().claim_turns(request).await;
        assert!(answer.unwrap().into_inner().turns.is_empty());
    })
    .await;
}

#[tokio::test]
async fn many_waiting_claims_share_what_comes() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let mut threads = Vec::new();
        for _ in 0..20 {
            threads.push(thread(server, "a").await);
        }
        let mut runtimes = Vec::new();
        for at in 0..20 {
            runtimes.push(Runtime::register(server, &format!("r{at}"), &["a"]).await);
        }
        let claims = join_all(runtimes.iter().map(|runtime| async {
            let claimed = runtime.try_claim(1, Duration::from_secs(60)).await;
            claimed.unwrap().into_inner().turns.len()
        }));
        let sends = async {
            for id in &threads {
                server.mailbox().send_message(note(id, "go")).await.unwrap();
            }
        };
        let (claimed, ()) = tokio::join!(claims, sends);
        assert_eq!(claimed, vec![1; 20]);
    })
    .await;
}
