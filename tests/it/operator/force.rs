//! ForceEnd and ForceRelease.

use handoffd::proto::v1;
use tonic::Code;

use crate::handoffs::scene::{
    Worker, asking, boss, done, hand_off, mail, reasons, stored, timeline,
};
use crate::support::{Clients, told, with_server};
use crate::turns::stage::{self, Runtime};

fn ending(id: &str) -> v1::ForceEndRequest {
    v1::ForceEndRequest {
        handoff_id: id.to_owned(),
        reason: "it hangs".to_owned(),
        request_id: None,
    }
}

fn releasing(turn: &str) -> v1::ForceReleaseRequest {
    v1::ForceReleaseRequest {
        turn_id: turn.to_owned(),
        reason: "it hangs".to_owned(),
        request_id: None,
    }
}

async fn end(clients: &Clients, request: v1::ForceEndRequest) -> v1::ForceEndResponse {
    clients
        .operators()
        .force_end(request)
        .await
        .unwrap()
        .into_inner()
}

async fn release(clients: &Clients, request: v1::ForceReleaseRequest) -> v1::ForceReleaseResponse {
    clients
        .operators()
        .force_release(request)
        .await
        .unwrap()
        .into_inner()
}

/// The last entry of a timeline that names an operator, with its reason.
async fn audited(clients: &Clients, id: &str, reason: v1::TimelineReason) -> v1::TimelineEntry {
    let entries = timeline(clients, id).await;
    let found = entries
        .into_iter()
        .find(|it| it.reason() == reason)
        .unwrap();
    let actor = found.actor.clone().unwrap();
    assert_eq!(actor.kind(), v1::TimelineActorKind::Operator);
    assert!(found.text.contains("it hangs"), "{}", found.text);
    found
}

#[tokio::test]
async fn an_end_by_force_closes_the_turn_tells_the_parent_and_is_written_down() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = handoff.handoff_id.as_str();
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let ended = end(server, ending(id)).await;
        assert!(!ended.already_ended);
        assert_eq!(ended.turn_id, turn.turn_id);
        let record = ended.handoff.unwrap();
        assert_eq!(record.status(), v1::HandoffStatus::Error);
        assert_eq!(record.outcome(), v1::Outcome::Failed);
        let error = record.error.unwrap();
        assert_eq!(error.cause(), v1::HandoffErrorCause::Forced);
        let entry = audited(server, id, v1::TimelineReason::ForceEnded).await;
        assert_eq!(entry.turn_id, turn.turn_id);
        let told_parent = mail(server, &parent).await;
        assert_eq!(told_parent.len(), 1);
        assert!(told_parent[0].body.contains("it hangs"), "{told_parent:?}");

        // What still runs there changes nothing, and nothing runs it again.
        let late = told(
            server
                .runtimes()
                .finish_turn(done(&turn, v1::TurnNext::Wait))
                .await,
        );
        assert_eq!(late.what(), (Code::Aborted, "TURN_CLOSED"));
        assert_eq!(worker.claim().await, []);

        let again = end(server, ending(id)).await;
        assert!(again.already_ended && again.turn_id.is_empty());
        assert_eq!(stored(server, id).await.status(), v1::HandoffStatus::Error);
    })
    .await;
}

#[tokio::test]
async fn work_that_never_began_is_ended_by_force_and_never_starts() {
    with_server(async |server| {
        let parent = boss(server).await;
        let (idle, assigned) = (asking(&parent), asking(&parent));
        let idle = hand_off(server, idle).await.handoff_id;
        assert_eq!(end(server, ending(&idle)).await.turn_id, "");
        let worker = Worker::register(server, "worker").await;
        assert_eq!(worker.claim().await, []);
        let assigned = hand_off(server, assigned).await.handoff_id;
        let turn = worker.claim().await.remove(0);
        assert_eq!(end(server, ending(&assigned)).await.turn_id, turn.turn_id);
        assert_eq!(worker.claim().await, []);
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_is_released_by_force_runs_again_at_once_and_frees_its_slot() {
    with_server(async |server| {
        let parent = boss(server).await;
        stage::agent(server, "worker", Some(1)).await;
        let id = hand_off(server, asking(&parent)).await.handoff_id;
        let first = Runtime::register(server, "r1", &["worker"]).await;
        let second = Runtime::register(server, "r2", &["worker"]).await;
        let turn = first.begin_one().await;
        assert!(second.claim(1).await.is_empty(), "no slot is free");
        let released = release(server, releasing(&turn.turn_id)).await;
        assert!(released.released);
        assert_eq!(
            (released.thread_id, released.handoff_id),
            (turn.thread_id.clone(), id.clone())
        );
        audited(server, &id, v1::TimelineReason::ForceReleased).await;

        let again = second.begin_one().await;
        assert_eq!(
            (again.thread_id.as_str(), again.lost_turns),
            (turn.thread_id.as_str(), 0)
        );
        let late = told(first.try_finish(stage::done(&turn)).await);
        assert_eq!(late.what(), (Code::Aborted, "TURN_CLOSED"));
        let repeated = release(server, releasing(&turn.turn_id)).await;
        assert!(!repeated.released, "the second turn is left alone");
        assert!(
            !reasons(server, &id)
                .await
                .contains(&v1::TimelineReason::TurnLost)
        );
    })
    .await;
}

#[tokio::test]
async fn a_repeat_by_request_id_gets_the_first_answer_and_another_request_is_refused() {
    with_server(async |server| {
        let parent = boss(server).await;
        let id = hand_off(server, asking(&parent)).await.handoff_id;
        let runtime = Runtime::register(server, "r1", &["worker"]).await;
        let turn = runtime.begin_one().await;
        let request = v1::ForceReleaseRequest {
            request_id: Some("one".to_owned()),
            ..releasing(&turn.turn_id)
        };
        let first = release(server, request.clone()).await;
        let second = release(server, request).await;
        assert!(first.released && second.released && second.deduplicated);
        let request = v1::ForceEndRequest {
            request_id: Some("two".to_owned()),
            ..ending(&id)
        };
        assert!(!end(server, request.clone()).await.already_ended);
        let second = end(server, request.clone()).await;
        assert!(!second.already_ended && second.deduplicated);
        let other = v1::ForceEndRequest {
            reason: "another".to_owned(),
            ..request
        };
        let other = told(server.operators().force_end(other).await);
        assert_eq!(other.what(), (Code::AlreadyExists, "IDEMPOTENCY_CONFLICT"));
    })
    .await;
}

#[tokio::test]
async fn a_release_by_force_and_a_finish_have_one_winner() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        for _ in 0..20 {
            let id = hand_off(server, asking(&parent)).await.handoff_id;
            let runtime = Runtime::register(server, "r1", &["worker"]).await;
            let turn = runtime.begin_one().await;
            let finishing = runtime.try_finish(stage::done(&turn));
            let (released, finished) =
                tokio::join!(release(&second, releasing(&turn.turn_id)), finishing);
            assert_ne!(released.released, finished.is_ok(), "both or none");
            end(server, ending(&id)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_does_not_exist_cannot_be_forced() {
    with_server(async |server| {
        let unknown = ending("hnd_00000000000070008000000000000000");
        let unknown = told(server.operators().force_end(unknown).await);
        assert_eq!(unknown.what(), (Code::NotFound, "HANDOFF_NOT_FOUND"));
        let unknown = releasing("trn_00000000000070008000000000000000");
        let unknown = told(server.operators().force_release(unknown).await);
        assert_eq!(unknown.what(), (Code::NotFound, "TURN_NOT_FOUND"));
    })
    .await;
}
