//! Work whose parent collects the end: `on_completion` RETURN.

use std::time::Duration;

use handoffd::proto::v1;
use handoffd::workers::JobName;
use prost_types::Duration as Span;
use v1::TimelineReason as Reason;

use super::scene::{
    Worker, acknowledge, asking, boss, cancel, cancelling, done, hand_off, mail, progress, reasons,
    report, status, stored, thread, wait, waiting,
};
use crate::support::{Clients, TestServer, told, with_server, with_server_of};

/// Work for a thread that collects its end.
pub(super) async fn collected(clients: &Clients, parent: &str) -> v1::Handoff {
    let request = v1::CreateHandoffRequest {
        on_completion: v1::OnCompletion::Return as i32,
        ..asking(parent)
    };
    hand_off(clients, request).await
}

async fn open(clients: &Clients) -> Vec<String> {
    let request = v1::ListHandoffsRequest::default();
    let listed = clients.status().list_handoffs(request).await.unwrap();
    let rows = listed.into_inner().handoffs.into_iter();
    rows.map(|row| row.handoff_id).collect()
}

#[tokio::test]
async fn a_result_waits_to_be_collected_and_the_acknowledgement_of_its_version_closes_the_work() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = collected(server, &parent).await;
        let id = &handoff.handoff_id;
        let sent = report(server, &handoff, "done").await;
        assert_eq!(sent.delivery(), v1::MessageDelivery::Recorded);
        assert!(mail(server, &parent).await.is_empty());

        let snapshot = status(server, id).await;
        let finished = snapshot.handoff.clone().unwrap();
        assert_eq!(finished.status(), v1::HandoffStatus::Started, "as it was");
        assert_eq!(finished.outcome(), v1::Outcome::Succeeded);
        assert!(finished.finish_time.is_some() && finished.close_time.is_none());
        assert_eq!(snapshot.report_delivery(), v1::ReportDelivery::Pending);
        assert_eq!(snapshot.result.as_deref(), Some("done"));
        assert_eq!(snapshot.not_notified_reason, None);
        assert_eq!(snapshot.abandon_time, None);
        let shown = snapshot.progress.unwrap();
        assert_eq!(shown.live_state(), v1::LiveState::Completed);
        let waits = shown.waiting_on.unwrap();
        assert_eq!(waits.kind(), v1::WaitingKind::Collection);
        let window = waits.time.unwrap().seconds - finished.finish_time.unwrap().seconds;
        assert_eq!(window, 3_600);
        assert_eq!(shown.hint.unwrap().action(), v1::HintAction::Collect);
        assert_eq!(open(server).await, std::slice::from_ref(id));
        let news = wait(server, waiting(id, v1::WaitUntil::Finish, 300)).await;
        assert_eq!(news.reason(), v1::WaitReason::Finished);
        assert!(!news.still_running && news.report_version == 1);

        let cancelled = cancel(server, cancelling(id)).await;
        assert!(cancelled.already_ended);
        assert_eq!(cancelled.handoff.unwrap(), finished, "left as it is");
        assert!(report(server, &handoff, "again").await.late);
        assert_eq!(stored(server, id).await, finished);

        server.clock.advance(Duration::from_secs(9)).await;
        for _ in 0..2 {
            acknowledge(server, &parent, id, 1).await.unwrap();
            let snapshot = status(server, id).await;
            let closed = snapshot.handoff.clone().unwrap();
            assert_eq!(closed.status(), v1::HandoffStatus::Completed);
            assert_eq!(closed.finish_time, finished.finish_time);
            let late = closed.close_time.unwrap().seconds - closed.finish_time.unwrap().seconds;
            assert_eq!(late, 9);
            assert_eq!(snapshot.report_delivery(), v1::ReportDelivery::Delivered);
            assert_eq!(snapshot.progress.unwrap().waiting_on, None);
        }
        assert!(open(server).await.is_empty());
        assert_eq!(
            reasons(server, id).await,
            [
                Reason::Created,
                Reason::Reported,
                Reason::LateReport,
                Reason::Collected
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn a_final_response_is_collected_by_the_finish_of_a_turn_of_the_parent() {
    with_server(async |server| {
        boss(server).await;
        let parent = thread(server, "boss", v1::ThreadDrive::Runtime).await;
        let above = Worker::register(server, "boss").await;
        let begin = v1::SendMessageRequest {
            to_thread_id: parent.clone(),
            body: "begin".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        super::scene::send(server, begin).await;
        let top = above.begin().await;
        let handoff = collected(server, &parent).await;
        let id = &handoff.handoff_id;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let said = |turn: &v1::TurnRef, next, text: Option<&str>| v1::FinishTurnRequest {
            response_text: text.map(str::to_owned),
            ..done(turn, next)
        };
        let nothing = said(&turn, v1::TurnNext::Continue, Some("so far"));
        assert!(worker.finish(nothing).await.handoff_open);
        let turn = worker.begin().await;
        let nothing = worker
            .finish(said(&turn, v1::TurnNext::Finished, None))
            .await;
        assert!(nothing.handoff_open && !nothing.report_owed, "{nothing:?}");
        let wake = v1::SendMessageRequest {
            to_thread_id: handoff.thread_id.clone(),
            body: "well?".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        super::scene::send(server, wake).await;
        let turn = worker.begin().await;
        let ended = said(&turn, v1::TurnNext::Finished, Some("7 words"));
        let ended = worker.finish(ended).await;
        assert!(!ended.handoff_open && !ended.woken);
        assert_eq!(ended.handoff_status(), v1::HandoffStatus::Running);
        let snapshot = status(server, id).await;
        assert_eq!(snapshot.result.as_deref(), Some("7 words"));
        assert_eq!(
            snapshot.progress.unwrap().live_state(),
            v1::LiveState::Completed
        );

        let collect = v1::FinishTurnRequest {
            reports: vec![v1::ReportAck {
                handoff_id: id.clone(),
                version: 1,
            }],
            ..done(&top, v1::TurnNext::Finished)
        };
        let told = above.finish(collect).await;
        assert!(!told.woken);
        let closed = stored(server, id).await;
        assert_eq!(closed.status(), v1::HandoffStatus::Completed);
        let delivered = status(server, id).await.report_delivery();
        assert_eq!(delivered, v1::ReportDelivery::Delivered);
    })
    .await;
}

#[tokio::test]
async fn a_final_response_completes_nothing_while_something_is_pending() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = collected(server, &parent).await;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let below = v1::CreateHandoffRequest {
            turn: Some(turn.clone()),
            parent_thread_id: String::new(),
            on_completion: v1::OnCompletion::Return as i32,
            ..asking("")
        };
        let below = hand_off(server, below).await;
        let response = v1::FinishTurnRequest {
            response_text: Some("all of it".to_owned()),
            ..done(&turn, v1::TurnNext::Finished)
        };
        let told = worker.finish(response).await;
        assert!(told.handoff_open && told.why.contains("unfinished"));
        let waits = progress(server, &handoff.handoff_id).await.waiting_on;
        let waits = waits.unwrap();
        assert_eq!(waits.kind(), v1::WaitingKind::Children);
        assert_eq!(waits.handoff_ids, [below.handoff_id]);
    })
    .await;
}

#[tokio::test]
async fn a_result_that_nobody_collected_in_time_says_for_how_long_and_stays_readable() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = collected(server, &parent).await;
        let id = &handoff.handoff_id;
        report(server, &handoff, "done").await;
        server.clock.advance(Duration::from_secs(3_599)).await;
        let early = server.sweep(JobName::CheckDue).await;
        assert_eq!((early.found, early.moved), (0, 0));
        assert_eq!(early.next, Some(Duration::from_secs(1)));
        server.clock.advance(Duration::from_secs(1)).await;
        assert_eq!(server.sweep(JobName::CheckDue).await.moved, 1);
        assert_eq!(server.sweep(JobName::CheckDue).await.found, 0);
        server.clock.advance(Duration::from_secs(400)).await;
        let snapshot = status(server, id).await;
        let closed = snapshot.handoff.unwrap();
        assert_eq!(closed.status(), v1::HandoffStatus::ExpiredUnnotified);
        assert_eq!(closed.outcome(), v1::Outcome::Succeeded);
        assert_eq!(snapshot.result.as_deref(), Some("done"));
        let reason = snapshot.not_notified_reason.unwrap();
        assert_eq!(reason.kind(), v1::NotNotifiedKind::FinishedAgo);
        let span = Span {
            seconds: 4_000,
            nanos: 0,
        };
        assert_eq!(reason.span, Some(span));
        assert_eq!(
            reasons(server, id).await,
            [Reason::Created, Reason::Reported, Reason::NotNotified]
        );
        acknowledge(server, &parent, id, 1).await.unwrap();
        assert_eq!(stored(server, id).await, closed, "closed is closed");
        let delivered = status(server, id).await.report_delivery();
        assert_eq!(delivered, v1::ReportDelivery::Delivered);
    })
    .await;
}

#[tokio::test]
async fn work_that_ends_badly_closes_at_once_and_its_end_is_pending_until_acknowledged() {
    with_server(async |server| {
        let parent = boss(server).await;
        let failed = collected(server, &parent).await;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let failure = v1::FinishTurnRequest {
            outcome: v1::TurnOutcome::Failed as i32,
            error: Some(v1::TurnError {
                failure_class: v1::FailureClass::ModelError as i32,
                summary: "refused".to_owned(),
            }),
            ..done(&turn, v1::TurnNext::Unspecified)
        };
        worker.finish(failure).await;
        let cancelled = collected(server, &parent).await;
        cancel(server, cancelling(&cancelled.handoff_id)).await;
        for (handoff, ended) in [
            (failed, v1::HandoffStatus::Error),
            (cancelled, v1::HandoffStatus::Cancelled),
        ] {
            let id = &handoff.handoff_id;
            let snapshot = status(server, id).await;
            let closed = snapshot.handoff.clone().unwrap();
            assert_eq!(closed.status(), ended);
            assert_eq!(closed.finish_time, closed.close_time);
            assert_eq!(snapshot.report_delivery(), v1::ReportDelivery::Pending);
            assert_eq!(reasons(server, id).await.last(), Some(&Reason::NotNotified));
            acknowledge(server, &parent, id, 1).await.unwrap();
            let snapshot = status(server, id).await;
            assert_eq!(snapshot.report_delivery(), v1::ReportDelivery::Delivered);
            assert_eq!(snapshot.handoff.unwrap(), closed);
        }
        assert!(mail(server, &parent).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn without_a_parent_thread_nothing_is_collected() {
    with_server(async |server| {
        boss(server).await;
        let handoff = collected(server, "").await;
        report(server, &handoff, "done").await;
        let snapshot = status(server, &handoff.handoff_id).await;
        assert_eq!(snapshot.report_delivery(), v1::ReportDelivery::None);
        let closed = snapshot.handoff.unwrap();
        assert_eq!(closed.status(), v1::HandoffStatus::Completed);
        assert_eq!(closed.finish_time, closed.close_time);
    })
    .await;
}

async fn delete(server: &TestServer, thread: &str) {
    let delete = "UPDATE thread_heads SET delete_time = handoffd_now() WHERE thread_id = $1";
    let delete = sqlx::query(delete).bind(crate::mailbox::raw(thread));
    delete.execute(&server.pool).await.unwrap();
}

#[tokio::test]
async fn where_the_parent_is_deleted_the_end_is_told_to_nobody_and_says_so() {
    with_server(async |server| {
        let parent = boss(server).await;
        let mailed = hand_off(server, asking(&parent)).await;
        let kept = collected(server, &parent).await;
        let quiet = v1::CreateHandoffRequest {
            on_completion: v1::OnCompletion::None as i32,
            ..asking(&parent)
        };
        let quiet = hand_off(server, quiet).await;
        delete(server, &parent).await;
        for handoff in [&mailed, &kept, &quiet] {
            report(server, handoff, "done").await;
            let last = reasons(server, &handoff.handoff_id).await.pop();
            assert_eq!(last, Some(Reason::NotNotified));
        }
        for handoff in [&mailed, &kept] {
            let snapshot = status(server, &handoff.handoff_id).await;
            let closed = snapshot.handoff.unwrap();
            assert_eq!(closed.status(), v1::HandoffStatus::ExpiredUnnotified);
            let reason = snapshot.not_notified_reason.unwrap();
            assert_eq!(reason.kind(), v1::NotNotifiedKind::FinishedAgo);
            assert_eq!(snapshot.result.as_deref(), Some("done"));
        }
        let quiet = status(server, &quiet.handoff_id).await;
        assert_eq!(
            quiet.handoff.unwrap().status(),
            v1::HandoffStatus::Completed
        );
        assert_eq!(quiet.not_notified_reason, None, "no notice was wanted");
    })
    .await;
}

#[tokio::test]
async fn an_end_that_was_mailed_and_not_read_says_why_until_it_is_delivered() {
    with_server_of(
        |config| config.rules.max_lost_turns = 1,
        async |server| {
            boss(server).await;
            let parent = thread(server, "boss", v1::ThreadDrive::Runtime).await;
            let runtime = Worker::register(server, "boss").await;
            let handoff = hand_off(server, asking(&parent)).await;
            let id = &handoff.handoff_id;
            report(server, &handoff, "done").await;
            let reason = async || status(server, id).await.not_notified_reason;
            server.clock.advance(Duration::from_hours(1)).await;
            assert_eq!(reason().await, None, "it may still be read soon");
            server.clock.advance(Duration::from_secs(100)).await;
            let idle = reason().await.unwrap();
            assert_eq!(idle.kind(), v1::NotNotifiedKind::ParentIdle);
            assert_eq!(idle.span.unwrap().seconds, 3_700);
            runtime.begin().await;
            assert_eq!(reason().await, None, "a turn is at it");
            server.sweep(JobName::ExpireLeases).await;
            server.clock.advance(Duration::from_secs(61)).await;
            server.sweep(JobName::ExpireLeases).await;
            let failed = reason().await.unwrap();
            assert_eq!(failed.kind(), v1::NotNotifiedKind::SubmitFailed);
            assert_eq!(failed.span, None);
            acknowledge(server, &parent, id, 1).await.unwrap();
            assert_eq!(reason().await, None);
        },
    )
    .await;
}

#[tokio::test]
async fn the_database_lets_nobody_change_an_end_before_it_is_closed() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = collected(server, &parent).await;
        report(server, &handoff, "done").await;
        for change in [
            "UPDATE handoffs SET outcome = 'failed'",
            "UPDATE handoffs SET finish_time = NULL, outcome = NULL, due_time = NULL",
            "UPDATE handoffs SET report_version = 2",
            "UPDATE handoffs SET result_version = NULL",
            "UPDATE handoffs SET status = 'running', first_turn_time = handoffd_now()",
            "UPDATE handoffs SET due_time = NULL",
            "UPDATE handoffs SET on_completion = 'notify'",
        ] {
            let refused = sqlx::query(change).execute(&server.pool).await;
            let refused = refused.unwrap_err();
            let code = refused.as_database_error().unwrap().code();
            assert_eq!(code.as_deref(), Some("23514"), "{refused}");
        }
        let unknown = acknowledge(server, &parent, &handoff.handoff_id, 2).await;
        assert_eq!(told(unknown).reason, "REPORT_VERSION_UNKNOWN");
    })
    .await;
}
