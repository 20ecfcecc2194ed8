//! Promise 5 for mail: a request id makes a call safe to repeat.

use handoffd::proto::v1::{ReadMailRequest, SendMessageRequest};
use tonic::Code;

use super::scene::{bodies, note, pull, read, read_with, reading, send, wait_for};
use crate::support::{Clients, told, with_server};

fn once(request: SendMessageRequest, id: &str) -> SendMessageRequest {
    SendMessageRequest {
        request_id: Some(id.to_owned()),
        ..request
    }
}

#[tokio::test]
async fn the_same_request_id_sends_one_message() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let request = once(note(&boss, &script, "hello"), "r1");
        let first = send(server, request.clone()).await;
        let other = server.second().await;
        let second = send(&other, request).await;
        assert!(!first.deduplicated && second.deduplicated);
        assert_eq!(first.message_id, second.message_id);
        assert_eq!(first.delivery, second.delivery);
        assert_eq!(bodies(&read(server, &script).await.messages), ["hello"]);
    })
    .await;
}

/// Case F5: a repeat that arrives while the first is in flight joins it, in one batch or on another
/// server.
#[tokio::test]
async fn callers_that_race_with_one_request_id_send_one_message() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let second = server.second().await;
        let both: [&Clients; 2] = [server, &second];
        for round in 0..10 {
            let request = once(note(&boss, &script, "hello"), &format!("round {round}"));
            let all = (0..8).map(|n: usize| send(both[n % 2], request.clone()));
            let answers = futures_util::future::join_all(all).await;
            let firsts = answers.iter().filter(|it| !it.deduplicated).count();
            assert_eq!(firsts, 1);
            let id = &answers[0].message_id;
            assert!(answers.iter().all(|it| it.message_id == *id));
            assert_eq!(read(server, &script).await.messages.len(), 1);
        }
    })
    .await;
}

/// Cases F1 and F3: another payload under the same id is refused and learns nothing of the first.
#[tokio::test]
async fn a_request_id_with_another_payload_is_refused_without_an_echo() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        send(server, once(note(&boss, &script, "the secret"), "r1")).await;
        let others = [
            once(note(&boss, &script, "another"), "r1"),
            once(note(&script, &boss, "the secret"), "r1"),
        ];
        for request in others {
            let refused = told(server.mailbox().send_message(request).await);
            let what = (Code::AlreadyExists, "IDEMPOTENCY_CONFLICT");
            assert_eq!(refused.what(), what);
            assert!(!format!("{refused:?}").contains("the secret"));
        }
        let other_method = ReadMailRequest {
            request_id: Some("r1".to_owned()),
            ..reading(&script)
        };
        let refused = told(server.mailbox().read_mail(other_method).await);
        assert_eq!(refused.reason, "IDEMPOTENCY_CONFLICT");
        assert_eq!(
            bodies(&read(server, &script).await.messages),
            ["the secret"]
        );
    })
    .await;
}

/// Ids are compared byte for byte, and live in their namespace.
#[tokio::test]
async fn request_ids_of_others_are_other_ids() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let other = server.in_namespace("other");
        let (theirs, script2) = (pull(&other, "boss").await, pull(&other, "script").await);
        for id in ["r1", "R1", "r1 ", "ŕ1"] {
            assert!(
                !send(server, once(note(&boss, &script, id), id))
                    .await
                    .deduplicated
            );
        }
        assert!(
            !send(&other, once(note(&theirs, &script2, "r1"), "r1"))
                .await
                .deduplicated
        );
    })
    .await;
}

/// A refused call binds nothing: it is judged afresh.
#[tokio::test]
async fn a_refused_call_binds_no_request_id() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let wrong = SendMessageRequest {
            to_agent_id: "boss".to_owned(),
            ..once(note(&boss, &script, "hello"), "r1")
        };
        told(server.mailbox().send_message(wrong).await);
        assert!(
            !send(server, once(note(&boss, &script, "hello"), "r1"))
                .await
                .deduplicated
        );
    })
    .await;
}

/// What a lost answer consumed is answered again.
#[tokio::test]
async fn a_read_with_a_request_id_can_be_repeated() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let request = ReadMailRequest {
            request_id: Some("read 1".to_owned()),
            ..reading(&script)
        };
        // Nothing was handed over, so nothing is bound.
        assert_eq!(read_with(server, request.clone()).await.messages, []);
        send(server, note(&boss, &script, "hello")).await;
        let first = read_with(server, request.clone()).await;
        send(server, note(&boss, &script, "later")).await;
        let again = read_with(server, request.clone()).await;
        assert_eq!(bodies(&again.messages), ["hello"]);
        assert!(!first.deduplicated && again.deduplicated);
        assert_eq!(bodies(&read(server, &script).await.messages), ["later"]);
        // Also when the mailbox is empty by then.
        assert_eq!(
            bodies(&read_with(server, request).await.messages),
            ["hello"]
        );
    })
    .await;
}

/// A wait looks many times under its one request id, and binds what it hands over.
#[tokio::test]
async fn a_waiting_read_with_a_request_id_gets_mail_once() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let request = ReadMailRequest {
            request_id: Some("read 1".to_owned()),
            ..wait_for(&script, 120)
        };
        let waiting = read_with(server, request.clone());
        let sending = send(server, note(&boss, &script, "hello"));
        let (first, _) = tokio::join!(waiting, sending);
        assert_eq!(bodies(&first.messages), ["hello"]);
        assert_eq!(read(server, &script).await.messages, []);
        let again = read_with(server, request).await;
        assert_eq!(
            (bodies(&again.messages), again.deduplicated),
            (vec!["hello"], true)
        );
    })
    .await;
}
