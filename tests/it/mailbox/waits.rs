//! Waiting for mail: nothing is missed, nothing waits longer than it was told to.

use std::time::Duration;

use handoffd::proto::v1::{ReadMailRequest, TurnRef};
use tokio::time::{Instant, timeout};
use tonic::{Code, Request};

use super::scene::{
    SOON, begin_turn, bodies, note, pull, raw, read_with, reading, runtime, send, wait_for,
};
use crate::support::{Clients, TestServer, eventually, told, with_server, with_server_of};

/// Case A1: what is there already is answered at once.
#[tokio::test]
async fn mail_that_waits_ends_a_wait_before_it_begins() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        send(server, note(&boss, &script, "hello")).await;
        let answer = timeout(SOON, read_with(server, wait_for(&script, 300))).await;
        assert_eq!(bodies(&answer.unwrap().messages), ["hello"]);
    })
    .await;
}

/// Cases A3 and A5: with nothing between the begin of the wait and the send, in either order, the
/// mail is got, and got by the wait.
#[tokio::test]
async fn mail_sent_as_a_wait_begins_is_never_missed() {
    with_server(async |server| {
        let script = pull(server, "script").await;
        let rounds = async {
            for round in 0..100 {
                let body = round.to_string();
                let sending = send(server, note("", &script, &body));
                let waiting = read_with(server, wait_for(&script, 300));
                let got = if round % 2 == 0 {
                    tokio::join!(waiting, sending).0
                } else {
                    tokio::join!(sending, waiting).1
                };
                assert_eq!(bodies(&got.messages), [body]);
            }
        };
        // One that relied on polling would take five seconds, and there are a hundred.
        timeout(SOON * 2, rounds).await.unwrap();
    })
    .await;
}

async fn cross_servers(server: &TestServer, rounds: usize, before: impl AsyncFn()) {
    let second = server.second().await;
    let script = pull(server, "script").await;
    let both: [&Clients; 2] = [server, &second];
    for round in 0..rounds {
        before().await;
        let body = round.to_string();
        let (here, there) = (both[round % 2], both[(round + 1) % 2]);
        let waiting = read_with(here, wait_for(&script, 300));
        let (got, _) = tokio::join!(waiting, send(there, note("", &script, &body)));
        assert_eq!(bodies(&got.messages), [body]);
    }
}

/// Case I5: accepted by one server, it ends the wait on another.
#[tokio::test]
async fn mail_accepted_by_another_server_ends_a_wait() {
    with_server(async |server| {
        let rounds = cross_servers(server, 30, async || {});
        timeout(SOON * 2, rounds).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn without_a_listener_a_wait_polls() {
    let deaf = |config: &mut handoffd::server::config::Config| config.database.no_listener = true;
    with_server_of(deaf, async |server| {
        let rounds = cross_servers(server, 4, async || {});
        timeout(SOON, rounds).await.unwrap();
    })
    .await;
}

/// Case A13: a listener that is killed costs time and no wake.
#[tokio::test]
async fn a_killed_listener_loses_no_wake() {
    with_server(async |server| {
        let kill = async || {
            sqlx::query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND query ILIKE 'LISTEN%'",
            )
            .execute(&server.pool)
            .await
            .unwrap();
        };
        let rounds = cross_servers(server, 6, kill);
        timeout(SOON * 2, rounds).await.unwrap();
    })
    .await;
}

/// Case A7: a wait ends when it was told to, with an empty answer.
#[tokio::test]
async fn a_wait_ends_at_its_time_with_an_empty_answer() {
    with_server(async |server| {
        let script = pull(server, "script").await;
        let begin = Instant::now();
        let answer = timeout(SOON, read_with(server, wait_for(&script, 1))).await;
        let answer = answer.unwrap();
        assert!(begin.elapsed() >= Duration::from_secs(1));
        assert_eq!((answer.messages.len(), answer.has_more), (0, false));
    })
    .await;
}

#[tokio::test]
async fn a_wait_ends_before_its_callers_deadline() {
    with_server(async |server| {
        let script = pull(server, "script").await;
        let mut request = Request::new(wait_for(&script, 300));
        request.set_timeout(Duration::from_secs(3));
        let answer = server.mailbox().read_mail(request).await.unwrap();
        assert_eq!(answer.into_inner().messages, []);
    })
    .await;
}

/// Waits for a read of `thread` to have looked, which its head tells: a call is activity.
async fn has_looked(server: &TestServer, thread: &str) {
    eventually("the reader looks", async || {
        sqlx::query_scalar(
            "SELECT last_activity_time = handoffd_now() FROM thread_heads WHERE thread_id = $1",
        )
        .bind(raw(thread))
        .fetch_one(&server.pool)
        .await
        .unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_stopping_server_answers_its_waits() {
    with_server(async |server| {
        let (script, second) = (pull(server, "script").await, server.second().await);
        server.clock.advance(Duration::from_mins(1)).await;
        let waiting = second.mailbox();
        let waiting = async {
            let mut waiting = waiting;
            waiting.read_mail(wait_for(&script, 300)).await
        };
        let stopping = async {
            has_looked(server, &script).await;
            second.stop().await;
        };
        let (answer, ()) = timeout(SOON, async { tokio::join!(waiting, stopping) })
            .await
            .unwrap();
        assert_eq!(answer.unwrap().into_inner().messages, []);
    })
    .await;
}

#[tokio::test]
async fn a_wait_of_one_mailbox_is_not_ended_by_another() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        server.clock.advance(Duration::from_mins(1)).await;
        let sending = async {
            has_looked(server, &script).await;
            send(server, note("", &boss, "for the boss")).await;
        };
        let (answer, ()) = tokio::join!(read_with(server, wait_for(&script, 2)), sending);
        assert_eq!(answer.messages, []);
    })
    .await;
}

fn wait_in(turn: &TurnRef, seconds: i64) -> ReadMailRequest {
    ReadMailRequest {
        turn: Some(turn.clone()),
        ..wait_for("", seconds)
    }
}

/// A turn need not name its thread to wait for its mail.
#[tokio::test]
async fn a_turn_waits_for_the_mail_of_its_thread() {
    with_server(async |server| {
        let worker = runtime(server, "worker").await;
        let turn = begin_turn(server, &worker).await;
        let rounds = async {
            for round in 0..20 {
                let body = round.to_string();
                let waiting = read_with(server, wait_in(&turn, 300));
                let (got, _) = tokio::join!(waiting, send(server, note("", &worker, &body)));
                assert_eq!(bodies(&got.messages), [body]);
            }
        };
        timeout(SOON, rounds).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_request_to_abort_ends_the_wait_of_a_turn() {
    with_server(async |server| {
        let worker = runtime(server, "worker").await;
        let turn = begin_turn(server, &worker).await;
        let aborting = async {
            sqlx::query(
                "UPDATE turns SET abort_request_time = handoffd_now(), abort_reason = 'cancelled'",
            )
            .execute(&server.pool)
            .await
            .unwrap();
        };
        // Nobody told it, so it is the polling that finds out.
        let waiting = timeout(SOON, read_with(server, wait_in(&turn, 300)));
        let (answer, ()) = tokio::join!(waiting, aborting);
        let answer = answer.unwrap();
        assert_eq!((answer.messages.len(), answer.signals.len()), (0, 1));
    })
    .await;
}

/// A wait for some kinds passes over the others.
#[tokio::test]
async fn a_peek_for_other_kinds_goes_on_waiting() {
    with_server(async |server| {
        let script = pull(server, "script").await;
        for n in 0..5 {
            send(server, note("", &script, &n.to_string())).await;
        }
        let request = ReadMailRequest {
            peek: true,
            max_messages: Some(2),
            kinds: vec![handoffd::proto::v1::MessageKind::Report as i32],
            ..wait_for(&script, 1)
        };
        let answer = read_with(server, request).await;
        assert_eq!((answer.messages.len(), answer.given_through), (0, 5));
    })
    .await;
}

#[tokio::test]
async fn a_wait_for_nobody_is_refused_at_once() {
    with_server(async |server| {
        let nobody = "thr_00000000000070008000000000000000";
        let refused = told(server.mailbox().read_mail(wait_for(nobody, 300)).await);
        assert_eq!(refused.what(), (Code::NotFound, "THREAD_NOT_FOUND"));
        let refused = told(server.mailbox().read_mail(reading("")).await);
        assert_eq!(refused.fields, ["thread_id"]);
    })
    .await;
}
