//! GetLineage: what is above a handoff and below it.

use std::time::Duration;

use handoffd::proto::v1;
use tonic::Code;

use crate::handoffs::scene::{
    agent, asking, boss, cancel, cancelling, hand_off, set_state, thread,
};
use crate::support::{Clients, TestServer, told, with_server};

fn of(id: &str) -> v1::GetLineageRequest {
    v1::GetLineageRequest {
        handoff_id: id.to_owned(),
        ..v1::GetLineageRequest::default()
    }
}

async fn page(clients: &Clients, request: v1::GetLineageRequest) -> v1::GetLineageResponse {
    let told = clients.status().get_lineage(request).await;
    told.unwrap().into_inner()
}

/// The threads of all pages of so many.
async fn threads(clients: &Clients, id: &str, size: i32) -> Vec<String> {
    let mut request = v1::GetLineageRequest {
        page_size: Some(size),
        ..of(id)
    };
    let mut found = Vec::new();
    loop {
        let page = page(clients, request.clone()).await;
        found.extend(page.nodes.into_iter().map(|node| node.thread_id));
        if page.next_page_token.is_empty() {
            return found;
        }
        request.page_token = page.next_page_token;
    }
}

/// Hands work to `worker` for a thread, later than what was handed off before.
async fn below(server: &TestServer, parent: &str) -> v1::Handoff {
    server.clock.advance(Duration::from_millis(1)).await;
    hand_off(server, asking(parent)).await
}

#[tokio::test]
async fn a_tree_is_told_depth_first_whatever_the_size_of_its_pages() {
    with_server(async |server| {
        let root = boss(server).await;
        let a = below(server, &root).await;
        let b = below(server, &root).await;
        let a1 = below(server, &a.thread_id).await;
        let b1 = below(server, &b.thread_id).await;
        let a2 = below(server, &a.thread_id).await;
        let a11 = below(server, &a1.thread_id).await;
        let a3 = below(server, &a.thread_id).await;
        let whole = [&a, &a1, &a11, &a2, &a3].map(|it| it.thread_id.clone());
        for size in [500, 5, 4, 3, 2, 1] {
            assert_eq!(threads(server, &a.handoff_id, size).await, whole, "{size}");
        }
        let [b, b1] = [&b, &b1].map(|it| it.thread_id.clone());
        assert_eq!(
            threads(server, &a11.handoff_id, 1).await,
            std::slice::from_ref(&a11.thread_id)
        );

        let told = page(server, of(&a1.handoff_id)).await;
        let above: Vec<(&str, u32)> = told
            .ancestors
            .iter()
            .map(|node| (node.thread_id.as_str(), node.depth))
            .collect();
        assert_eq!(above, [(root.as_str(), 0), (a.thread_id.as_str(), 1)]);
        let first = &told.ancestors[0];
        assert_eq!(
            (first.agent_id.as_str(), first.role.as_str()),
            ("boss", "init")
        );
        assert_eq!(first.handoff, None);
        let own = &told.nodes[0];
        assert_eq!((own.depth, own.attempt), (2, 1));
        assert_eq!(
            (own.agent_id.as_str(), own.role.as_str()),
            ("worker", "task")
        );
        assert_eq!(own.parent_thread_id, a.thread_id);
        let handoff = own.handoff.clone().unwrap();
        assert_eq!(handoff.handoff_id, a1.handoff_id);
        assert_eq!(handoff.live_state(), v1::LiveState::Running);
        cancel(server, cancelling(&a11.handoff_id)).await;
        let told = page(server, of(&a1.handoff_id)).await;
        let ended = told.nodes[1].handoff.clone().unwrap();
        assert_eq!(
            (ended.live_state, ended.outcome()),
            (None, v1::Outcome::Cancelled)
        );
        assert_ne!(b, b1);
    })
    .await;
}

/// Cases H1 and H3: the place of a thread never changes.
#[tokio::test]
async fn no_thread_is_skipped_or_told_twice_while_the_tree_grows() {
    with_server(async |server| {
        let root = boss(server).await;
        let top = below(server, &root).await;
        let mut children = Vec::new();
        for _ in 0..4 {
            children.push(below(server, &top.thread_id).await);
        }
        let request = v1::GetLineageRequest {
            page_size: Some(3),
            ..of(&top.handoff_id)
        };
        let first = page(server, request.clone()).await;
        // Below a thread that was told, below the last one, and at the end.
        below(server, &children[0].thread_id).await;
        let next = below(server, &children[1].thread_id).await;
        let last = below(server, &top.thread_id).await;
        cancel(server, cancelling(&children[1].handoff_id)).await;
        let request = v1::GetLineageRequest {
            page_size: Some(500),
            page_token: first.next_page_token.clone(),
            ..request
        };
        let rest = page(server, request).await;
        let rest: Vec<String> = rest.nodes.into_iter().map(|it| it.thread_id).collect();
        let expected = [&next, &children[2], &children[3], &last];
        assert_eq!(rest, expected.map(|it| it.thread_id.clone()));

        let foreign = v1::GetLineageRequest {
            page_token: first.next_page_token,
            ..of(&children[0].handoff_id)
        };
        let foreign = told(server.status().get_lineage(foreign).await);
        assert_eq!(
            foreign.what(),
            (Code::InvalidArgument, "PAGE_TOKEN_INVALID")
        );
    })
    .await;
}

#[tokio::test]
async fn a_root_has_nothing_above_it_and_refused_work_is_its_own_tree() {
    with_server(async |server| {
        agent(server, "worker").await;
        let rootless = v1::CreateHandoffRequest {
            on_completion: v1::OnCompletion::None as i32,
            ..asking("")
        };
        let alone = hand_off(server, rootless).await;
        let told_of = page(server, of(&alone.handoff_id)).await;
        assert!(told_of.ancestors.is_empty());
        assert_eq!(told_of.nodes.len(), 1);
        assert_eq!(
            told_of.nodes[0].created_by(),
            v1::TimelineActorKind::Operator
        );

        let parent = thread(server, "worker", v1::ThreadDrive::Pull).await;
        set_state(server, "worker", v1::AgentState::Deactivated).await;
        let refused = told(server.handoffs().create_handoff(asking(&parent)).await);
        let told_of = page(server, of(&refused.metadata["handoffId"])).await;
        let above: Vec<&str> = told_of
            .ancestors
            .iter()
            .map(|it| it.thread_id.as_str())
            .collect();
        assert_eq!(above, [parent.as_str()]);
        let [node] = told_of.nodes.as_slice() else {
            panic!("{told_of:?}");
        };
        assert_eq!(node.thread_id, "");
        let handoff = node.handoff.clone().unwrap();
        assert_eq!(handoff.status(), v1::HandoffStatus::MaterializeFailed);

        let unknown = of("hnd_00000000000070008000000000000000");
        let unknown = told(server.status().get_lineage(unknown).await);
        assert_eq!(unknown.what(), (Code::NotFound, "HANDOFF_NOT_FOUND"));
    })
    .await;
}
