//! Leases: what a lost turn costs, and when too many losses end the work.

use handoffd::proto::v1;
use handoffd::workers::JobName;

use crate::support::with_server;

use super::stage::{
    Runtime, agent, bodies, done, get, hand_off, lose, mail, pass, read, results, thread,
};

#[tokio::test]
async fn lost_turns_pause_longer_each_time_and_the_third_ends_the_work() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        agent(server, "a", None).await;
        let parent = thread(server, "boss").await;
        let work = hand_off(server, &parent, "a", v1::OnTurnLost::Retry).await;
        mail(server, &work.thread_id, "a poisonous note").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        for (loss, pause) in [(1, 1), (2, 5)] {
            let turn = runtime.begin_one().await;
            assert_eq!(turn.lost_turns, loss - 1);
            assert_eq!(bodies(&turn.mail), ["a poisonous note"]);
            lose(server).await;
            if pause > 1 {
                pass(server, pause - 1).await;
            }
            assert!(
                runtime.claim(1).await.is_empty(),
                "it pauses after loss {loss}"
            );
            pass(server, 1).await;
        }
        let turn = runtime.begin_one().await;
        mail(server, &work.thread_id, "a harmless note").await;
        read(server, &turn).await;
        lose(server).await;

        let results = results(server, &work).await;
        let handoff = results.handoff.unwrap();
        assert_eq!(handoff.status(), v1::HandoffStatus::Error);
        assert_eq!(
            handoff.error.unwrap().cause(),
            v1::HandoffErrorCause::TurnsLost
        );
        let boss = Runtime::register(server, "b", &["boss"]).await;
        assert_eq!(
            boss.claim_one().await.mail[0].kind(),
            v1::MessageKind::Notice
        );

        // Set aside is what every lost turn was given; the thread goes on with the rest.
        let turn = runtime.claim_one().await;
        assert_eq!(bodies(&turn.mail), ["a harmless note"]);
        assert_eq!((turn.lost_turns, turn.handoff_id.as_str()), (0, ""));
        let request = v1::ListMailRequest {
            thread_id: work.thread_id.clone(),
            ..v1::ListMailRequest::default()
        };
        let listed = server.mailbox().list_mail(request).await.unwrap();
        let states: Vec<_> = listed
            .into_inner()
            .messages
            .iter()
            .map(|it| it.state())
            .collect();
        assert_eq!(
            states,
            [v1::MessageState::SetAside, v1::MessageState::Given]
        );
    })
    .await;
}

#[tokio::test]
async fn work_that_must_not_be_repeated_ends_with_the_first_loss() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let work = hand_off(server, "", "a", v1::OnTurnLost::Fail).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        runtime.claim_one().await;
        pass(server, 10).await;
        let turn = runtime.begin_one().await;
        assert_eq!(turn.lost_turns, 0, "a claim that nobody began is no loss");
        lose(server).await;
        let handoff = results(server, &work).await.handoff.unwrap();
        assert_eq!(handoff.status(), v1::HandoffStatus::Error);
        pass(server, 60).await;
        assert!(runtime.claim(1).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_finished_turn_ends_the_row_of_losses() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let work = hand_off(server, "", "a", v1::OnTurnLost::Retry).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        for _ in 0..2 {
            runtime.begin_one().await;
            lose(server).await;
            pass(server, 5).await;
        }
        let turn = runtime.begin_one().await;
        assert_eq!(turn.lost_turns, 2);
        let again = v1::FinishTurnRequest {
            next: v1::TurnNext::Continue as i32,
            ..done(&turn)
        };
        runtime.finish(again).await;
        runtime.begin_one().await;
        lose(server).await;
        let handoff = results(server, &work).await.handoff.unwrap();
        assert_eq!(handoff.status(), v1::HandoffStatus::Running);
    })
    .await;
}

#[tokio::test]
async fn mail_that_was_acknowledged_between_losses_is_not_given_again() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        runtime.begin_one().await;
        lose(server).await;
        pass(server, 1).await;
        for number in 2..=3 {
            mail(server, &thread, &format!("{number}")).await;
        }
        let turn = runtime.begin_one().await;
        let ack = v1::AckMailRequest {
            turn: Some(super::stage::turn_ref(&turn)),
            received_through: Some(2),
            ..v1::AckMailRequest::default()
        };
        server.mailbox().ack_mail(ack).await.unwrap();
        lose(server).await;
        pass(server, 5).await;
        runtime.begin_one().await;
        lose(server).await;
        // The third loss sets aside what all three were given: of that nothing is left.
        assert_eq!(get(server, &thread).await.consumed_through, 2);
        pass(server, 25).await;
        assert_eq!(bodies(&runtime.claim_one().await.mail), ["3"]);
    })
    .await;
}

#[tokio::test]
async fn a_lost_turn_runs_again_even_when_its_mail_was_taken_by_somebody_else() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        runtime.begin_one().await;
        lose(server).await;
        let ack = v1::AckMailRequest {
            thread_id: thread.clone(),
            received_through: Some(1),
            ..v1::AckMailRequest::default()
        };
        server.mailbox().ack_mail(ack).await.unwrap();
        pass(server, 1).await;
        let turn = runtime.claim_one().await;
        assert!(turn.mail.is_empty());
        assert_eq!(turn.lost_turns, 1);
    })
    .await;
}

#[tokio::test]
async fn a_pass_that_comes_early_closes_nothing() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        pass(server, 59).await;
        runtime.beat(&[&turn]).await;
        pass(server, 59).await;
        server.sweep(JobName::ExpireLeases).await;
        assert_eq!(
            runtime.beat(&[&turn]).await[0].state(),
            v1::TurnLeaseState::Renewed
        );
    })
    .await;
}
