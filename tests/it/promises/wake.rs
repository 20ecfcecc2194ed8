//! Promise 1, no lost wake: a message accepted for a thread is seen by a turn of it, whenever it comes.

use std::time::Duration;

use handoffd::proto::v1;

use crate::support::{with_server, with_server_of};
use crate::turns::stage::{
    Runtime, agent, bodies, done, done_through, ended, get, lose, mail, note, pass, read, thread,
};

#[tokio::test]
async fn mail_for_an_idle_thread_is_in_the_next_claim() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        assert!(runtime.claim(1).await.is_empty());

        let sent = mail(server, &thread, "one").await;
        assert_eq!(sent.delivery(), v1::MessageDelivery::WakeQueued);
        let turn = runtime.claim_one().await;
        assert_eq!(bodies(&turn.mail), ["one"]);
        assert_eq!(turn.given_through, 1);
        assert_eq!(turn.mail[0].state(), v1::MessageState::Given);
        let finished = runtime.finish(done(&turn)).await;
        assert!(!finished.woken);
        assert!(runtime.claim(1).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn mail_for_an_assigned_turn_is_signalled_and_outlives_its_end() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.claim_one().await;

        let sent = mail(server, &thread, "two").await;
        assert_eq!(sent.delivery(), v1::MessageDelivery::NoticeQueued);
        let told = runtime.beat(&[&turn]).await.remove(0);
        let Some(v1::signal::Kind::Mail(signal)) = &told.signals[0].kind else {
            panic!("no signal of mail: {told:?}");
        };
        assert_eq!(
            (signal.unread_count, signal.messages[0].mail_number),
            (1, 2)
        );

        let finished = runtime.finish(done(&turn)).await;
        assert!(finished.woken);
        let next = runtime.claim_one().await;
        assert_eq!(bodies(&next.mail), ["two"]);
    })
    .await;
}

#[tokio::test]
async fn a_signal_of_mail_is_repeated_until_the_mail_is_read() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        for number in 2..=13 {
            mail(server, &thread, &format!("{number}")).await;
        }
        for _ in 0..2 {
            let told = runtime.beat(&[&turn]).await.remove(0);
            let Some(v1::signal::Kind::Mail(signal)) = &told.signals[0].kind else {
                panic!("no signal of mail: {told:?}");
            };
            let numbers: Vec<u64> = signal.messages.iter().map(|it| it.mail_number).collect();
            assert_eq!(signal.unread_count, 12);
            assert_eq!(numbers, (4..=13).collect::<Vec<u64>>(), "the newest ten");
        }
        assert_eq!(read(server, &turn).await.messages.len(), 12);
        assert!(runtime.beat(&[&turn]).await[0].signals.is_empty());
        assert!(!runtime.finish(done(&turn)).await.woken);
    })
    .await;
}

#[tokio::test]
async fn mail_between_the_last_read_and_the_finish_makes_a_wake() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        mail(server, &thread, "two").await;
        let seen = read(server, &turn).await;
        assert_eq!(
            (bodies(&seen.messages), seen.given_through),
            (vec!["two"], 2)
        );
        mail(server, &thread, "three").await;
        let finished = runtime
            .finish(done_through(&turn, seen.given_through))
            .await;
        assert!(finished.woken);
        assert_eq!(bodies(&runtime.claim_one().await.mail), ["three"]);
    })
    .await;
}

#[tokio::test]
async fn mail_that_the_agent_did_not_receive_is_given_again() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        mail(server, &thread, "two").await;
        let turn = runtime.begin_one().await;
        assert_eq!(turn.given_through, 2);
        let finished = runtime.finish(done_through(&turn, 1)).await;
        assert!(finished.woken, "`two` was never seen");
        let next = runtime.claim_one().await;
        assert_eq!(bodies(&next.mail), ["two"]);
        assert_eq!(get(server, &thread).await.consumed_through, 1);
    })
    .await;
}

#[tokio::test]
async fn a_send_that_races_a_finish_is_given_to_one_turn_or_the_next() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let other = server.second().await;
        mail(server, &thread, "first").await;
        let mut turn = runtime.begin_one().await;
        for round in 0..60 {
            let body = format!("{round}");
            // Every other round through another server, so that only the row lock orders the two.
            let mut sender = if round % 2 == 0 {
                server.mailbox()
            } else {
                other.mailbox()
            };
            let (sent, finished) = tokio::join!(
                sender.send_message(note(&thread, &body)),
                runtime.finish(done(&turn)),
            );
            let delivery = sent.unwrap().into_inner().delivery();
            if finished.woken {
                assert_eq!(delivery, v1::MessageDelivery::NoticeQueued, "sent first");
            } else {
                assert_eq!(delivery, v1::MessageDelivery::WakeQueued, "finished first");
            }
            turn = runtime.begin_one().await;
            assert_eq!(bodies(&turn.mail), [body.as_str()]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_send_that_races_a_read_and_a_finish_is_never_consumed_unseen() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "first").await;
        let mut seen: Vec<String> = Vec::new();
        let mut turn = runtime.begin_one().await;
        for round in 0..40 {
            let mut sender = server.mailbox();
            let (_, last) = tokio::join!(
                async {
                    sender
                        .send_message(note(&thread, &format!("{round}")))
                        .await
                        .unwrap()
                },
                async {
                    let late = read(server, &turn).await;
                    seen.extend(bodies(&turn.mail).into_iter().map(str::to_owned));
                    seen.extend(bodies(&late.messages).into_iter().map(str::to_owned));
                    runtime
                        .finish(done_through(&turn, late.given_through))
                        .await
                },
            );
            if !last.woken && seen.last().map(String::as_str) == Some(&format!("{round}")) {
                mail(server, &thread, "again").await;
            }
            turn = runtime.begin_one().await;
        }
        seen.extend(bodies(&turn.mail).into_iter().map(str::to_owned));
        seen.retain(|body| body != "again" && body != "first");
        assert_eq!(seen, (0..40).map(|it| it.to_string()).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn mail_of_a_turn_whose_runtime_died_is_given_again() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        mail(server, &thread, "two").await;
        read(server, &turn).await;
        mail(server, &thread, "three").await;
        lose(server).await;

        assert!(runtime.claim(1).await.is_empty(), "it pauses for a second");
        pass(server, 1).await;
        let next = runtime.claim_one().await;
        assert_eq!(bodies(&next.mail), ["one", "two", "three"]);
        assert_eq!(next.lost_turns, 1);
    })
    .await;
}

#[tokio::test]
async fn mail_of_a_claim_that_nobody_began_is_given_again_and_no_loss_is_counted() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.claim_one().await;
        pass(server, 9).await;
        assert!(runtime.claim(1).await.is_empty(), "the lease still holds");
        pass(server, 1).await;
        let next = runtime.claim_one().await;
        assert_eq!(bodies(&next.mail), ["one"]);
        assert_eq!((next.lost_turns, next.token), (0, turn.token + 1));
    })
    .await;
}

#[tokio::test]
async fn a_claim_on_another_server_finds_what_a_stopped_one_accepted() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let other = server.second().await;
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        mail(server, &thread, "two").await;
        server.stop_first().await;

        let runtime = runtime.on(&other);
        assert_eq!(runtime.beat(&[&turn]).await[0].signals.len(), 1);
        assert!(runtime.finish(done(&turn)).await.woken);
        assert_eq!(bodies(&runtime.claim_one().await.mail), ["two"]);
    })
    .await;
}

#[tokio::test]
async fn a_waiting_claim_is_woken_by_a_send_on_another_server() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let other = server.second().await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let (claimed, _) = tokio::join!(
            runtime.try_claim(1, Duration::from_secs(60)),
            mail(&other, &thread, "one"),
        );
        let turns = claimed.unwrap().into_inner().turns;
        assert_eq!(bodies(&turns[0].mail), ["one"]);
    })
    .await;
}

#[tokio::test]
async fn without_a_listener_a_waiting_claim_finds_the_wake_by_polling() {
    let deaf = |config: &mut handoffd::server::config::Config| config.database.no_listener = true;
    with_server_of(deaf, async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let other = server.second().await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let (claimed, _) = tokio::join!(
            runtime.try_claim(1, Duration::from_secs(60)),
            mail(&other, &thread, "one"),
        );
        assert_eq!(claimed.unwrap().into_inner().turns.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_interrupted_turn_consumes_what_it_received_and_the_thread_runs_again() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        let finished = runtime
            .finish(ended(&turn, v1::TurnOutcome::Interrupted))
            .await;
        assert!(finished.woken);
        let next = runtime.claim_one().await;
        assert!(next.mail.is_empty());
        assert_eq!(next.lost_turns, 0);
    })
    .await;
}
