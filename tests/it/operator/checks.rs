//! `CheckInvariants` and `GetServer`, as an operator calls them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use handoffd::proto::v1;
use handoffd::store::reads::server::long_transactions;
use tonic::Code;

use super::{check, check_from};
use crate::support::{TestServer, eventually, told, with_server, with_server_of};
use crate::turns::stage::{Runtime, agent, done, hand_off, mail, report, thread};

const SLOTS: &str = "live_turns_are_counted";
const CHILDREN: &str = "children_are_counted";

async fn execute(server: &TestServer, statement: &'static str) {
    sqlx::query(statement).execute(&server.pool).await.unwrap();
}

fn count(answer: &v1::CheckInvariantsResponse, name: &str) -> (u64, u64) {
    let found = answer.invariants.iter().find(|it| it.name == name);
    found.map(|it| (it.looked_at, it.broken)).unwrap()
}

#[tokio::test]
async fn what_breaks_an_invariant_is_named_and_only_that() {
    with_server(async |server| {
        agent(server, "a", Some(3)).await;
        agent(server, "b", Some(3)).await;
        let healthy = check(server, &[]).await;
        assert_eq!(healthy.violations, []);
        assert_eq!(count(&healthy, SLOTS), (2, 0));
        assert_eq!(healthy.next_page_token, "");

        execute(
            server,
            "UPDATE agent_slots SET live_turns = 2 WHERE agent_id = 'b'",
        )
        .await;
        let broken = check(server, &[]).await;
        let violation = v1::InvariantViolation {
            invariant: SLOTS.to_owned(),
            id: "b".to_owned(),
            problem: "2 slots are taken, by 0 live turns".to_owned(),
        };
        assert_eq!(broken.violations, [violation]);
        assert_eq!(count(&broken, SLOTS), (2, 1));
        assert_eq!(check(server, &[CHILDREN]).await.violations, []);
        let elsewhere = check(&server.in_namespace("elsewhere"), &[]).await;
        assert_eq!(
            (elsewhere.violations, elsewhere.unchecked_ids),
            (vec![], vec![])
        );

        let slots = &broken.invariants[0];
        assert!(
            slots.proves.starts_with("Every agent has its slots"),
            "{slots:?}"
        );
        execute(server, "UPDATE agent_slots SET live_turns = 0").await;
    })
    .await;
}

#[tokio::test]
async fn a_check_of_more_than_one_call_looks_at_everything_once() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let made = (0..450).map(|_| thread(server, "a"));
        let threads: BTreeSet<String> = join_all(made).await.into_iter().collect();
        let names = [CHILDREN, "waking_unread_is_exact"];
        execute(
            server,
            "UPDATE thread_heads SET live_children = 1, waking_unread = 1, \
            wake_time = handoffd_now(), wake_count = 1",
        )
        .await;
        let (mut looked_at, mut found, mut calls) = (0, Vec::new(), 0);
        let mut token = String::new();
        while calls == 0 || !token.is_empty() {
            let answer = check_from(server, &names, &token).await;
            looked_at += count(&answer, CHILDREN).0;
            let violations = answer.violations.into_iter();
            found.extend(violations.map(|it| (it.invariant, it.id)));
            token = answer.next_page_token;
            calls += 1;
            if !token.is_empty() {
                let request = v1::CheckInvariantsRequest {
                    names: vec![CHILDREN.to_owned()],
                    page_token: token.clone(),
                };
                let refused = told(server.operators().check_invariants(request).await);
                assert_eq!(
                    refused.what(),
                    (Code::InvalidArgument, "PAGE_TOKEN_INVALID")
                );
            }
        }
        assert!(calls > 1);
        assert_eq!((looked_at, found.len()), (450, 900));
        for name in names {
            let of = found.iter().filter(|(invariant, _)| invariant == name);
            let of: BTreeSet<String> = of.map(|(_, id)| id.clone()).collect();
            assert_eq!(of, threads, "{name}");
        }
        execute(
            server,
            "UPDATE thread_heads SET live_children = 0, waking_unread = 0, \
            wake_time = NULL, wake_count = 0",
        )
        .await;
    })
    .await;
}

#[tokio::test]
async fn an_unknown_name_is_refused() {
    with_server(async |server| {
        let request = v1::CheckInvariantsRequest {
            names: vec![SLOTS.to_owned(), "all_is_well".to_owned()],
            page_token: String::new(),
        };
        let refused = told(server.operators().check_invariants(request).await);
        assert_eq!(refused.what(), (Code::InvalidArgument, "INVALID_FIELD"));
        assert_eq!(refused.fields, ["names"]);
        assert!(
            refused.message.contains("`all_is_well`"),
            "{}",
            refused.message
        );
    })
    .await;
}

#[tokio::test]
async fn a_busy_server_breaks_no_invariant_at_any_moment() {
    with_server(async |server| {
        let other = server.second().await;
        agent(server, "boss", None).await;
        agent(server, "worker", Some(5)).await;
        let boss = thread(server, "boss").await;
        let work = (0..12).map(|at| {
            let clients = if at % 2 == 0 { &**server } else { &*other };
            let boss = &boss;
            async move {
                let runtime = Runtime::register(clients, &format!("r{at}"), &["worker"]).await;
                for round in 0..8 {
                    let made = hand_off(clients, boss, "worker", v1::OnTurnLost::Retry).await;
                    mail(clients, &made.thread_id, "more").await;
                    for turn in runtime.claim(3).await {
                        if round % 2 == 0 {
                            report(clients, &turn, "done").await;
                        }
                        runtime.finish(done(&turn)).await;
                    }
                }
            }
        });
        let over = AtomicBool::new(false);
        let work = async {
            join_all(work).await;
            over.store(true, Ordering::Relaxed);
        };
        let checks = async {
            let mut busy = 0;
            while !over.load(Ordering::Relaxed) {
                let answer = check(server, &[]).await;
                assert_eq!(answer.violations, []);
                busy += 1;
            }
            busy
        };
        let ((), busy) = tokio::join!(work, checks);
        assert!(busy > 1, "the work was over before it was checked");
    })
    .await;
}

#[tokio::test]
async fn a_server_tells_what_it_stands_on() {
    with_server(async |server| {
        eventually("the server listens", async || {
            get_server(server).await.listener_state() == v1::ListenerState::Up
        })
        .await;
        let told = get_server(server).await;
        assert_eq!(told.release, env!("CARGO_PKG_VERSION"));
        let version: String = sqlx::query_scalar("SHOW server_version")
            .fetch_one(&server.pool)
            .await
            .unwrap();
        assert_eq!(told.database_version, version);
        assert!(told.schema_version.is_some());
        let ahead = told.clock_ahead.unwrap();
        assert_eq!(ahead.seconds, 0, "both read the clock of this machine");
        assert_eq!(told.long_transactions, []);
    })
    .await;
    with_server_of(
        |config| config.database.no_listener = true,
        async |server| {
            let state = get_server(server).await.listener_state();
            assert_eq!(state, v1::ListenerState::Off);
        },
    )
    .await;
}

async fn get_server(server: &TestServer) -> v1::Server {
    let answer = server.operators().get_server(v1::GetServerRequest {}).await;
    answer.unwrap().into_inner().server.unwrap()
}

#[tokio::test]
async fn who_holds_back_the_cleaning_is_found_and_nobody_else() {
    with_server(async |server| {
        let long = async || {
            let found = long_transactions(&server.pool, Duration::ZERO, 10)
                .await
                .unwrap();
            found
                .into_iter()
                .map(|it| it.process_id)
                .collect::<Vec<_>>()
        };
        let mut harmless = server.pool.begin().await.unwrap();
        sqlx::query("SELECT 1")
            .execute(&mut *harmless)
            .await
            .unwrap();
        let mut holder = server.pool.begin().await.unwrap();
        let process: i32 = sqlx::query_scalar("SELECT pg_backend_pid() FROM pg_current_xact_id()")
            .fetch_one(&mut *holder)
            .await
            .unwrap();
        // What the server itself does besides is over in a moment.
        eventually("only the holder is found", async || {
            long().await == [process]
        })
        .await;
        let hour = Duration::from_hours(1);
        assert_eq!(long_transactions(&server.pool, hour, 10).await.unwrap(), []);
        holder.rollback().await.unwrap();
        eventually("nobody is found", async || long().await.is_empty()).await;
        harmless.rollback().await.unwrap();
    })
    .await;
}
