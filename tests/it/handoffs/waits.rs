//! WaitHandoff.

use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use handoffd::proto::v1;
use tokio::time::timeout;
use tonic::Code;
use v1::{WaitReason, WaitUntil};

use super::scene::{
    SOON, asking, boss, cancel, cancelling, hand_off, report, status, wait, waiting,
};
use crate::support::{Clients, TestServer, eventually, told, with_server};

/// Case A1.
#[tokio::test]
async fn a_wait_returns_at_once_if_anything_unseen_exists() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        report(server, &handoff, "done").await;
        for until in [WaitUntil::Update, WaitUntil::Finish] {
            for after_version in [0, 1, 9] {
                let request = v1::WaitHandoffRequest {
                    after_version,
                    ..waiting(id, until, 300)
                };
                let told = timeout(SOON, wait(server, request)).await.unwrap();
                assert_eq!(told.reason(), WaitReason::Finished);
                assert!(!told.still_running);
                assert_eq!(told.report_version, 1);
                assert_eq!(told.outcome(), v1::Outcome::Succeeded);
                assert_eq!(told.newest_report.unwrap().body, "done");
            }
        }
    })
    .await;
}

/// Cases A3 and A5: the event lands before, between and after registration and look.
#[tokio::test]
async fn an_event_that_comes_with_the_wait_is_never_missed() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        for round in 0..30 {
            let handoff = hand_off(server, asking(&parent)).await;
            let request = waiting(&handoff.handoff_id, WaitUntil::Finish, 300);
            let reader: &Clients = if round % 2 == 0 { server } else { &second };
            let both = join(wait(reader, request), report(server, &handoff, "done"));
            let (told, _) = timeout(SOON, both).await.unwrap();
            assert_eq!(told.reason(), WaitReason::Finished);
        }
    })
    .await;
}

/// Case A9.
#[tokio::test]
async fn a_timeout_says_that_the_work_goes_on_and_changes_no_state() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let before = rows(server).await;
        for seconds in [0, 1] {
            let told = wait(server, waiting(id, WaitUntil::Update, seconds)).await;
            assert_eq!(told.reason(), WaitReason::Timeout);
            assert!(told.still_running);
            assert_eq!((told.report_version, told.outcome), (0, None));
            assert_eq!(told.status(), v1::HandoffStatus::Started);
            assert!(told.newest_report.is_none() && told.progress.is_some());
        }
        assert_eq!(rows(server).await, before);
        report(server, &handoff, "done").await;
        let told = wait(server, waiting(id, WaitUntil::Update, 0)).await;
        assert_eq!(
            (told.reason(), told.report_version),
            (WaitReason::Finished, 1)
        );
    })
    .await;
}

/// Everything that a wait or a look could have changed.
async fn rows(server: &TestServer) -> Vec<String> {
    let mut all = Vec::new();
    for statement in [
        "SELECT t::text FROM handoffs AS t ORDER BY 1",
        "SELECT t::text FROM thread_heads AS t ORDER BY 1",
        "SELECT t::text FROM turns AS t ORDER BY 1",
        "SELECT t::text FROM handoff_events AS t ORDER BY 1",
        "SELECT t::text FROM reports AS t ORDER BY 1",
    ] {
        let rows: Vec<String> = sqlx::query_scalar(statement)
            .fetch_all(&server.pool)
            .await
            .unwrap();
        all.extend(rows);
    }
    all
}

/// Case A7.
#[tokio::test]
async fn a_wait_never_outlasts_its_cap_or_the_callers_deadline() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        for (seconds, nanos) in [(301, 0), (300, 1), (-1, 0), (i64::MAX, 0)] {
            let request = v1::WaitHandoffRequest {
                timeout: Some(prost_types::Duration { seconds, nanos }),
                ..waiting(id, WaitUntil::Update, 0)
            };
            let refused = told(server.handoffs().wait_handoff(request).await);
            assert_eq!(refused.what(), (Code::InvalidArgument, "INVALID_FIELD"));
            assert_eq!(refused.fields, ["timeout"]);
        }
        let begin = Instant::now();
        let mut request = tonic::Request::new(waiting(id, WaitUntil::Finish, 300));
        request.set_timeout(Duration::from_secs(2));
        let told = server.handoffs().wait_handoff(request).await.unwrap();
        assert_eq!(told.into_inner().reason(), WaitReason::Timeout);
        assert!(begin.elapsed() >= Duration::from_millis(1_400));
        assert!(begin.elapsed() < Duration::from_secs(2));
    })
    .await;
}

/// Case B9.
#[tokio::test]
async fn a_wait_fires_for_cancels_and_failures_too() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let request = waiting(&handoff.handoff_id, WaitUntil::Finish, 300);
        let both = join(
            wait(server, request),
            cancel(server, cancelling(&handoff.handoff_id)),
        );
        let (told, _) = timeout(SOON, both).await.unwrap();
        assert_eq!(told.reason(), WaitReason::Finished);
        assert_eq!(told.outcome(), v1::Outcome::Cancelled);
        assert_eq!(told.newest_report.unwrap().kind(), v1::ReportKind::End);

        let handoff = hand_off(server, asking(&parent)).await;
        let worker = super::scene::Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let failed = v1::FinishTurnRequest {
            outcome: v1::TurnOutcome::Failed as i32,
            error: Some(v1::TurnError {
                failure_class: v1::FailureClass::ModelError as i32,
                summary: "refused".to_owned(),
            }),
            ..super::scene::done(&turn, v1::TurnNext::Unspecified)
        };
        let request = waiting(&handoff.handoff_id, WaitUntil::Update, 300);
        let both = join(wait(server, request), worker.finish(failed));
        let (told, _) = timeout(SOON, both).await.unwrap();
        assert_eq!(told.reason(), WaitReason::Finished);
        assert_eq!(told.status(), v1::HandoffStatus::Error);
        let error = status(server, &handoff.handoff_id)
            .await
            .handoff
            .unwrap()
            .error;
        assert_eq!(error.unwrap().failure_class(), v1::FailureClass::ModelError);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_stops_lets_waiters_go_and_tells_them_to_come_again() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let second = server.second().await;
        // Connected before it stops.
        status(&second, &handoff.handoff_id).await;
        let request = waiting(&handoff.handoff_id, WaitUntil::Finish, 300);
        let both = join(wait(&second, request), second.stop());
        let (told, ()) = timeout(SOON, both).await.unwrap();
        assert_eq!(told.reason(), WaitReason::Draining);
        assert!(told.still_running);
    })
    .await;
}

/// A thousand waiters on one event cost a bounded number of statements. Each statement that reads
/// state asks for the time, once a row, so a counter in that function counts them. How many there are
/// depends on how the calls trickle in; each for itself, the waiters would need two thousand.
#[tokio::test]
async fn a_thousand_waiters_on_one_event_cost_a_few_statements() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        sqlx::raw_sql(
            "CREATE SEQUENCE statements;
            CREATE OR REPLACE FUNCTION handoffd_now() RETURNS timestamptz
                LANGUAGE sql VOLATILE PARALLEL UNSAFE
                AS $$ SELECT nextval('statements'); SELECT at FROM public.test_clock $$;",
        )
        .execute(&server.pool)
        .await
        .unwrap();
        let waits = (0..1_000).map(|_| {
            let request = waiting(&handoff.handoff_id, WaitUntil::Finish, 300);
            wait(server, request)
        });
        let report = async {
            // All have looked once they are registered, and a look is what they do next.
            eventually("the waiters wait", async || statements(server).await >= 1).await;
            report(server, &handoff, "done").await;
        };
        let (told, ()) = timeout(SOON * 2, join(join_all(waits), report))
            .await
            .unwrap();
        assert!(told.iter().all(|it| it.reason() == WaitReason::Finished));
        let statements = statements(server).await;
        assert!(
            statements < 250,
            "{statements} statements for 1,000 waiters"
        );
    })
    .await;
}

async fn statements(server: &TestServer) -> i64 {
    sqlx::query_scalar("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM statements")
        .fetch_one(&server.pool)
        .await
        .unwrap()
}
