//! CancelHandoff.

use handoffd::proto::v1;
use tonic::Code;
use v1::TimelineReason as Reason;

use super::scene::{
    Worker, asking, boss, cancel, cancelling, done, hand_off, mail, reasons, report, status,
    stored, thread,
};
use crate::support::{told, with_server};

/// Case D19.
#[tokio::test]
async fn a_cancel_before_the_first_turn_ends_it_with_a_notice_and_the_child_never_starts() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let request = v1::CancelHandoffRequest {
            reason: "no need".to_owned(),
            ..cancelling(id)
        };
        let told = cancel(server, request.clone()).await;
        assert!(!told.already_ended && !told.stop_requested);
        let ended = told.handoff.unwrap();
        assert_eq!(ended.status(), v1::HandoffStatus::Cancelled);
        assert_eq!(ended.outcome(), v1::Outcome::Cancelled);
        assert_eq!(ended.finish_time, ended.close_time);
        let error = ended.error.clone().unwrap();
        assert_eq!(error.cause(), v1::HandoffErrorCause::Cancelled);
        assert!(error.summary.contains("no need"));
        assert_eq!(
            reasons(server, id).await,
            [Reason::Created, Reason::Cancelled]
        );
        let notice = mail(server, &parent).await;
        assert_eq!(notice.len(), 1);
        assert_eq!(notice[0].kind(), v1::MessageKind::Notice);
        assert_eq!(notice[0].report_version, Some(1));
        let worker = Worker::register(server, "worker").await;
        assert!(worker.claim().await.is_empty());

        let again = cancel(server, request).await;
        assert!(again.already_ended);
        assert_eq!(again.handoff.unwrap(), ended);
        assert_eq!(reasons(server, id).await.len(), 2);
        assert!(mail(server, &parent).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_cancel_of_work_that_was_assigned_and_not_begun_takes_the_turn_away() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let worker = Worker::register(server, "worker").await;
        let turns = worker.claim().await;
        let told = cancel(server, cancelling(&handoff.handoff_id)).await;
        assert_eq!(told.handoff.unwrap().status(), v1::HandoffStatus::Cancelled);
        let beat = worker.beat(&super::scene::reference(&turns[0]), None).await;
        assert_eq!(beat.state(), v1::TurnLeaseState::Closed);
        assert!(worker.claim().await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_stop_is_requested_of_the_live_turn_and_acknowledged_by_its_end() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let request = v1::CancelHandoffRequest {
            stop_child: true,
            ..cancelling(id)
        };
        let told = cancel(server, request).await;
        assert!(told.stop_requested && !told.already_ended);
        let stop = status(server, id).await.stop.unwrap();
        assert!(stop.request_time.is_some() && stop.acknowledge_time.is_none());
        let beat = worker.beat(&turn, None).await;
        let abort = |it: &v1::Signal| matches!(it.kind, Some(v1::signal::Kind::Abort(_)));
        assert!(beat.signals.iter().any(abort));

        let stopped = v1::FinishTurnRequest {
            outcome: v1::TurnOutcome::Aborted as i32,
            ..done(&turn, v1::TurnNext::Unspecified)
        };
        worker.finish(stopped).await;
        let snapshot = status(server, id).await;
        assert!(snapshot.stop.unwrap().acknowledge_time.is_some());
        assert_eq!(
            reasons(server, id).await,
            [
                Reason::Created,
                Reason::TurnBegan,
                Reason::Cancelled,
                Reason::StopRequested,
                Reason::StopAcknowledged
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn a_cancel_alone_leaves_the_child_at_work_and_its_report_is_late() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        assert!(!cancel(server, cancelling(id)).await.stop_requested);
        let before = stored(server, id).await;
        let late = v1::SendMessageRequest {
            turn: Some(turn.clone()),
            from_thread_id: String::new(),
            ..super::scene::reporting(&handoff, "done")
        };
        assert!(super::scene::send(server, late).await.late);
        assert_eq!(
            stored(server, id).await,
            before,
            "a late report changes nothing"
        );
        assert_eq!(reasons(server, id).await.last(), Some(&Reason::LateReport));
        worker.finish(done(&turn, v1::TurnNext::Finished)).await;
        assert_eq!(stored(server, id).await, before);
    })
    .await;
}

#[tokio::test]
async fn work_that_ended_is_left_as_it_is() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        report(server, &handoff, "done").await;
        let before = stored(server, &handoff.handoff_id).await;
        let told = cancel(server, cancelling(&handoff.handoff_id)).await;
        assert!(told.already_ended);
        assert_eq!(told.handoff.unwrap(), before);
        assert_eq!(before.status(), v1::HandoffStatus::Completed);
    })
    .await;
}

#[tokio::test]
async fn the_notice_wakes_the_parent_only_where_that_is_asked() {
    with_server(async |server| {
        boss(server).await;
        let parent = thread(server, "boss", v1::ThreadDrive::Runtime).await;
        let boss = Worker::register(server, "boss").await;
        let handoff = hand_off(server, asking(&parent)).await;
        cancel(server, cancelling(&handoff.handoff_id)).await;
        assert!(boss.claim().await.is_empty());
        let handoff = hand_off(server, asking(&parent)).await;
        let request = v1::CancelHandoffRequest {
            wake_parent: true,
            request_id: Some("c".to_owned()),
            ..cancelling(&handoff.handoff_id)
        };
        cancel(server, request.clone()).await;
        let turns = boss.claim().await;
        assert_eq!(turns.len(), 1);
        assert_eq!(turns[0].mail.len(), 2, "the quiet notice comes along");
        let again = cancel(server, request).await;
        assert!(again.deduplicated && !again.already_ended);
    })
    .await;
}

#[tokio::test]
async fn only_the_parent_and_operators_may_cancel_and_strangers_see_nothing() {
    with_server(async |server| {
        boss(server).await;
        let root = thread(server, "boss", v1::ThreadDrive::Runtime).await;
        let wake = v1::SendMessageRequest {
            to_thread_id: root.clone(),
            body: "begin".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        super::scene::send(server, wake).await;
        let boss = Worker::register(server, "boss").await;
        let top = boss.begin().await;
        let handoff = hand_off(server, asking(&root)).await;
        let worker = Worker::register(server, "worker").await;
        let middle = worker.begin().await;
        let below = v1::CreateHandoffRequest {
            turn: Some(middle.clone()),
            parent_thread_id: String::new(),
            ..asking("")
        };
        let below = hand_off(server, below).await;
        assert_eq!(below.parent_thread_id, handoff.thread_id);
        let bottom = worker.begin().await;
        let by = |turn: &v1::TurnRef, id: &str| v1::CancelHandoffRequest {
            turn: Some(turn.clone()),
            ..cancelling(id)
        };
        let own = server
            .handoffs()
            .cancel_handoff(by(&bottom, &below.handoff_id))
            .await;
        let above = server
            .handoffs()
            .cancel_handoff(by(&top, &below.handoff_id))
            .await;
        let (own, above) = (told(own), told(above));
        let not_parent = (Code::PermissionDenied, "NOT_PARENT");
        assert_eq!(own.what(), not_parent);
        assert_eq!(above.what(), not_parent, "a thread sees all below it");
        let unseen = server
            .handoffs()
            .cancel_handoff(by(&bottom, &handoff.handoff_id))
            .await;
        let unknown = "hnd_00000000000070008000000000000000";
        let missing = server.handoffs().cancel_handoff(by(&bottom, unknown)).await;
        let (unseen, missing) = (told(unseen), told(missing));
        assert_eq!(unseen.what(), (Code::NotFound, "HANDOFF_NOT_FOUND"));
        assert_eq!(
            unseen.message,
            missing.message.replace(unknown, &handoff.handoff_id)
        );
        let parent = cancel(server, by(&middle, &below.handoff_id)).await;
        assert!(!parent.already_ended);
    })
    .await;
}
