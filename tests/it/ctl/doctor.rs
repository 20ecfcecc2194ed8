//! `handoffd doctor`.

use super::command::{handoffd, handoffd_at, json, table};
use super::scene::{agent, hand_off, pull};
use crate::support::{TestServer, with_server};

#[tokio::test]
async fn a_healthy_server_is_proved_to_be() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        let parent = pull(server, "boss").await;
        hand_off(server, &parent, "boss").await;

        let shown = table(server, &["doctor"]).await;
        assert!(shown.contains(", ready"), "{shown}");
        assert!(shown.contains("children_are_counted"), "{shown}");
        let told = json(server, &["doctor", "--invariant", "children are counted"]).await;
        assert_eq!(told["ready"], true);
        assert_eq!(told["server"]["release"], env!("CARGO_PKG_VERSION"));
        let invariants = told["check"]["invariants"].as_array().unwrap();
        assert_eq!(invariants.len(), 1);
        assert_eq!(invariants[0]["looked_at"], 2);
        assert_eq!(invariants[0]["broken"], 0);
    })
    .await;
}

async fn execute(server: &TestServer, statement: &'static str) {
    sqlx::query(statement).execute(&server.pool).await.unwrap();
}

#[tokio::test]
async fn a_broken_promise_is_told_and_is_a_failure() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        let thread = pull(server, "boss").await;
        execute(server, "UPDATE thread_heads SET live_children = 1").await;
        for output in ["table", "json"] {
            let ran = handoffd(server, &["doctor", "--output", output]).await;
            assert_eq!(ran.code, 1, "{ran:?}");
            assert!(ran.out.contains(&thread), "{ran:?}");
            assert!(ran.err.contains("1 violation"), "{ran:?}");
        }
        let unknown = handoffd(server, &["doctor", "--invariant", "x"]).await;
        assert_eq!(unknown.code, 2, "{unknown:?}");
        for told in [
            "`--invariant` has `x`",
            "children_are_counted",
            "an_end_is_told",
        ] {
            assert!(unknown.err.contains(told), "{unknown:?}");
        }
        execute(server, "UPDATE thread_heads SET live_children = 0").await;
    })
    .await;
    // Nothing listens on the port of discard.
    assert_eq!(handoffd_at("127.0.0.1:9", &["doctor"]).await.code, 4);
}

#[tokio::test]
async fn a_namespace_with_nothing_in_it_is_told_apart_from_one_that_is_right() {
    with_server(async |server| {
        let nowhere = ["doctor", "--namespace", "nowhere"];
        let ran = handoffd(server, &nowhere).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.err.contains("`nowhere` has no agents"), "{ran:?}");

        agent(server, "boss", None).await;
        let ran = handoffd(server, &["doctor"]).await;
        assert_eq!(ran.err, "", "{ran:?}");
        let ran = handoffd(server, &["doctor", "--invariant", "an_end_is_told"]).await;
        assert!(
            ran.err.contains("nothing yet that was asked about"),
            "{ran:?}"
        );
    })
    .await;
}
