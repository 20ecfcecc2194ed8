//! CancelReminder.

use handoffd::proto::v1;
use tonic::Code;

use super::{HOUR, MINUTE, idle_child, pass, reminders};
use crate::handoffs::scene;
use crate::support::{Clients, told, with_server};

fn cancelling(handoff: &v1::Handoff) -> v1::CancelReminderRequest {
    v1::CancelReminderRequest {
        handoff_id: handoff.handoff_id.clone(),
        reason: "it is a long think".to_owned(),
        request_id: None,
    }
}

async fn cancel(clients: &Clients, request: v1::CancelReminderRequest) -> bool {
    let told = clients.operators().cancel_reminder(request).await.unwrap();
    told.into_inner().cancelled
}

/// Case G5: a reminder can be cancelled, and cancelled ones do not come back without end.
#[tokio::test]
async fn a_cancelled_reminder_wakes_nobody_and_counts_all_the_same() {
    with_server(async |server| {
        let (_, worker, handoff) = idle_child(server).await;
        assert!(
            !cancel(server, cancelling(&handoff)).await,
            "none is outstanding"
        );
        pass(server, 30 * MINUTE).await;
        for sent in 1..=3 {
            assert_eq!(reminders(server, &handoff).await, sent);
            assert!(cancel(server, cancelling(&handoff)).await);
            assert!(!cancel(server, cancelling(&handoff)).await, "it is gone");
            assert!(
                worker.claim().await.is_empty(),
                "nothing is left to wake for"
            );
            pass(server, 59 * MINUTE).await;
            assert_eq!(
                reminders(server, &handoff).await,
                sent,
                "one an hour at most"
            );
            pass(server, 2 * MINUTE).await;
        }
        for _ in 0..6 {
            pass(server, 4 * HOUR).await;
        }
        assert_eq!(reminders(server, &handoff).await, 3);
        let entries = scene::timeline(server, &handoff.handoff_id).await;
        let cancelled: Vec<&v1::TimelineEntry> = entries
            .iter()
            .filter(|it| it.reason() == v1::TimelineReason::ReminderCancelled)
            .collect();
        assert_eq!(cancelled.len(), 3);
        for entry in cancelled {
            let actor = entry.actor.clone().unwrap();
            assert_eq!(actor.kind(), v1::TimelineActorKind::Operator);
            assert!(entry.text.contains("a long think"), "{}", entry.text);
        }
        let status = scene::status(server, &handoff.handoff_id).await;
        assert!(status.abandon_time.is_some(), "it is abandoned in the end");
    })
    .await;
}

#[tokio::test]
async fn what_wakes_besides_the_reminder_goes_on_waking() {
    with_server(async |server| {
        let (_, worker, handoff) = idle_child(server).await;
        pass(server, 30 * MINUTE).await;
        let note = v1::SendMessageRequest {
            to_thread_id: handoff.thread_id.clone(),
            body: "how is it going?".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        scene::send(server, note).await;
        assert!(cancel(server, cancelling(&handoff)).await);
        let turns = worker.claim().await;
        let [turn] = turns.as_slice() else {
            panic!("{turns:?}");
        };
        let mail: Vec<v1::MessageKind> = turn.mail.iter().map(v1::Message::kind).collect();
        assert_eq!(mail, [v1::MessageKind::Note]);
    })
    .await;
}

#[tokio::test]
async fn a_reminder_that_a_turn_was_given_is_not_taken_back() {
    with_server(async |server| {
        let (_, worker, handoff) = idle_child(server).await;
        pass(server, 30 * MINUTE).await;
        let turn = worker.begin().await;
        assert!(!cancel(server, cancelling(&handoff)).await);
        worker.finish(scene::done(&turn, v1::TurnNext::Wait)).await;
        assert!(!cancel(server, cancelling(&handoff)).await);
        scene::cancel(server, scene::cancelling(&handoff.handoff_id)).await;
        assert!(!cancel(server, cancelling(&handoff)).await, "it ended");
    })
    .await;
}

#[tokio::test]
async fn a_cancel_is_repeated_by_its_request_id() {
    with_server(async |server| {
        let (_, _, handoff) = idle_child(server).await;
        pass(server, 30 * MINUTE).await;
        let request = v1::CancelReminderRequest {
            request_id: Some("one".to_owned()),
            ..cancelling(&handoff)
        };
        assert!(cancel(server, request.clone()).await);
        assert!(cancel(server, request.clone()).await);
        let other = v1::CancelReminderRequest {
            reason: "another".to_owned(),
            ..request
        };
        let other = told(server.operators().cancel_reminder(other).await);
        assert_eq!(other.what(), (Code::AlreadyExists, "IDEMPOTENCY_CONFLICT"));
    })
    .await;
}
