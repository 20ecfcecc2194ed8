use handoffd::proto::v1;

use super::{DAY, HOUR, MINUTE, idle_child, pass, reminders};
use crate::handoffs::scene::{self, Worker};
use crate::support::with_server;
use crate::turns::stage::lose;

/// Reads the reminder that woke the worker, and waits again.
async fn hear(worker: &Worker) -> Vec<v1::Message> {
    let turns = worker.claim().await;
    let [turn] = turns.as_slice() else {
        panic!("{} turns were due", turns.len());
    };
    let name = scene::reference(turn);
    worker.beat(&name, None).await;
    worker.finish(scene::done(&name, v1::TurnNext::Wait)).await;
    turn.mail.clone()
}

/// Case G7 as far as it is built: the reminder is mail, and says what is owed.
#[tokio::test]
async fn a_quiet_child_is_reminded_after_half_an_hour_and_three_times_in_its_life() {
    with_server(async |server| {
        let (_, worker, handoff) = idle_child(server).await;
        pass(server, 29 * MINUTE).await;
        assert_eq!(reminders(server, &handoff).await, 0);
        pass(server, MINUTE).await;
        assert_eq!(reminders(server, &handoff).await, 1);

        let mail = hear(&worker).await;
        assert_eq!(mail.len(), 1);
        assert_eq!(mail[0].kind(), v1::MessageKind::Reminder);
        assert!(mail[0].body.contains("REPORT"), "{}", mail[0].body);

        pass(server, 35 * MINUTE).await;
        assert_eq!(reminders(server, &handoff).await, 1, "one an hour at most");
        pass(server, 30 * MINUTE).await;
        assert_eq!(reminders(server, &handoff).await, 2);
        hear(&worker).await;
        pass(server, HOUR + MINUTE).await;
        assert_eq!(reminders(server, &handoff).await, 3);
        hear(&worker).await;
        for _ in 0..6 {
            pass(server, 4 * HOUR).await;
        }
        assert_eq!(
            reminders(server, &handoff).await,
            3,
            "three in its whole life"
        );
        assert!(worker.claim().await.is_empty());
    })
    .await;
}

/// What was given to a turn comes back when that turn is lost, but for a reminder that nothing is owed
/// for any more: it would wake the child for nothing.
#[tokio::test]
async fn a_reminder_of_work_that_ended_does_not_come_back_with_a_lost_turn() {
    with_server(async |server| {
        let (parent, worker, handoff) = idle_child(server).await;
        pass(server, 30 * MINUTE).await;
        let turn = worker.begin().await;
        let report = v1::SendMessageRequest {
            turn: Some(turn.clone()),
            ..scene::reporting(&handoff, "done")
        };
        scene::send(server, report).await;
        lose(server).await;

        assert!(worker.claim().await.is_empty(), "nothing is to be done");
        let request = v1::ListMailRequest {
            thread_id: handoff.thread_id.clone(),
            ..v1::ListMailRequest::default()
        };
        let listed = server.mailbox().list_mail(request).await.unwrap();
        let mail = listed.into_inner().messages;
        assert_eq!(mail.len(), 1);
        assert_eq!(mail[0].state(), v1::MessageState::Consumed);
        assert_eq!(reminders(server, &handoff).await, 1);
        assert_eq!(scene::mail(server, &parent).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn one_reminder_is_outstanding_at_most() {
    with_server(async |server| {
        let (_, _, handoff) = idle_child(server).await;
        for _ in 0..10 {
            pass(server, HOUR).await;
        }
        assert_eq!(reminders(server, &handoff).await, 1);
    })
    .await;
}

/// Case G3.
#[tokio::test]
async fn activity_resets_the_quiet_time_and_mail_does_not() {
    with_server(async |server| {
        let (_, worker, handoff) = idle_child(server).await;
        pass(server, 25 * MINUTE).await;
        let note = v1::SendMessageRequest {
            to_thread_id: handoff.thread_id.clone(),
            kind: v1::MessageKind::Note as i32,
            body: "how is it going?".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        scene::send(server, note).await;
        hear(&worker).await;
        pass(server, 25 * MINUTE).await;
        assert_eq!(
            reminders(server, &handoff).await,
            0,
            "its turn was activity"
        );
        pass(server, 6 * MINUTE).await;
        assert_eq!(reminders(server, &handoff).await, 1);
    })
    .await;
}

/// Case G1.
#[tokio::test]
async fn nobody_is_reminded_who_waits_ended_or_cannot_act() {
    with_server(async |server| {
        let parent = scene::boss(server).await;
        // Waits for a runtime: a wake stands.
        let waiting = scene::hand_off(server, scene::asking(&parent)).await;
        for _ in 0..3 {
            pass(server, HOUR).await;
        }
        assert_eq!(reminders(server, &waiting).await, 0);
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        // Waits for work of its own.
        let child = v1::CreateHandoffRequest {
            parent_thread_id: String::new(),
            turn: Some(turn.clone()),
            target_agent: "boss".to_owned(),
            ..scene::asking("")
        };
        let child = scene::hand_off(server, child).await;
        worker.finish(scene::done(&turn, v1::TurnNext::Wait)).await;
        for _ in 0..3 {
            pass(server, HOUR).await;
        }
        assert_eq!(reminders(server, &waiting).await, 0);
        // Cancelled without a word to the thread that waited: quiet from here on, and turned off.
        scene::cancel(server, scene::cancelling(&child.handoff_id)).await;
        scene::set_state(server, "worker", v1::AgentState::Deactivated).await;
        for _ in 0..3 {
            pass(server, HOUR).await;
        }
        assert_eq!(reminders(server, &waiting).await, 0);
        scene::set_state(server, "worker", v1::AgentState::Active).await;
        pass(server, HOUR).await;
        assert_eq!(reminders(server, &waiting).await, 1);
        // Withdrawn, uncounted, with its cause.
        scene::cancel(server, scene::cancelling(&waiting.handoff_id)).await;
        assert_eq!(reminders(server, &waiting).await, 0);
        assert!(worker.claim().await.is_empty(), "its wake went with it");
        pass(server, DAY).await;
        assert_eq!(reminders(server, &waiting).await, 0);
    })
    .await;
}
