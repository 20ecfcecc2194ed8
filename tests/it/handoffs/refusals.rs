//! Refusals of the target's life cycle leave a record; others leave nothing.

use handoffd::proto::v1;
use tonic::Code;

use super::scene::{asking, boss, create, hand_off, reasons, set_state, stored, timeline};
use crate::support::{TestServer, told, with_server};

async fn records(server: &TestServer) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM handoffs")
        .fetch_one(&server.pool)
        .await
        .unwrap()
}

async fn refused(server: &TestServer, request: v1::CreateHandoffRequest) -> String {
    let told = told(server.handoffs().create_handoff(request).await);
    assert_eq!(told.what(), (Code::FailedPrecondition, "AGENT_DEACTIVATED"));
    assert!(told.message.contains("worker"), "{}", told.message);
    told.metadata["handoffId"].clone()
}

#[tokio::test]
async fn an_agent_that_accepts_no_handoffs_is_given_none_and_nothing_is_left() {
    with_server(async |server| {
        let parent = boss(server).await;
        let put = v1::PutAgentRequest {
            agent_id: "worker".to_owned(),
            handoff_policy: Some(v1::HandoffPolicy {
                accepts_handoffs: v1::AcceptHandoffs::Refuse as i32,
            }),
            ..v1::PutAgentRequest::default()
        };
        server.agents().put_agent(put).await.unwrap();
        let told = told(server.handoffs().create_handoff(asking(&parent)).await);
        let reason = "AGENT_ACCEPTS_NO_HANDOFFS";
        assert_eq!(told.what(), (Code::FailedPrecondition, reason));
        assert!(
            told.message.contains("accepts_handoffs"),
            "{}",
            told.message
        );
        assert_eq!(records(server).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_deactivated_target_leaves_a_record_that_a_repeat_names_again() {
    with_server(async |server| {
        let parent = boss(server).await;
        set_state(server, "worker", v1::AgentState::Deactivated).await;
        let plain = refused(server, asking(&parent)).await;
        let record = stored(server, &plain).await;
        assert_eq!(record.status(), v1::HandoffStatus::MaterializeFailed);
        assert_eq!(record.outcome(), v1::Outcome::Failed);
        assert_eq!(record.thread_id, "");
        let error = record.error.unwrap();
        assert_eq!(error.cause(), v1::HandoffErrorCause::AgentDeactivated);
        assert!(error.summary.contains("worker") && !error.advice.is_empty());
        assert_eq!(reasons(server, &plain).await, [v1::TimelineReason::Refused]);
        assert_ne!(
            refused(server, asking(&parent)).await,
            plain,
            "nothing names it the same"
        );

        let by_id = v1::CreateHandoffRequest {
            request_id: Some("r".to_owned()),
            ..asking(&parent)
        };
        let by_key = v1::CreateHandoffRequest {
            idempotency_key: Some("k".to_owned()),
            ..asking(&parent)
        };
        let second = server.second().await;
        for request in [by_id, by_key] {
            let first = refused(server, request.clone()).await;
            let before = records(server).await;
            assert_eq!(refused(server, request.clone()).await, first);
            let elsewhere = told(second.handoffs().create_handoff(request.clone()).await);
            assert_eq!(elsewhere.metadata["handoffId"], first);
            assert_eq!(records(server).await, before);
            let other = v1::CreateHandoffRequest {
                task: "something else".to_owned(),
                ..request.clone()
            };
            assert_ne!(
                refused(server, other).await,
                first,
                "other work is another refusal"
            );

            set_state(server, "worker", v1::AgentState::Active).await;
            let made = create(server, request.clone()).await;
            assert!(!made.deduplicated, "a refused call binds nothing");
            let made = made.handoff.unwrap();
            let entries = timeline(server, &made.handoff_id).await;
            assert_eq!(entries[0].reason(), v1::TimelineReason::Created);
            assert!(entries[0].text.contains(&first), "{}", entries[0].text);

            // What succeeded stays so, whatever becomes of the agent.
            set_state(server, "worker", v1::AgentState::Deactivated).await;
            let before = records(server).await;
            let again = create(server, request).await;
            assert!(again.deduplicated);
            assert_eq!(again.handoff.unwrap().handoff_id, made.handoff_id);
            assert_eq!(records(server).await, before);
        }
    })
    .await;
}

#[tokio::test]
async fn a_repeat_with_another_task_is_refused_and_the_first_is_told_as_it_is_now() {
    with_server(async |server| {
        let parent = boss(server).await;
        let request = v1::CreateHandoffRequest {
            request_id: Some("r".to_owned()),
            ..asking(&parent)
        };
        let first = hand_off(server, request.clone()).await;
        super::scene::report(server, &first, "done").await;
        let again = create(server, request.clone()).await;
        assert!(again.deduplicated);
        let again = again.handoff.unwrap();
        assert_eq!(again.handoff_id, first.handoff_id);
        assert_eq!(again.status(), v1::HandoffStatus::Completed);
        assert_eq!(again.parent_agent_id, "boss");
        let other = v1::CreateHandoffRequest {
            task: "something else".to_owned(),
            ..request
        };
        let told = told(server.handoffs().create_handoff(other).await);
        assert_eq!(told.what(), (Code::AlreadyExists, "IDEMPOTENCY_CONFLICT"));
        assert!(!told.message.contains("count the words"));
    })
    .await;
}
