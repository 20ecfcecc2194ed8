//! The one way to change state, under concurrency and with somebody misbehaving.

use std::pin::pin;

use futures_util::future::join_all;
use handoffd::proto::v1::SendMessageRequest;
use prost_types::value::Kind;
use prost_types::{Struct, Value};
use sqlx::Connection;
use tonic::Code;

use crate::mailbox::{note, peek, pull, raw, send};
use crate::support::{Clients, TestServer, log, told, with_server};

/// Mail of an operator: no pair limit stands in the way of numbers.
fn mail(to: &str, body: &str) -> SendMessageRequest {
    note("", to, body)
}

async fn pulls<const N: usize>(clients: &Clients) -> [String; N] {
    let mut threads = [const { String::new() }; N];
    for (at, thread) in threads.iter_mut().enumerate() {
        *thread = pull(clients, &format!("agent {at}")).await;
    }
    threads
}

async fn mail_numbers(server: &TestServer, thread: &str) -> Vec<i64> {
    sqlx::query_scalar(
        "SELECT mail_number FROM messages WHERE to_thread_id = $1 ORDER BY mail_number",
    )
    .bind(raw(thread))
    .fetch_all(&server.pool)
    .await
    .unwrap()
}

/// Case H5 in part: what two servers number at once has no gap and no double.
#[tokio::test]
async fn two_servers_number_the_mail_of_one_thread_without_gaps() {
    with_server(async |server| {
        let (script, second) = (pull(server, "script").await, server.second().await);
        let both: [&Clients; 2] = [server, &second];
        let sends = (0..200).map(|n: usize| send(both[n % 2], mail(&script, &n.to_string())));
        join_all(sends).await;
        let expected: Vec<i64> = (1..=200).collect();
        assert_eq!(mail_numbers(server, &script).await, expected);
    })
    .await;
}

/// Each transaction carries many calls; this is what makes the throughput.
#[tokio::test]
async fn calls_that_arrive_together_share_their_commits() {
    with_server(async |server| {
        let threads = pulls::<8>(server).await;
        let sends = (0..400).map(|n: usize| send(server, mail(&threads[n % 8], &n.to_string())));
        join_all(sends).await;
        let commits: i64 = sqlx::query_scalar("SELECT count(DISTINCT xmin::text) FROM messages")
            .fetch_one(&server.pool)
            .await
            .unwrap();
        // How many depends on how the calls trickle in; each for itself, they would take 400.
        assert!(commits <= 130, "400 sends took {commits} commits");
    })
    .await;
}

/// What the database would refuse of a batch is refused at the edge, by the name of its field.
#[tokio::test]
async fn data_that_cannot_be_stored_is_told_by_its_field() {
    with_server(async |server| {
        let script = pull(server, "script").await;
        let with = |kind: Kind| SendMessageRequest {
            data: Some(Struct {
                fields: [("key".to_owned(), Value { kind: Some(kind) })].into(),
            }),
            ..mail(&script, "hello")
        };
        let nul = with(Kind::StringValue("a\0b".to_owned()));
        for refused in [nul, with(Kind::NumberValue(f64::NAN))] {
            let refused = told(server.mailbox().send_message(refused).await);
            assert_eq!(refused.code, Code::InvalidArgument);
            assert_eq!(refused.fields, ["data"]);
        }
        let kept = [
            Kind::NumberValue(f64::MAX),
            Kind::NumberValue(f64::MIN_POSITIVE),
            Kind::NumberValue(-9_007_199_254_740_993.0),
            Kind::StringValue("\\u0000 \u{FFFF} \u{10FFFF}".to_owned()),
        ];
        for kind in &kept {
            send(server, with(kind.clone())).await;
        }
        let read: Vec<Kind> = peek(server, &script)
            .await
            .messages
            .into_iter()
            .map(|it| it.data.unwrap().fields.remove("key").unwrap().kind.unwrap())
            .collect();
        assert_eq!(read, kept);
    })
    .await;
}

/// A command that only the database finds wanting falls alone, whatever it travelled with.
#[tokio::test]
async fn a_poisonous_command_refuses_only_itself() {
    log::expect("no_poison");
    with_server(async |server| {
        let threads = pulls::<4>(server).await;
        sqlx::query("ALTER TABLE messages ADD CONSTRAINT no_poison CHECK (body <> 'poison')")
            .execute(&server.pool)
            .await
            .unwrap();
        let sends = (0..60).map(async |n: usize| {
            let body = if n % 23 == 7 { "poison" } else { "good" };
            let request = mail(&threads[n % 4], body);
            (body, server.mailbox().send_message(request).await)
        });
        for (body, answer) in join_all(sends).await {
            if body == "poison" {
                let refused = told(answer);
                assert_eq!(refused.what(), (Code::Internal, "INTERNAL_BUG"));
                assert!(!refused.message.contains("no_poison"));
            } else {
                answer.unwrap();
            }
        }
        let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM messages")
            .fetch_one(&server.pool)
            .await
            .unwrap();
        assert_eq!(kept, 57);
    })
    .await;
}

/// A session that locks the head of one thread and stops.
struct Holder {
    connection: sqlx::pool::PoolConnection<sqlx::Postgres>,
}

impl Holder {
    async fn hold(server: &TestServer, thread: &str) -> Self {
        let mut connection = server.pool.acquire().await.unwrap();
        sqlx::query("BEGIN")
            .execute(&mut *connection)
            .await
            .unwrap();
        sqlx::query("SELECT 1 FROM thread_heads WHERE thread_id = $1 FOR UPDATE")
            .bind(raw(thread))
            .execute(&mut *connection)
            .await
            .unwrap();
        Self { connection }
    }

    async fn release(mut self) {
        sqlx::query("ROLLBACK")
            .execute(&mut *self.connection)
            .await
            .unwrap();
        self.connection.ping().await.unwrap();
    }
}

#[tokio::test]
async fn a_stopped_session_delays_only_the_thread_it_holds() {
    with_server(async |server| {
        let threads = pulls::<6>(server).await;
        let holder = Holder::hold(server, &threads[0]).await;
        let held = (0..3).map(|n: usize| send(server, mail(&threads[0], &n.to_string())));
        let mut held = pin!(join_all(held));
        let others = async {
            // One after the other, so that several batches go by.
            for round in 0..3 {
                let sends = threads[1..]
                    .iter()
                    .map(|to| send(server, mail(to, &round.to_string())));
                join_all(sends).await;
            }
        };
        tokio::select! {
            _ = &mut held => panic!("went through a lock"),
            () = others => {}
        }
        holder.release().await;
        assert_eq!(held.await.len(), 3);
        assert_eq!(mail_numbers(server, &threads[0]).await, [1, 2, 3]);
    })
    .await;
}

/// A caller that gives up before its turn comes has done nothing or everything, and its request id
/// tells which.
#[tokio::test]
async fn a_caller_that_is_gone_has_all_or_nothing_done() {
    with_server(async |server| {
        let threads = pulls::<2>(server).await;
        let request = SendMessageRequest {
            request_id: Some("gone".to_owned()),
            ..mail(&threads[0], "hello")
        };
        let holder = Holder::hold(server, &threads[0]).await;
        tokio::select! {
            _ = send(server, request.clone()) => panic!("went through a lock"),
            _ = send(server, mail(&threads[1], "meanwhile")) => {}
        }
        holder.release().await;
        let again = send(server, request.clone()).await;
        let third = send(server, request).await;
        assert_eq!(again.message_id, third.message_id);
        assert!(third.deduplicated);
        assert_eq!(mail_numbers(server, &threads[0]).await, [1]);
    })
    .await;
}

/// Nothing is begun for a caller whose deadline has passed.
#[tokio::test]
async fn a_deadline_that_passes_in_the_queue_leaves_nothing_behind() {
    with_server(async |server| {
        let script = pull(server, "script").await;
        let holder = Holder::hold(server, &script).await;
        // The lock outlasts the second caller, so the last try of the first is long over.
        for body in ["first", "second"] {
            let mut request = tonic::Request::new(mail(&script, body));
            request.set_timeout(std::time::Duration::from_millis(1_500));
            let status = server.mailbox().send_message(request).await.unwrap_err();
            let given_up = [Code::Cancelled, Code::DeadlineExceeded, Code::Unavailable];
            assert!(given_up.contains(&status.code()), "{status:?}");
        }
        holder.release().await;
        send(server, mail(&script, "the next")).await;
        let left = peek(server, &script).await.messages;
        // The second may have been under way when the lock was released, and is whole then.
        assert!(left.iter().all(|it| it.body != "first"));
        assert!(left.iter().any(|it| it.body == "the next"));
    })
    .await;
}
