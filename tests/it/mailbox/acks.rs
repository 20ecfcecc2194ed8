//! Acknowledging mail.

use handoffd::proto::v1::{AckMailRequest, AckMailResponse, MessageState, ReadMailRequest};
use tonic::Code;

use super::scene::{begin_turn, note, peek, pull, read, read_with, runtime, send};
use crate::support::{Clients, told, with_server};

fn through(thread: &str, number: u64) -> AckMailRequest {
    AckMailRequest {
        thread_id: thread.to_owned(),
        received_through: Some(number),
        ..AckMailRequest::default()
    }
}

async fn ack(clients: &Clients, request: AckMailRequest) -> AckMailResponse {
    clients
        .mailbox()
        .ack_mail(request)
        .await
        .unwrap()
        .into_inner()
}

/// Cases B7 and B11: a repeated acknowledgement is fine and changes nothing more, and it counts down
/// exactly its own mailbox.
#[tokio::test]
async fn acknowledging_twice_is_acknowledging_once() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        for body in ["one", "two", "three"] {
            send(server, note(&boss, &script, body)).await;
            send(server, note(&script, &boss, body)).await;
        }
        for _ in 0..2 {
            let acked = ack(server, through(&script, 2)).await;
            assert_eq!((acked.consumed_through, acked.unread_count), (2, 1));
        }
        let lower = ack(server, through(&script, 1)).await;
        assert_eq!((lower.consumed_through, lower.unread_count), (2, 1));
        assert_eq!(peek(server, &script).await.messages.len(), 1);
        assert_eq!(peek(server, &boss).await.messages.len(), 3);
        assert_eq!(read(server, &script).await.messages.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_was_not_given_cannot_be_acknowledged() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        send(server, note(&boss, &script, "one")).await;
        let refused = told(server.mailbox().ack_mail(through(&script, 2)).await);
        assert_eq!(refused.what(), (Code::InvalidArgument, "MAIL_NOT_GIVEN"));

        let worker = runtime(server, "worker").await;
        send(server, note(&boss, &worker, "one")).await;
        let turn = begin_turn(server, &worker).await;
        let of_turn = |number| AckMailRequest {
            turn: Some(turn.clone()),
            ..through("", number)
        };
        let refused = told(server.mailbox().ack_mail(of_turn(1)).await);
        assert_eq!(refused.reason, "MAIL_NOT_GIVEN");
        let request = ReadMailRequest {
            turn: Some(turn.clone()),
            ..ReadMailRequest::default()
        };
        read_with(server, request).await;
        send(server, note(&boss, &worker, "two")).await;
        let acked = ack(server, of_turn(1)).await;
        assert_eq!((acked.consumed_through, acked.unread_count), (1, 1));
        assert_eq!(acked.signals.len(), 1, "the second is told");
        let left = peek(server, &worker).await.messages;
        assert_eq!((left.len(), left[0].state()), (1, MessageState::Unread));
    })
    .await;
}

#[tokio::test]
async fn an_empty_acknowledgement_is_refused() {
    with_server(async |server| {
        let nothing = AckMailRequest::default();
        let refused = told(server.mailbox().ack_mail(nothing).await);
        assert_eq!(refused.fields, ["received_through", "thread_id"]);
    })
    .await;
}

/// What an operator consumes of an idle thread wakes it no more.
#[tokio::test]
async fn acknowledging_the_last_mail_withdraws_the_wake() {
    with_server(async |server| {
        let (boss, worker) = (pull(server, "boss").await, runtime(server, "worker").await);
        send(server, note(&boss, &worker, "one")).await;
        send(server, note(&boss, &worker, "two")).await;
        ack(server, through(&worker, 1)).await;
        assert_eq!(super::scene::wakes(server).await, 1);
        ack(server, through(&worker, 2)).await;
        assert_eq!(super::scene::wakes(server).await, 0);
    })
    .await;
}
