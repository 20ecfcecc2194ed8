//! Reading: outside turns, in turns, and merely looking.

use handoffd::proto::v1::{AckMailRequest, MessageKind, MessageState, ReadMailRequest, TurnRef};
use tonic::Code;

use super::scene::{begin_turn, bodies, note, peek, pull, read, read_with, reading, runtime, send};
use crate::support::{Clients, told, with_server};

async fn three(clients: &Clients, from: &str, to: &str) {
    for body in ["one", "two", "three"] {
        send(clients, note(from, to, body)).await;
    }
}

fn in_turn(turn: &TurnRef, received_through: Option<u64>) -> ReadMailRequest {
    ReadMailRequest {
        turn: Some(turn.clone()),
        received_through,
        ..ReadMailRequest::default()
    }
}

#[tokio::test]
async fn a_read_outside_turns_consumes_once() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        three(server, &boss, &script).await;
        let first = ReadMailRequest {
            max_messages: Some(2),
            ..reading(&script)
        };
        let first = read_with(server, first).await;
        assert_eq!(bodies(&first.messages), ["one", "two"]);
        assert_eq!((first.given_through, first.has_more), (2, true));
        assert!(
            first
                .messages
                .iter()
                .all(|it| it.state() == MessageState::Consumed)
        );
        let rest = read(server, &script).await;
        assert_eq!(bodies(&rest.messages), ["three"]);
        assert_eq!((rest.given_through, rest.has_more), (3, false));
        let none = read(server, &script).await;
        assert_eq!((none.messages.len(), none.given_through), (0, 3));
    })
    .await;
}

/// Readers that race on two servers share the mail, each message to one of them.
#[tokio::test]
async fn a_message_is_consumed_by_one_of_many_readers() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let second = server.second().await;
        let both: [&Clients; 2] = [server, &second];
        three(server, &boss, &script).await;
        let all = (0..8).map(|n: usize| {
            let request = ReadMailRequest {
                max_messages: Some(1),
                ..reading(&script)
            };
            read_with(both[n % 2], request)
        });
        let answers = futures_util::future::join_all(all).await;
        let mut seen: Vec<u64> = answers
            .iter()
            .flat_map(|it| it.messages.iter().map(|it| it.mail_number))
            .collect();
        seen.extend(
            read(server, &script)
                .await
                .messages
                .iter()
                .map(|it| it.mail_number),
        );
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3]);
    })
    .await;
}

#[tokio::test]
async fn a_peek_changes_nothing_and_pages_by_its_cursor() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        three(server, &boss, &script).await;
        let page = |above| ReadMailRequest {
            peek: true,
            max_messages: Some(2),
            received_through: above,
            ..reading(&script)
        };
        for _ in 0..2 {
            let first = read_with(server, page(None)).await;
            assert_eq!(bodies(&first.messages), ["one", "two"]);
            assert_eq!((first.given_through, first.has_more), (2, true));
            assert_eq!(first.messages[0].state(), MessageState::Unread);
            let second = read_with(server, page(Some(first.given_through))).await;
            assert_eq!(bodies(&second.messages), ["three"]);
            assert_eq!((second.given_through, second.has_more), (3, false));
        }
        for beyond in [4, u64::MAX] {
            let nothing = read_with(server, page(Some(beyond))).await;
            assert_eq!((nothing.messages.len(), nothing.has_more), (0, false));
        }
        let of_kind = ReadMailRequest {
            kinds: vec![MessageKind::Report as i32],
            ..page(None)
        };
        assert_eq!(read_with(server, of_kind).await.messages, []);
        assert_eq!(read(server, &script).await.messages.len(), 3);
    })
    .await;
}

/// Promise 1: a turn is handed again what it may not have received, and nothing is consumed before it
/// says so.
#[tokio::test]
async fn a_turn_gets_again_what_it_did_not_receive() {
    with_server(async |server| {
        let (boss, worker) = (pull(server, "boss").await, runtime(server, "worker").await);
        let turn = begin_turn(server, &worker).await;
        three(server, &boss, &worker).await;
        let first = read_with(server, in_turn(&turn, Some(0))).await;
        assert_eq!(bodies(&first.messages), ["one", "two", "three"]);
        assert_eq!(first.signals, []);
        // Its answer was lost but for the first message.
        let again = read_with(server, in_turn(&turn, Some(1))).await;
        assert_eq!(bodies(&again.messages), ["two", "three"]);
        assert!(
            again
                .messages
                .iter()
                .all(|it| it.state() == MessageState::Given)
        );
        assert_eq!(read_with(server, in_turn(&turn, None)).await.messages, []);
        send(server, note(&boss, &worker, "four")).await;
        let new = read_with(server, in_turn(&turn, None)).await;
        assert_eq!(bodies(&new.messages), ["four"]);

        let beyond = told(server.mailbox().read_mail(in_turn(&turn, Some(5))).await);
        assert_eq!(beyond.what(), (Code::InvalidArgument, "MAIL_NOT_GIVEN"));
        // The history tells each message once.
        let told: i64 =
            sqlx::query_scalar("SELECT count(*) FROM thread_events WHERE kind = 'mail'")
                .fetch_one(&server.pool)
                .await
                .unwrap();
        assert_eq!(told, 2);
    })
    .await;
}

#[tokio::test]
async fn while_a_turn_lives_others_only_peek() {
    with_server(async |server| {
        let (boss, worker) = (pull(server, "boss").await, runtime(server, "worker").await);
        let turn = begin_turn(server, &worker).await;
        three(server, &boss, &worker).await;
        let refused = told(server.mailbox().read_mail(reading(&worker)).await);
        assert_eq!(refused.reason, "THREAD_HAS_LIVE_TURN");
        let ack = AckMailRequest {
            thread_id: worker.clone(),
            received_through: Some(1),
            ..AckMailRequest::default()
        };
        let refused = told(server.mailbox().ack_mail(ack).await);
        assert_eq!(refused.reason, "THREAD_HAS_LIVE_TURN");
        assert_eq!(peek(server, &worker).await.messages.len(), 3);
        // The turn itself may look beyond what it was given.
        let look = ReadMailRequest {
            peek: true,
            max_messages: Some(1),
            received_through: Some(2),
            turn: Some(turn.clone()),
            ..ReadMailRequest::default()
        };
        let looked = read_with(server, look).await;
        assert_eq!(bodies(&looked.messages), ["three"]);
        assert_eq!(looked.signals.len(), 1, "mail it was not given is told");
    })
    .await;
}

/// A token that is not the turn's changes nothing, nor does a turn of another thread.
#[tokio::test]
async fn a_stale_token_reads_nothing() {
    with_server(async |server| {
        let (boss, worker) = (pull(server, "boss").await, runtime(server, "worker").await);
        let turn = begin_turn(server, &worker).await;
        three(server, &boss, &worker).await;
        let stale = TurnRef {
            token: turn.token + 1,
            ..turn.clone()
        };
        let refused = told(server.mailbox().read_mail(in_turn(&stale, None)).await);
        assert_eq!(refused.what(), (Code::Aborted, "STALE_TOKEN"));
        let other = ReadMailRequest {
            thread_id: boss.clone(),
            ..in_turn(&turn, None)
        };
        let refused = told(server.mailbox().read_mail(other).await);
        assert_eq!(refused.reason, "TURN_OF_OTHER_THREAD");
        let unknown = TurnRef {
            turn_id: "trn_00000000000070008000000000000000".to_owned(),
            token: 1,
        };
        let refused = told(server.mailbox().read_mail(in_turn(&unknown, None)).await);
        assert_eq!(refused.what(), (Code::NotFound, "TURN_NOT_FOUND"));
    })
    .await;
}

#[tokio::test]
async fn a_read_that_makes_no_sense_is_told_all_that_is_wrong() {
    with_server(async |server| {
        let request = ReadMailRequest {
            received_through: Some(3),
            max_messages: Some(501),
            kinds: vec![0],
            wait: Some(prost_types::Duration {
                seconds: 301,
                nanos: 0,
            }),
            ..ReadMailRequest::default()
        };
        let refused = told(server.mailbox().read_mail(request).await);
        let fields = [
            "max_messages",
            "kinds[0]",
            "thread_id",
            "received_through",
            "kinds",
            "wait",
        ];
        assert_eq!(refused.fields, fields);
        let peek = ReadMailRequest {
            peek: true,
            request_id: Some("r".to_owned()),
            wait: Some(prost_types::Duration {
                seconds: -1,
                nanos: 0,
            }),
            ..reading("thr_00000000000070008000000000000000")
        };
        let refused = told(server.mailbox().read_mail(peek).await);
        assert_eq!(refused.fields, ["request_id", "wait"]);
    })
    .await;
}
