//! Reports, and GetHandoffResults.

use std::time::Duration;

use handoffd::proto::v1;
use handoffd::workers::JobName;
use tonic::Code;
use v1::TimelineReason as Reason;

use super::scene::{
    Worker, asking, boss, cancel, cancelling, done, hand_off, mail, reasons, report, reporting,
    send, status, stored, thread, wait, waiting,
};
use crate::support::{Clients, told, with_server};

async fn results(clients: &Clients, id: &str) -> v1::GetHandoffResultsResponse {
    let request = v1::GetHandoffResultsRequest {
        handoff_id: id.to_owned(),
    };
    let told = clients.handoffs().get_handoff_results(request).await;
    told.unwrap().into_inner()
}

#[tokio::test]
async fn a_report_is_mailed_to_the_parent_and_ends_the_work_with_its_outcome() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let request = v1::SendMessageRequest {
            subject: "words".to_owned(),
            outcome: Some(v1::Outcome::Blocked as i32),
            artifacts: vec!["a".to_owned()],
            ..reporting(&handoff, "no file")
        };
        let sent = send(server, request).await;
        assert!(!sent.late && !sent.message_id.is_empty());
        let snapshot = status(server, id).await;
        let ended = snapshot.handoff.unwrap();
        assert_eq!(ended.status(), v1::HandoffStatus::Completed);
        assert_eq!(ended.outcome(), v1::Outcome::Blocked);
        assert!(ended.outcome_stated && ended.finish_time == ended.close_time);
        assert_eq!(ended.first_turn_time, None);
        assert_eq!(snapshot.result.as_deref(), Some("no file"));
        assert_eq!(snapshot.report_delivery, v1::ReportDelivery::Pending as i32);
        let progress = snapshot.progress.unwrap();
        assert_eq!(
            (progress.live_state, progress.hint, progress.waiting_on),
            (None, None, None)
        );

        let results = results(server, id).await;
        assert!(!results.partial);
        assert_eq!(results.result.as_deref(), Some("no file"));
        assert_eq!(results.reports.len(), 1);
        let first = &results.reports[0];
        assert_eq!((first.version, first.kind()), (1, v1::ReportKind::Report));
        assert_eq!(
            (first.subject.as_str(), first.body.as_str()),
            ("words", "no file")
        );
        assert_eq!(first.artifacts, ["a"]);
        assert_eq!(first.message_id, sent.message_id);
        assert_eq!(first.delivery(), v1::ReportDelivery::Pending);
        assert_eq!(mail(server, &parent).await[0].body, "no file");
        delivered(server, id, v1::ReportDelivery::Delivered).await;
        assert_eq!(
            reasons(server, id).await,
            [Reason::Created, Reason::Reported]
        );
    })
    .await;
}

/// What status, results and a wait say of the newest report, which is one thing. Returns its time.
async fn delivered(
    clients: &Clients,
    id: &str,
    expected: v1::ReportDelivery,
) -> Option<prost_types::Timestamp> {
    let snapshot = status(clients, id).await;
    assert_eq!(snapshot.report_delivery(), expected);
    let report = results(clients, id).await.reports.remove(0);
    assert_eq!(report.delivery(), expected);
    let news = wait(clients, waiting(id, v1::WaitUntil::Update, 0)).await;
    assert_eq!(news.newest_report, Some(report.clone()));
    report.deliver_time
}

/// Only a turn that finishes has read: the mail of a lost one comes again.
#[tokio::test]
async fn a_report_is_delivered_when_a_turn_that_read_it_finishes_or_names_its_version() {
    with_server(async |server| {
        boss(server).await;
        let parent = thread(server, "boss", v1::ThreadDrive::Runtime).await;
        let runtime = Worker::register(server, "boss").await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        report(server, &handoff, "done").await;
        delivered(server, id, v1::ReportDelivery::Pending).await;
        runtime.begin().await;
        delivered(server, id, v1::ReportDelivery::Pending).await;
        // A mark of life first: else leases count from the pass, as after an outage.
        server.sweep(JobName::ExpireLeases).await;
        server.clock.advance(Duration::from_mins(1)).await;
        server.sweep(JobName::ExpireLeases).await;
        delivered(server, id, v1::ReportDelivery::Pending).await;
        server.clock.advance(Duration::from_secs(1)).await;
        let turn = runtime.begin().await;
        runtime.finish(done(&turn, v1::TurnNext::Wait)).await;
        let time = delivered(server, id, v1::ReportDelivery::Delivered).await;
        assert_eq!(time, None, "no time is kept of what the marks tell");

        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        report(server, &handoff, "done too").await;
        let turn = runtime.begin().await;
        let ack = v1::AckMailRequest {
            turn: Some(turn.clone()),
            reports: vec![v1::ReportAck {
                handoff_id: id.clone(),
                version: 1,
            }],
            ..v1::AckMailRequest::default()
        };
        server.mailbox().ack_mail(ack).await.unwrap();
        let time = delivered(server, id, v1::ReportDelivery::Delivered).await;
        assert!(time.is_some());
        runtime.finish(done(&turn, v1::TurnNext::Wait)).await;
    })
    .await;
}

#[tokio::test]
async fn with_none_a_report_is_recorded_and_nobody_is_told() {
    with_server(async |server| {
        let parent = boss(server).await;
        let request = v1::CreateHandoffRequest {
            on_completion: v1::OnCompletion::None as i32,
            ..asking(&parent)
        };
        let handoff = hand_off(server, request).await;
        let sent = report(server, &handoff, "done").await;
        assert_eq!(sent.delivery(), v1::MessageDelivery::Recorded);
        assert_eq!(sent.message_id, "");
        assert!(mail(server, &parent).await.is_empty());
        let snapshot = status(server, &handoff.handoff_id).await;
        assert_eq!(snapshot.report_delivery, v1::ReportDelivery::None as i32);
        assert_eq!(snapshot.result.as_deref(), Some("done"));
        let ended = snapshot.handoff.unwrap();
        assert_eq!(ended.outcome(), v1::Outcome::Succeeded);
        assert!(!ended.outcome_stated);
        assert_eq!(
            reasons(server, &handoff.handoff_id).await,
            [Reason::Created, Reason::Reported, Reason::NotNotified]
        );
    })
    .await;
}

#[tokio::test]
async fn a_late_report_is_kept_and_changes_nothing() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        report(server, &handoff, "first").await;
        let before = stored(server, &handoff.handoff_id).await;
        let late = report(server, &handoff, "second").await;
        assert!(late.late);
        assert_eq!(stored(server, &handoff.handoff_id).await, before);
        let results = results(server, &handoff.handoff_id).await;
        assert_eq!(results.result.as_deref(), Some("first"));
        assert_eq!(results.reports.len(), 1);
        let mail = mail(server, &parent).await;
        let late: Vec<bool> = mail.iter().map(|it| it.late).collect();
        assert_eq!(late, [false, true]);
    })
    .await;
}

#[tokio::test]
async fn partial_results_are_whatever_exists() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let id = &handoff.handoff_id;
        let empty = results(server, id).await;
        assert!(empty.partial && empty.reports.is_empty());
        assert_eq!((empty.result, empty.latest_response), (None, None));
        assert_eq!(empty.usage, Some(v1::UsageTotals::default()));

        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let activity = v1::TurnActivity {
            sequence: 1,
            tool_calls: vec![v1::ToolCallActivity {
                name: "grep".to_owned(),
                ..v1::ToolCallActivity::default()
            }],
            partial_text: Some("so far".to_owned()),
            input_tokens: Some(7),
            output_tokens: Some(2),
        };
        worker.beat(&turn, Some(activity)).await;
        let progress = v1::SendMessageRequest {
            turn: Some(turn.clone()),
            from_thread_id: String::new(),
            kind: v1::MessageKind::Progress as i32,
            ..reporting(&handoff, "half")
        };
        send(server, progress).await;
        let live = results(server, id).await;
        let shown = live.progress.unwrap();
        assert_eq!(shown.partial_text.as_deref(), Some("so far"));
        assert_eq!(shown.latest_progress.as_deref(), Some("half"));
        assert_eq!(shown.last_tool_call.unwrap().name, "grep");
        let totals = v1::UsageTotals {
            input_tokens: Some(7),
            output_tokens: Some(2),
            tool_calls: Some(1),
            turns: 1,
        };
        assert_eq!(live.usage, Some(totals));

        let finish = v1::FinishTurnRequest {
            response_text: Some("not yet".to_owned()),
            ..done(&turn, v1::TurnNext::Wait)
        };
        worker.finish(finish).await;
        cancel(server, cancelling(id)).await;
        let ended = results(server, id).await;
        assert!(ended.partial);
        assert_eq!(ended.latest_response.as_deref(), Some("not yet"));
        assert_eq!(ended.usage, Some(totals));
        assert_eq!(ended.reports[0].kind(), v1::ReportKind::End);
        let error = ended.handoff.unwrap().error.unwrap();
        assert_eq!(error.cause(), v1::HandoffErrorCause::Cancelled);
        let reasons = reasons(server, id).await;
        assert!(reasons.contains(&Reason::Progress), "{reasons:?}");
    })
    .await;
}

#[tokio::test]
async fn reads_of_what_is_not_there_say_so() {
    with_server(async |server| {
        let missing = "hnd_00000000000070008000000000000000".to_owned();
        let request = v1::GetHandoffResultsRequest {
            handoff_id: missing.clone(),
        };
        let results = told(server.handoffs().get_handoff_results(request).await);
        let request = v1::GetHandoffTimelineRequest {
            handoff_id: missing,
            ..v1::GetHandoffTimelineRequest::default()
        };
        let timeline = told(server.status().get_handoff_timeline(request).await);
        let not_found = (Code::NotFound, "HANDOFF_NOT_FOUND");
        assert_eq!((results.what(), timeline.what()), (not_found, not_found));
        let malformed = v1::GetHandoffResultsRequest {
            handoff_id: "thr_1".to_owned(),
        };
        let malformed = told(server.handoffs().get_handoff_results(malformed).await);
        assert_eq!(malformed.fields, ["handoff_id"]);
    })
    .await;
}
