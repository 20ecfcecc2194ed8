//! How much mail, and how fast.

use std::time::Duration;

use handoffd::domain::time::Timestamp;
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
            artifacts, bytes, quiet, wakes, rated, late, create_time)
        SELECT namespace, thread_id, n, gen_random_uuid(), 'note', '', 'seeded', '{}', 262, false,
            false, false, false, handoffd_now()
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

/// Bodies that R reads for a batch: no more bytes than it may, and one message at least.
#[tokio::test]
async fn mail_is_bounded_by_bytes_before_it_is_read() {
    with_server(async |server| {
        let boss = pull(server, "boss").await;
        let body = "\u{1f600}".repeat(16_000);
        let data = prost_types::Struct {
            fields: [(
                "a".to_owned(),
                prost_types::Value::from("b".repeat(200_000)),
            )]
            .into(),
        };
        for n in 0..20 {
            let large = SendMessageRequest {
                data: Some(data.clone()),
                artifacts: vec!["c".repeat(1_024); 64],
                request_id: Some(n.to_string()),
                ..note("", &boss, &body)
            };
            send(server, large).await;
        }
        let one = body.len() + 200_000 + 64 * 1_024;
        let read = async |bytes: usize, count: usize| -> usize {
            let none: Vec<uuid::Uuid> = Vec::new();
            let names: Vec<String> = Vec::new();
            let statement = concat!(
                "SELECT cardinality(r.mail) FROM (",
                include_str!("../../../src/store/sql/read_rows.sql"),
                ") AS r"
            );
            let found: i32 = sqlx::query_scalar(statement)
                .bind("default")
                .bind(&names)
                .bind(&none)
                .bind(&none)
                .bind(&none)
                .bind(None::<Timestamp>)
                .bind(vec![raw(&boss)])
                .bind(vec![0_i64])
                .bind(vec![i64::try_from(count).unwrap()])
                .bind(&none)
                .bind(Vec::<i64>::new())
                .bind(&none)
                .bind(&none)
                .bind(&none)
                .bind(&none)
                .bind(&none)
                .bind(Vec::<i64>::new())
                .bind(&none)
                .bind(vec![i64::try_from(bytes).unwrap()])
                .bind(&names)
                .bind(0_i64)
                .bind(0_i64)
                .bind(&none)
                .fetch_one(&server.pool)
                .await
                .unwrap();
            usize::try_from(found).unwrap()
        };
        assert_eq!(read(1, 500).await, 1, "one always");
        assert_eq!(read(one, 500).await, 1, "its fixed part reaches the bound");
        assert_eq!(read(3 * one, 500).await, 3);
        assert_eq!(read(100 * one, 500).await, 20);
        assert_eq!(read(100 * one, 7).await, 7);

        // An answer is whole all the same, page by page, and tells that there is more.
        let mut pages = Vec::new();
        loop {
            let page = super::scene::read(server, &boss).await;
            pages.push(page.messages.len());
            if !page.has_more {
                break;
            }
        }
        assert_eq!(pages.iter().sum::<usize>(), 20);
        assert!(
            pages.len() > 1 && pages[0] * one <= 3 * 1024 * 1024,
            "{pages:?}"
        );
    })
    .await;
}
