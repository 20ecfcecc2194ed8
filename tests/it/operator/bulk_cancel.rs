//! BulkCancel: shown first, then done.

use std::time::Duration;

use handoffd::proto::v1;
use tonic::Code;

use crate::handoffs::scene::{asking, boss, hand_off, stored, timeline};
use crate::support::{Clients, told, with_server};

fn of_agent(agent: &str) -> v1::BulkCancelRequest {
    v1::BulkCancelRequest {
        agent_id: agent.to_owned(),
        reason: "a wrong plan".to_owned(),
        ..v1::BulkCancelRequest::default()
    }
}

async fn run(clients: &Clients, request: v1::BulkCancelRequest) -> v1::BulkCancelResponse {
    clients
        .operators()
        .bulk_cancel(request)
        .await
        .unwrap()
        .into_inner()
}

fn ids(answer: &v1::BulkCancelResponse) -> Vec<String> {
    let handoffs = answer.items.iter().map(|it| it.handoff.clone().unwrap());
    handoffs.map(|it| it.handoff_id).collect()
}

#[tokio::test]
async fn a_dry_run_shows_what_is_found_and_its_token_lets_it_be_cancelled() {
    with_server(async |server| {
        let parent = boss(server).await;
        let mut made = Vec::new();
        for _ in 0..5 {
            server.clock.advance(Duration::from_millis(1)).await;
            made.push(hand_off(server, asking(&parent)).await.handoff_id);
        }
        let to_boss = v1::CreateHandoffRequest {
            target_agent: "boss".to_owned(),
            ..asking(&parent)
        };
        let other = hand_off(server, to_boss).await.handoff_id;

        let dry = run(server, of_agent("worker")).await;
        assert_eq!(ids(&dry), made);
        assert!(
            dry.items
                .iter()
                .all(|it| !it.cancelled && !it.already_ended)
        );
        assert_eq!(
            stored(server, &made[0]).await.status(),
            v1::HandoffStatus::Started
        );

        let mut request = v1::BulkCancelRequest {
            confirm_token: dry.confirm_token,
            page_size: Some(2),
            ..of_agent("worker")
        };
        let mut cancelled = Vec::new();
        loop {
            let page = run(server, request.clone()).await;
            assert!(page.items.iter().all(|it| it.cancelled), "{page:?}");
            assert_eq!(page.confirm_token, "");
            cancelled.extend(ids(&page));
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        assert_eq!(cancelled, made);
        for id in &made {
            assert_eq!(
                stored(server, id).await.status(),
                v1::HandoffStatus::Cancelled
            );
            let entries = timeline(server, id).await;
            let entry = entries
                .iter()
                .find(|it| it.reason() == v1::TimelineReason::Cancelled);
            let entry = entry.unwrap();
            assert!(entry.text.contains("a wrong plan"), "{entry:?}");
            let actor = entry.actor.clone().unwrap();
            assert_eq!(actor.kind(), v1::TimelineActorKind::Operator);
        }
        assert_eq!(
            stored(server, &other).await.status(),
            v1::HandoffStatus::Started
        );
        // Nothing is left, so a repeat does nothing.
        request.page_token = String::new();
        assert!(run(server, request).await.items.is_empty());
    })
    .await;
}

#[tokio::test]
async fn nothing_is_cancelled_without_a_filter_or_with_the_token_of_another() {
    with_server(async |server| {
        let parent = boss(server).await;
        let id = hand_off(server, asking(&parent)).await.handoff_id;
        let dry = run(server, of_agent("boss")).await;
        assert_eq!(dry.items, []);
        for (request, field) in [
            (v1::BulkCancelRequest::default(), "filters"),
            (
                v1::BulkCancelRequest {
                    confirm_token: dry.confirm_token.clone(),
                    ..of_agent("worker")
                },
                "confirm_token",
            ),
            (
                v1::BulkCancelRequest {
                    confirm_token: "yes".to_owned(),
                    ..of_agent("worker")
                },
                "confirm_token",
            ),
            (
                v1::BulkCancelRequest {
                    statuses: vec![v1::HandoffStatus::Error.into()],
                    ..v1::BulkCancelRequest::default()
                },
                "statuses[0]",
            ),
        ] {
            let wrong = told(server.operators().bulk_cancel(request).await);
            assert_eq!(wrong.what(), (Code::InvalidArgument, "INVALID_FIELD"));
            assert_eq!(wrong.fields, [field]);
        }
        let elsewhere = server.in_namespace("other");
        boss(&elsewhere).await;
        let request = v1::BulkCancelRequest {
            confirm_token: run(server, of_agent("worker")).await.confirm_token,
            ..of_agent("worker")
        };
        let foreign = told(elsewhere.operators().bulk_cancel(request).await);
        assert_eq!(foreign.fields, ["confirm_token"]);
        let nobody = told(server.operators().bulk_cancel(of_agent("nobody")).await);
        assert_eq!(nobody.what(), (Code::NotFound, "AGENT_NOT_FOUND"));
        assert_eq!(
            stored(server, &id).await.status(),
            v1::HandoffStatus::Started
        );
    })
    .await;
}
