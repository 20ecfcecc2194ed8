//! CreateHandoff: what it makes, and for whom.

use handoffd::proto::v1;

use super::scene::{agent, asking, boss, create, hand_off, stored, thread};
use crate::support::{told, with_server};
use tonic::Code;

#[tokio::test]
async fn a_handoff_is_made_with_the_defaults_and_is_readable_at_once() {
    with_server(async |server| {
        let parent = boss(server).await;
        let made = create(server, asking(&parent)).await;
        let handoff = made.handoff.unwrap();
        assert!(!made.deduplicated);
        assert_eq!(handoff.status(), v1::HandoffStatus::Started);
        assert_eq!(handoff.on_completion(), v1::OnCompletion::Notify);
        assert_eq!(handoff.on_turn_lost(), v1::OnTurnLost::Retry);
        assert_eq!(handoff.parent_thread_id, parent);
        assert_eq!(handoff.parent_agent_id, "boss");
        assert_eq!(handoff.agent_id, "worker");
        assert_eq!(handoff.thread_title, "count the words");
        assert_eq!((handoff.attempt, handoff.report_version), (1, 0));
        assert_eq!((handoff.outcome, handoff.finish_time), (None, None));
        let link = format!(
            "[count the words](thread-handoff://{}?agent=worker&title=count+the+words)",
            handoff.thread_id
        );
        assert_eq!(made.thread_link, link);
        assert_eq!(stored(server, &handoff.handoff_id).await, handoff);

        let second = server.second().await;
        let other = hand_off(server, asking(&parent)).await;
        assert_eq!(stored(&second, &other.handoff_id).await, other);
        let request = v1::GetThreadRequest {
            thread_id: handoff.thread_id.clone(),
        };
        let child = second.threads().get_thread(request).await.unwrap();
        let child = child.into_inner().thread.unwrap();
        assert_eq!((child.role.as_str(), child.depth), ("task", 1));
        assert_eq!(child.parent_thread_id, parent);
        assert!(child.show_in_thread_list);
    })
    .await;
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once_by_its_path() {
    with_server(async |server| {
        let wrong = v1::CreateHandoffRequest {
            turn: Some(v1::TurnRef::default()),
            parent_thread_id: "hnd_1".to_owned(),
            task: String::new(),
            target_agent: "x".repeat(201),
            visibility: 9,
            thread_title: "a\nb".to_owned(),
            request_id: Some(String::new()),
            on_completion: 9,
            idempotency_key: Some("k".repeat(4_097)),
            on_turn_lost: 9,
            ..v1::CreateHandoffRequest::default()
        };
        let refused = told(server.handoffs().create_handoff(wrong).await);
        assert_eq!(refused.what(), (Code::InvalidArgument, "INVALID_FIELD"));
        let mut fields = refused.fields;
        fields.sort();
        assert_eq!(
            fields,
            [
                "idempotency_key",
                "on_completion",
                "on_turn_lost",
                "parent_thread_id",
                "request_id",
                "target_agent",
                "task",
                "thread_title",
                "turn.token",
                "turn.turn_id",
                "visibility"
            ]
        );
        let nobody = v1::CreateHandoffRequest {
            on_completion: v1::OnCompletion::Notify as i32,
            ..v1::CreateHandoffRequest::default()
        };
        let refused = told(server.handoffs().create_handoff(nobody).await);
        assert_eq!(refused.fields, ["task", "target_agent", "on_completion"]);
    })
    .await;
}

#[tokio::test]
async fn titles_visibility_and_policy_come_from_the_request_the_task_and_the_agent() {
    with_server(async |server| {
        let parent = boss(server).await;
        let put = v1::PutAgentRequest {
            agent_id: "worker".to_owned(),
            default_on_turn_lost: v1::OnTurnLost::Fail as i32,
            ..v1::PutAgentRequest::default()
        };
        server.agents().put_agent(put).await.unwrap();
        let title = |task: &str, title: &str| v1::CreateHandoffRequest {
            task: task.to_owned(),
            thread_title: title.to_owned(),
            ..asking(&parent)
        };
        for (task, given, shown) in [
            ("  \n  first line \nsecond", "", "first line".to_owned()),
            (&"x".repeat(300), "", "x".repeat(200)),
            ("\u{1}", "", "untitled".to_owned()),
            ("task", "a [title]", "a [title]".to_owned()),
        ] {
            let made = create(server, title(task, given)).await;
            let handoff = made.handoff.unwrap();
            assert_eq!(handoff.thread_title, shown);
            assert_eq!(handoff.on_turn_lost(), v1::OnTurnLost::Fail);
            if given == "a [title]" {
                assert!(
                    made.thread_link
                        .starts_with("[a \\[title\\]](thread-handoff://")
                );
                assert!(made.thread_link.ends_with("&title=a+%5Btitle%5D)"));
            }
        }
        let hidden = v1::CreateHandoffRequest {
            visibility: v1::Visibility::Hidden as i32,
            on_turn_lost: v1::OnTurnLost::Retry as i32,
            ..asking(&parent)
        };
        let hidden = hand_off(server, hidden).await;
        assert_eq!(hidden.on_turn_lost(), v1::OnTurnLost::Retry);
        let request = v1::GetThreadRequest {
            thread_id: hidden.thread_id,
        };
        let child = server.threads().get_thread(request).await.unwrap();
        let child = child.into_inner().thread.unwrap();
        assert_eq!(child.visibility(), v1::Visibility::Hidden);
        assert!(!child.show_in_thread_list);
    })
    .await;
}

#[tokio::test]
async fn the_target_is_an_id_a_display_name_or_the_parents_own_agent() {
    with_server(async |server| {
        let parent = boss(server).await;
        for (id, name) in [
            ("w1", "Writer"),
            ("w2", "Twin"),
            ("w3", "twin"),
            ("w4", "w1"),
        ] {
            let put = v1::PutAgentRequest {
                agent_id: id.to_owned(),
                display_name: name.to_owned(),
                ..v1::PutAgentRequest::default()
            };
            server.agents().put_agent(put).await.unwrap();
        }
        let to = |target: &str| v1::CreateHandoffRequest {
            target_agent: target.to_owned(),
            ..asking(&parent)
        };
        for (target, agent_id) in [("wRITER", "w1"), ("w1", "w1"), ("", "boss")] {
            assert_eq!(hand_off(server, to(target)).await.agent_id, agent_id);
        }
        let keyed = v1::CreateHandoffRequest {
            idempotency_key: Some("k".to_owned()),
            ..to("writer")
        };
        let first = hand_off(server, keyed.clone()).await;
        let again = create(server, keyed).await;
        assert!(
            again.deduplicated,
            "a key holds for a target named by its name"
        );
        assert_eq!(again.handoff.unwrap(), first);

        let twin = told(server.handoffs().create_handoff(to("twin")).await);
        assert_eq!(twin.what(), (Code::InvalidArgument, "AGENT_NAME_AMBIGUOUS"));
        assert!(twin.metadata["candidates"].contains("w2"));
        assert!(twin.metadata["candidates"].contains("w3"));
        let none = told(server.handoffs().create_handoff(to("nobody")).await);
        assert_eq!(none.what(), (Code::NotFound, "AGENT_NOT_FOUND"));
        let missing = asking("thr_00000000000070008000000000000000");
        let missing = told(server.handoffs().create_handoff(missing).await);
        assert_eq!(missing.what(), (Code::NotFound, "THREAD_NOT_FOUND"));
    })
    .await;
}

#[tokio::test]
async fn work_for_no_thread_tells_nobody_and_has_no_depth() {
    with_server(async |server| {
        agent(server, "worker").await;
        let alone = hand_off(server, asking("")).await;
        assert_eq!(alone.on_completion(), v1::OnCompletion::None);
        assert_eq!(
            (
                alone.parent_thread_id.as_str(),
                alone.parent_agent_id.as_str()
            ),
            ("", "")
        );
        let request = v1::GetThreadRequest {
            thread_id: alone.thread_id,
        };
        let child = server.threads().get_thread(request).await.unwrap();
        assert_eq!(child.into_inner().thread.unwrap().depth, 0);
    })
    .await;
}

/// Namespaces: promise 10.
#[tokio::test]
async fn another_tenant_finds_nothing() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let other = server.in_namespace("other");
        boss(&other).await;
        let missing = told(other.handoffs().create_handoff(asking(&parent)).await);
        assert_eq!(missing.what(), (Code::NotFound, "THREAD_NOT_FOUND"));
        let request = v1::GetHandoffStatusRequest {
            handoff_id: handoff.handoff_id.clone(),
        };
        let missing = told(other.status().get_handoff_status(request).await);
        assert_eq!(missing.what(), (Code::NotFound, "HANDOFF_NOT_FOUND"));
        let cancel = super::scene::cancelling(&handoff.handoff_id);
        let missing = told(other.handoffs().cancel_handoff(cancel).await);
        assert_eq!(missing.what(), (Code::NotFound, "HANDOFF_NOT_FOUND"));
        let request = super::scene::waiting(&handoff.handoff_id, v1::WaitUntil::Update, 0);
        let missing = told(other.handoffs().wait_handoff(request).await);
        assert_eq!(missing.what(), (Code::NotFound, "HANDOFF_NOT_FOUND"));
        assert_eq!(
            thread(&other, "boss", v1::ThreadDrive::Pull).await.len(),
            36
        );
    })
    .await;
}
