//! How much mail, and how fast.

use std::time::Duration;

use handoffd::proto::v1::{MessageDelivery, SendMessageRequest, ThreadDrive};
use sqlx::PgPool;
use tonic::Code;
use tonic_types::StatusExt;

use super::scene::{begin_turn, note, pull, raw, read, runtime, send, thread};
use crate::support::{Clients, told, with_server};

/// The last two of the twelve places are kept for reports.
const NOTES: usize = 10;

async fn fill(clients: &Clients, from: &str, to: &str) {
    for n in 0..NOTES {
        send(clients, note(from, to, &n.to_string())).await;
    }
}

#[tokio::test]
async fn a_pair_may_send_so_much_in_a_rolling_window() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        send(server, note(&boss, &script, "first")).await;
        server.clock.advance(Duration::from_secs(100)).await;
        for n in 1..NOTES {
            send(server, note(&boss, &script, &n.to_string())).await;
        }
        let status = server
            .mailbox()
            .send_message(note(&boss, &script, "too much"))
            .await;
        let details = status.as_ref().unwrap_err().get_error_details();
        let retry = details.retry_info().unwrap().retry_delay.unwrap();
        assert_eq!(retry, Duration::from_secs(200));
        assert!(details.quota_failure().is_some());
        let refused = told(status);
        assert_eq!(refused.what(), (Code::ResourceExhausted, "PAIR_LIMIT"));
        assert!(!refused.message.contains("too much"));

        // The other direction and other senders have windows of their own.
        send(server, note(&script, &boss, "back")).await;
        let other = thread(server, "boss", ThreadDrive::Pull).await;
        send(server, note(&other, &script, "me too")).await;
        let operators = SendMessageRequest {
            from_thread_id: String::new(),
            ..note(&boss, &script, "from above")
        };
        send(server, operators).await;

        // Refused calls did not count: as the first rolls out, one place is free, not more.
        server.clock.advance(retry).await;
        send(server, note(&boss, &script, "second wind")).await;
        let refused = told(
            server
                .mailbox()
                .send_message(note(&boss, &script, "again"))
                .await,
        );
        assert_eq!(refused.reason, "PAIR_LIMIT");
        assert_eq!(read(server, &script).await.messages.len(), NOTES + 3);
    })
    .await;
}

#[tokio::test]
async fn a_window_holds_until_its_last_microsecond() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        fill(server, &boss, &script).await;
        let almost = Duration::from_mins(5) - Duration::from_micros(1);
        server.clock.advance(almost).await;
        let refused = told(
            server
                .mailbox()
                .send_message(note(&boss, &script, "x"))
                .await,
        );
        assert_eq!(refused.reason, "PAIR_LIMIT");
        server.clock.advance(Duration::from_micros(1)).await;
        fill(server, &boss, &script).await;
    })
    .await;
}

#[tokio::test]
async fn a_repeated_call_takes_no_place_in_the_window() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let once = SendMessageRequest {
            request_id: Some("once".to_owned()),
            ..note(&boss, &script, "once")
        };
        for _ in 0..5 {
            send(server, once.clone()).await;
        }
        for n in 1..NOTES {
            send(server, note(&boss, &script, &n.to_string())).await;
        }
        // A repeat is answered also where a new message would be refused.
        assert!(send(server, once).await.deduplicated);
        let refused = told(
            server
                .mailbox()
                .send_message(note(&boss, &script, "x"))
                .await,
        );
        assert_eq!(refused.reason, "PAIR_LIMIT");
    })
    .await;
}

/// Sends that arrive together are counted one by one.
#[tokio::test]
async fn a_batch_of_sends_does_not_pass_the_limit() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let second = server.second().await;
        let both: [&Clients; 2] = [server, &second];
        let all = (0..40).map(async |n: usize| {
            let request = note(&boss, &script, &n.to_string());
            both[n % 2].mailbox().send_message(request).await
        });
        let answers = futures_util::future::join_all(all).await;
        let accepted = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(accepted, NOTES);
        assert_eq!(read(server, &script).await.messages.len(), NOTES);
    })
    .await;
}

#[tokio::test]
async fn past_the_undelivered_limit_mail_waits_and_nothing_is_refused() {
    with_server(async |server| {
        let worker = runtime(server, "worker").await;
        let senders = [
            pull(server, "boss").await,
            thread(server, "boss", ThreadDrive::Pull).await,
            thread(server, "boss", ThreadDrive::Pull).await,
            thread(server, "boss", ThreadDrive::Pull).await,
        ];
        for (at, from) in (0..34).zip(senders.iter().cycle()) {
            let sent = send(server, note(from, &worker, &at.to_string())).await;
            let expected = if at < 32 {
                MessageDelivery::WakeQueued
            } else {
                MessageDelivery::Waiting
            };
            assert_eq!(sent.delivery(), expected, "message {at}");
        }
        // So it is while a turn lives that has not read.
        begin_turn(server, &worker).await;
        let sent = send(server, note(&senders[0], &worker, "more")).await;
        assert_eq!(sent.delivery(), MessageDelivery::Waiting);
    })
    .await;
}

/// Mail of nobody, which wakes nobody, in the mailbox of a thread.
pub(crate) async fn seed_mail(pool: &PgPool, to: &str, count: i64) {
    let seed = "
        WITH head AS (
            UPDATE thread_heads SET mail_number = mail_number + $2 WHERE thread_id = $1
            RETURNING namespace, thread_id, mail_number)
        INSERT INTO messages (namespace, to_thread_id, mail_number, message_id, kind, subject, body,
            artifacts, quiet, wakes, rated, late, create_time)
        SELECT namespace, thread_id, n, gen_random_uuid(), 'note', '', 'seeded', '{}', false, false,
            false, false, handoffd_now()
        FROM head, generate_series(mail_number - $2 + 1, mail_number) AS n";
    let done = sqlx::query(seed)
        .bind(raw(to))
        .bind(count)
        .execute(pool)
        .await;
    done.unwrap();
}

#[tokio::test]
async fn a_full_mailbox_refuses_until_it_is_read() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        seed_mail(&server.pool, &script, 9_999).await;
        send(server, note(&boss, &script, "the last place")).await;
        let operators = SendMessageRequest {
            from_thread_id: String::new(),
            ..note(&boss, &script, "from above")
        };
        for request in [note(&boss, &script, "no place"), operators] {
            let refused = told(server.mailbox().send_message(request).await);
            assert_eq!(refused.what(), (Code::ResourceExhausted, "MAILBOX_FULL"));
        }
        assert_eq!(read(server, &script).await.messages.len(), 50);
        send(server, note(&boss, &script, "a place")).await;
    })
    .await;
}
