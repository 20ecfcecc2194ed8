//! ListHandoffs.

use std::time::Duration;

use handoffd::proto::v1;
use tonic::Code;

use crate::handoffs::scene::{asking, boss, cancel, cancelling, hand_off, report, thread};
use crate::support::{Clients, told, with_server};

async fn page(clients: &Clients, request: v1::ListHandoffsRequest) -> v1::ListHandoffsResponse {
    let told = clients.status().list_handoffs(request).await;
    told.unwrap().into_inner()
}

fn ids(page: &v1::ListHandoffsResponse) -> Vec<String> {
    page.handoffs
        .iter()
        .map(|it| it.handoff_id.clone())
        .collect()
}

#[tokio::test]
async fn open_handoffs_are_listed_oldest_first_and_filters_are_joined() {
    with_server(async |server| {
        let parent = boss(server).await;
        let other = thread(server, "boss", v1::ThreadDrive::Pull).await;
        // Of one millisecond, ids of two lanes are in no order.
        let pass = async || server.clock.advance(Duration::from_millis(1)).await;
        let a = hand_off(server, asking(&parent)).await;
        pass().await;
        let b = hand_off(server, asking(&other)).await;
        pass().await;
        let to_boss = v1::CreateHandoffRequest {
            target_agent: "boss".to_owned(),
            ..asking(&parent)
        };
        let c = hand_off(server, to_boss).await;
        pass().await;
        let d = hand_off(server, asking(&parent)).await;
        report(server, &d, "done").await;
        let all = [&a, &b, &c, &d];
        let cases: [(&str, &str, bool, &[usize]); 9] = [
            ("", "", false, &[0, 1, 2]),
            ("", "", true, &[0, 1, 2, 3]),
            ("", "worker", false, &[0, 1]),
            ("", "worker", true, &[0, 1, 3]),
            (&parent, "", false, &[0, 2]),
            (&parent, "", true, &[0, 2, 3]),
            (&parent, "worker", false, &[0]),
            (&parent, "worker", true, &[0, 3]),
            (&other, "boss", true, &[]),
        ];
        for (parent_thread_id, agent_id, include_closed, expected) in cases {
            let request = v1::ListHandoffsRequest {
                parent_thread_id: parent_thread_id.to_owned(),
                agent_id: agent_id.to_owned(),
                include_closed,
                ..v1::ListHandoffsRequest::default()
            };
            let expected: Vec<String> = expected
                .iter()
                .map(|at| all[*at].handoff_id.clone())
                .collect();
            let listed = page(server, request.clone()).await;
            assert_eq!(
                (ids(&listed), listed.next_page_token.as_str()),
                (expected.clone(), "")
            );

            // One by one comes to the same.
            let mut found = Vec::new();
            let mut one = v1::ListHandoffsRequest {
                page_size: Some(1),
                ..request
            };
            loop {
                let listed = page(server, one.clone()).await;
                found.extend(ids(&listed));
                if listed.next_page_token.is_empty() {
                    break;
                }
                one.page_token = listed.next_page_token;
            }
            assert_eq!(found, expected);
        }
        let open = page(server, v1::ListHandoffsRequest::default()).await;
        let row = &open.handoffs[0];
        assert_eq!(row.live_state(), v1::LiveState::Running);
        assert_eq!(row.status(), v1::HandoffStatus::Started);
        assert_eq!(
            (row.thread_id.clone(), row.agent_id.as_str()),
            (a.thread_id, "worker")
        );
        assert_eq!(row.thread_title, "count the words");
        let closed = v1::ListHandoffsRequest {
            include_closed: true,
            ..v1::ListHandoffsRequest::default()
        };
        let row = &page(server, closed).await.handoffs[3];
        assert_eq!(
            (row.live_state, row.outcome()),
            (None, v1::Outcome::Succeeded)
        );
    })
    .await;
}

/// Cases H1 and H3.
#[tokio::test]
async fn no_row_is_skipped_or_doubled_while_rows_change() {
    with_server(async |server| {
        let parent = boss(server).await;
        let mut made = Vec::new();
        for _ in 0..9 {
            made.push(hand_off(server, asking(&parent)).await.handoff_id);
        }
        let mut request = v1::ListHandoffsRequest {
            page_size: Some(3),
            ..v1::ListHandoffsRequest::default()
        };
        let first = page(server, request.clone()).await;
        assert_eq!(ids(&first), made[..3]);
        // What the token points to leaves the list, and so do rows on both sides of it.
        for gone in [0, 2, 3] {
            cancel(server, cancelling(&made[gone])).await;
        }
        let late = hand_off(server, asking(&parent)).await.handoff_id;
        request.page_token = first.next_page_token;
        let second = page(server, request.clone()).await;
        assert_eq!(ids(&second), made[4..7]);
        request.page_token = second.next_page_token;
        let third = page(server, request.clone()).await;
        assert_eq!(ids(&third), [made[7].clone(), made[8].clone(), late]);
        assert_eq!(third.next_page_token, "");
        let foreign = v1::ListHandoffsRequest {
            agent_id: "worker".to_owned(),
            ..request
        };
        let foreign = told(server.status().list_handoffs(foreign).await);
        assert_eq!(
            foreign.what(),
            (Code::InvalidArgument, "PAGE_TOKEN_INVALID")
        );
    })
    .await;
}

#[tokio::test]
async fn a_page_of_nothing_is_empty_and_a_filter_that_names_nothing_is_told() {
    with_server(async |server| {
        let parent = boss(server).await;
        hand_off(server, asking(&parent)).await;
        for size in [0, -1, i32::MIN] {
            let request = v1::ListHandoffsRequest {
                page_size: Some(size),
                ..v1::ListHandoffsRequest::default()
            };
            assert_eq!(
                page(server, request).await,
                v1::ListHandoffsResponse::default()
            );
        }
        let request = v1::ListHandoffsRequest {
            page_size: Some(i32::MAX),
            ..v1::ListHandoffsRequest::default()
        };
        assert_eq!(page(server, request).await.handoffs.len(), 1);
        let nobody = v1::ListHandoffsRequest {
            agent_id: "nobody".to_owned(),
            ..v1::ListHandoffsRequest::default()
        };
        let nobody = told(server.status().list_handoffs(nobody).await);
        assert_eq!(nobody.what(), (Code::NotFound, "AGENT_NOT_FOUND"));
        let nowhere = v1::ListHandoffsRequest {
            parent_thread_id: "thr_00000000000070008000000000000000".to_owned(),
            ..v1::ListHandoffsRequest::default()
        };
        let nowhere = told(server.status().list_handoffs(nowhere).await);
        assert_eq!(nowhere.what(), (Code::NotFound, "THREAD_NOT_FOUND"));
    })
    .await;
}

/// Where no index serves a filter, a page looks at 5,000 rows and may be short.
#[tokio::test]
async fn a_page_whose_filter_no_index_serves_ends_in_time_and_goes_on() {
    with_server(async |server| {
        boss(server).await;
        sqlx::query(
            "INSERT INTO handoffs (namespace, handoff_id, agent_id, title, attempt, on_completion,
                on_turn_lost, status, outcome, outcome_stated, report_version, event_number,
                reminders_sent, create_time, finish_time, close_time, update_time, version)
            SELECT 'default', lpad(to_hex(n), 32, '0')::uuid,
                CASE WHEN n = 5001 THEN 'worker' ELSE 'boss' END, '', 1, 'none', 'retry',
                'materialize_failed', 'failed', false, 0, 1, 0, handoffd_now(), handoffd_now(),
                handoffd_now(), handoffd_now(), 1
            FROM generate_series(1, 5001) AS n",
        )
        .execute(&server.pool)
        .await
        .unwrap();
        sqlx::query(
            "INSERT INTO handoff_events (namespace, handoff_id, number, time, to_status, actor_kind,
                actor_id, reason, text)
            SELECT namespace, handoff_id, 1, create_time, status, 'operator', '', 'refused', ''
            FROM handoffs",
        )
        .execute(&server.pool)
        .await
        .unwrap();
        sqlx::query("INSERT INTO assignments SELECT namespace, handoff_id, '' FROM handoffs")
            .execute(&server.pool)
            .await
            .unwrap();
        let mut request = v1::ListHandoffsRequest {
            agent_id: "worker".to_owned(),
            include_closed: true,
            ..v1::ListHandoffsRequest::default()
        };
        let first = page(server, request.clone()).await;
        assert!(first.handoffs.is_empty());
        assert_ne!(first.next_page_token, "");
        request.page_token = first.next_page_token;
        let second = page(server, request).await;
        assert_eq!(
            (second.handoffs.len(), second.next_page_token.as_str()),
            (1, "")
        );
    })
    .await;
}
