//! Idempotency keys.

use futures_util::future::join_all;
use handoffd::proto::v1;
use tonic::Code;

use super::scene::{asking, boss, create, hand_off, thread};
use crate::support::{Clients, told, with_server};

fn keyed(parent: &str) -> v1::CreateHandoffRequest {
    v1::CreateHandoffRequest {
        idempotency_key: Some("k".to_owned()),
        ..asking(parent)
    }
}

/// Cases F5 and F7.
#[tokio::test]
async fn twenty_identical_creates_with_one_key_make_one_handoff_over_two_servers() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        let calls = (0..20).map(|at| {
            let clients: &Clients = if at % 2 == 0 { server } else { &second };
            create(clients, keyed(&parent))
        });
        let made = join_all(calls).await;
        let new = made.iter().filter(|it| !it.deduplicated).count();
        assert_eq!(new, 1);
        let id = |it: &v1::CreateHandoffResponse| it.handoff.clone().unwrap().handoff_id;
        assert!(made.iter().all(|it| id(it) == id(&made[0])));
        let records: i64 = sqlx::query_scalar("SELECT count(*) FROM handoffs")
            .fetch_one(&server.pool)
            .await
            .unwrap();
        assert_eq!(records, 1);
    })
    .await;
}

/// Cases F1 and F3.
#[tokio::test]
async fn a_key_names_the_work_and_not_how_it_is_shown() {
    with_server(async |server| {
        let parent = boss(server).await;
        let first = hand_off(server, keyed(&parent)).await;
        assert_eq!(first.idempotency_key, "k");
        let shown_otherwise = v1::CreateHandoffRequest {
            thread_title: "another".to_owned(),
            visibility: v1::Visibility::Hidden as i32,
            on_completion: v1::OnCompletion::None as i32,
            ..keyed(&parent)
        };
        let again = create(server, shown_otherwise).await;
        assert!(again.deduplicated);
        assert_eq!(again.handoff.unwrap(), first);

        let other = v1::CreateHandoffRequest {
            task: "something else".to_owned(),
            ..keyed(&parent)
        };
        let conflict = told(server.handoffs().create_handoff(other).await);
        assert_eq!(
            conflict.what(),
            (Code::AlreadyExists, "IDEMPOTENCY_CONFLICT")
        );
        assert!(
            !conflict.message.contains("count the words"),
            "the first is not shown"
        );

        let stranger = thread(server, "boss", v1::ThreadDrive::Pull).await;
        let foreign = told(server.handoffs().create_handoff(keyed(&stranger)).await);
        assert_eq!(foreign.what(), (Code::AlreadyExists, "KEY_OF_OTHER_PARENT"));
        let target = v1::CreateHandoffRequest {
            target_agent: "boss".to_owned(),
            ..keyed(&parent)
        };
        assert!(
            !create(server, target).await.deduplicated,
            "a key belongs to its target"
        );
    })
    .await;
}

#[tokio::test]
async fn twenty_creates_of_different_work_are_twenty() {
    with_server(async |server| {
        let parent = boss(server).await;
        let calls = (0..20).map(|at| {
            let request = v1::CreateHandoffRequest {
                idempotency_key: Some(format!("k{at}")),
                ..asking(&parent)
            };
            hand_off(server, request)
        });
        let mut ids: Vec<String> = join_all(calls)
            .await
            .into_iter()
            .map(|it| it.handoff_id)
            .collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 20);
    })
    .await;
}
