//! ListHandoffs by status, live state, tree, age and text.

use std::time::Duration;

use handoffd::proto::v1;
use tonic::Code;

use crate::handoffs::scene::{
    Worker, asking, boss, cancel, cancelling, done, hand_off, report, thread,
};
use crate::support::{Clients, TestServer, told, with_server};

/// Everything that a list shows, page by page.
async fn all(clients: &Clients, request: v1::ListHandoffsRequest, size: i32) -> Vec<String> {
    let mut request = v1::ListHandoffsRequest {
        page_size: Some(size),
        ..request
    };
    let mut found = Vec::new();
    loop {
        let page = clients.status().list_handoffs(request.clone()).await;
        let page = page.unwrap().into_inner();
        found.extend(page.handoffs.into_iter().map(|it| it.handoff_id));
        if page.next_page_token.is_empty() {
            return found;
        }
        request.page_token = page.next_page_token;
    }
}

/// A filter shows these, whatever the size of the page.
async fn shows(server: &TestServer, request: v1::ListHandoffsRequest, expected: &[&str]) {
    for size in [500, 1] {
        assert_eq!(
            all(server, request.clone(), size).await,
            expected,
            "{request:?}"
        );
    }
}

fn listing() -> v1::ListHandoffsRequest {
    v1::ListHandoffsRequest::default()
}

fn span(seconds: i64) -> prost_types::Duration {
    prost_types::Duration { seconds, nanos: 0 }
}

fn saying(parent: &str, title: &str, task: &str) -> v1::CreateHandoffRequest {
    v1::CreateHandoffRequest {
        thread_title: title.to_owned(),
        task: task.to_owned(),
        ..asking(parent)
    }
}

#[tokio::test]
async fn a_list_shows_the_statuses_that_are_asked_for_open_or_closed() {
    with_server(async |server| {
        use v1::HandoffStatus::{Cancelled, Completed, Running, Started};
        let parent = boss(server).await;
        let pass = async || server.clock.advance(Duration::from_millis(1)).await;
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(hand_off(server, asking(&parent)).await);
            pass().await;
        }
        report(server, &ids[1], "done").await;
        cancel(server, cancelling(&ids[2].handoff_id)).await;
        let ids: Vec<&str> = ids.iter().map(|it| it.handoff_id.as_str()).collect();
        let of = |statuses: &[v1::HandoffStatus]| v1::ListHandoffsRequest {
            statuses: statuses.iter().map(|&it| it.into()).collect(),
            ..listing()
        };
        shows(server, of(&[Started]), &[ids[0], ids[3]]).await;
        shows(server, of(&[Completed]), &[ids[1]]).await;
        shows(server, of(&[Cancelled, Completed]), &[ids[1], ids[2]]).await;
        shows(server, of(&[Started, Cancelled]), &[ids[0], ids[2], ids[3]]).await;
        shows(server, of(&[Running]), &[]).await;
        let of_parent = v1::ListHandoffsRequest {
            parent_thread_id: parent.clone(),
            ..of(&[Cancelled])
        };
        shows(server, of_parent, &[ids[2]]).await;
        let nothing = v1::ListHandoffsRequest {
            statuses: vec![0, 99],
            live_states: vec![0],
            ..listing()
        };
        let wrong = told(server.status().list_handoffs(nothing).await);
        assert_eq!(
            wrong.fields,
            ["statuses[0]", "statuses[1]", "live_states[0]"]
        );
    })
    .await;
}

/// Case D1.
#[tokio::test]
async fn a_list_by_live_state_agrees_with_status_as_time_passes() {
    with_server(async |server| {
        use v1::LiveState::{ChildMissing, Running, Stalled};
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        worker.finish(done(&turn, v1::TurnNext::Wait)).await;
        let quiet = handoff.handoff_id.as_str();
        let fresh = hand_off(server, asking(&parent)).await.handoff_id;
        let over = hand_off(server, asking(&parent)).await.handoff_id;
        cancel(server, cancelling(&over)).await;
        let of = |states: &[v1::LiveState]| v1::ListHandoffsRequest {
            live_states: states.iter().map(|&it| it.into()).collect(),
            // Closed ones have no live state.
            include_closed: true,
            ..listing()
        };
        shows(server, of(&[Running]), &[quiet, &fresh]).await;
        shows(server, of(&[Stalled]), &[]).await;
        server.clock.advance(Duration::from_secs(121)).await;
        shows(server, of(&[Stalled]), &[quiet]).await;
        shows(server, of(&[Running]), &[&fresh]).await;
        shows(server, of(&[Stalled, Running]), &[quiet, &fresh]).await;
        shows(server, of(&[ChildMissing]), &[]).await;
        let of_agent = v1::ListHandoffsRequest {
            agent_id: "worker".to_owned(),
            ..of(&[Stalled])
        };
        shows(server, of_agent, &[quiet]).await;
    })
    .await;
}

#[tokio::test]
async fn a_tree_is_listed_from_its_root_down_and_no_other_tree_with_it() {
    with_server(async |server| {
        let root = boss(server).await;
        let other = thread(server, "boss", v1::ThreadDrive::Pull).await;
        let pass = async || server.clock.advance(Duration::from_millis(1)).await;
        let a = hand_off(server, asking(&root)).await;
        pass().await;
        let foreign = hand_off(server, asking(&other)).await;
        pass().await;
        let b = hand_off(server, asking(&a.thread_id)).await;
        pass().await;
        let c = hand_off(server, asking(&root)).await;
        pass().await;
        let d = hand_off(server, asking(&b.thread_id)).await;
        cancel(server, cancelling(&c.handoff_id)).await;
        let tree = |root: &str| v1::ListHandoffsRequest {
            root_thread_id: root.to_owned(),
            ..listing()
        };
        let [a, b, c, d] = [&a, &b, &c, &d].map(|it| it.handoff_id.as_str());
        shows(server, tree(&root), &[a, b, d]).await;
        shows(server, tree(&other), &[&foreign.handoff_id]).await;
        let closed = v1::ListHandoffsRequest {
            include_closed: true,
            ..tree(&root)
        };
        shows(server, closed.clone(), &[a, b, c, d]).await;
        let young = v1::ListHandoffsRequest {
            max_age: Some(prost_types::Duration {
                seconds: 0,
                nanos: 0,
            }),
            ..closed
        };
        shows(server, young, &[d]).await;
        let both = v1::ListHandoffsRequest {
            parent_thread_id: root.clone(),
            ..tree(&root)
        };
        shows(server, both, &[a]).await;
        let neither = v1::ListHandoffsRequest {
            parent_thread_id: other.clone(),
            ..tree(&root)
        };
        shows(server, neither, &[]).await;

        let inside = hand_off(server, asking(&root)).await.thread_id;
        let wrong = told(server.status().list_handoffs(tree(&inside)).await);
        assert_eq!(wrong.what(), (Code::InvalidArgument, "INVALID_FIELD"));
        assert!(wrong.message.contains(&root), "{}", wrong.message);
        let elsewhere = server.in_namespace("other");
        let foreign = told(elsewhere.status().list_handoffs(tree(&root)).await);
        assert_eq!(foreign.what(), (Code::NotFound, "THREAD_NOT_FOUND"));
    })
    .await;
}

#[tokio::test]
async fn a_list_by_age_goes_by_the_databases_time() {
    with_server(async |server| {
        let parent = boss(server).await;
        let mut made = Vec::new();
        for _ in 0..3 {
            made.push(hand_off(server, asking(&parent)).await.handoff_id);
            server.clock.advance(Duration::from_hours(1)).await;
        }
        let [old, middle, young] = [0, 1, 2].map(|at| made[at].as_str());
        let aged = |min_age, max_age| v1::ListHandoffsRequest {
            min_age,
            max_age,
            ..listing()
        };
        shows(server, aged(Some(span(7_200)), None), &[old, middle]).await;
        shows(server, aged(None, Some(span(7_200))), &[middle, young]).await;
        shows(
            server,
            aged(Some(span(3_601)), Some(span(10_799))),
            &[middle],
        )
        .await;
        shows(server, aged(Some(span(10_801)), None), &[]).await;
        shows(server, aged(None, Some(span(3_599))), &[]).await;
        let negative = told(
            server
                .status()
                .list_handoffs(aged(Some(span(-1)), None))
                .await,
        );
        assert_eq!(negative.fields, ["min_age"]);
    })
    .await;
}

#[tokio::test]
async fn a_list_by_text_looks_into_titles_and_tasks() {
    with_server(async |server| {
        let parent = boss(server).await;
        let pass = async || server.clock.advance(Duration::from_millis(1)).await;
        let title = hand_off(server, saying(&parent, "Count the WORDS", "x")).await;
        pass().await;
        let task = hand_off(server, saying(&parent, "y", "find 100% of the words_")).await;
        pass().await;
        hand_off(server, saying(&parent, "z", "something else")).await;
        let text = |text: &str| v1::ListHandoffsRequest {
            text: text.to_owned(),
            ..listing()
        };
        let (title, task) = (title.handoff_id.as_str(), task.handoff_id.as_str());
        shows(server, text("words"), &[title, task]).await;
        shows(server, text("count THE"), &[title]).await;
        // No character has a meaning of its own.
        shows(server, text("100% of"), &[task]).await;
        shows(server, text("1%0"), &[]).await;
        shows(server, text("words_"), &[task]).await;
        let long = told(server.status().list_handoffs(text(&"x".repeat(201))).await);
        assert_eq!(long.fields, ["text"]);
    })
    .await;
}
