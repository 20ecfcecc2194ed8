//! CreateHandoff that watches: `async_mode` false.

use std::time::Duration;

use futures_util::future::join;
use handoffd::proto::v1;
use handoffd::server::config::Span;
use handoffd::workers::JobName;
use tokio::time::timeout;
use v1::{TimelineReason as Reason, WaitReason};

use super::scene::{
    SOON, Worker, acknowledge, asking, boss, cancel, cancelling, create, done, mail, reasons,
    report, send, status, stored, thread, timeline, wait, waiting,
};
use crate::support::{Clients, eventually, told, with_server, with_server_of};

/// Asks `worker` for something and watches for so long.
fn watching(parent: &str, seconds: i64) -> v1::CreateHandoffRequest {
    v1::CreateHandoffRequest {
        async_mode: Some(false),
        timeout: Some(prost_types::Duration { seconds, nanos: 0 }),
        ..asking(parent)
    }
}

/// The same, by a turn.
fn by(turn: &v1::TurnRef) -> v1::CreateHandoffRequest {
    v1::CreateHandoffRequest {
        turn: Some(turn.clone()),
        ..watching("", 300)
    }
}

/// A call that its caller gives up after two seconds: what it was told, half a second before.
async fn given_up(
    clients: &Clients,
    request: v1::CreateHandoffRequest,
) -> v1::CreateHandoffResponse {
    let mut request = tonic::Request::new(request);
    request.set_timeout(Duration::from_secs(2));
    let told = clients.handoffs().create_handoff(request).await;
    told.unwrap().into_inner()
}

/// The one turn that will be due.
pub(super) async fn begin(worker: &Worker) -> v1::TurnRef {
    let turns = tokio::sync::Mutex::new(Vec::new());
    eventually("a turn is due", async || {
        let mut turns = turns.lock().await;
        turns.extend(worker.claim().await);
        !turns.is_empty()
    })
    .await;
    let turn = super::scene::reference(&turns.into_inner()[0]);
    worker.beat(&turn, None).await;
    turn
}

fn response(turn: &v1::TurnRef, text: &str) -> v1::FinishTurnRequest {
    v1::FinishTurnRequest {
        response_text: Some(text.to_owned()),
        ..done(turn, v1::TurnNext::Finished)
    }
}

/// A root thread of `boss` that runs, and its turn.
async fn running_boss(clients: &Clients) -> (Worker, String, v1::TurnRef) {
    boss(clients).await;
    let parent = thread(clients, "boss", v1::ThreadDrive::Runtime).await;
    let wake = v1::SendMessageRequest {
        to_thread_id: parent.clone(),
        body: "begin".to_owned(),
        ..v1::SendMessageRequest::default()
    };
    send(clients, wake).await;
    let above = Worker::register_as(clients, "r2", "boss").await;
    let turn = above.begin().await;
    (above, parent, turn)
}

async fn states(clients: &Clients, thread: &str) -> Vec<v1::MessageState> {
    let request = v1::ListMailRequest {
        thread_id: thread.to_owned(),
        ..v1::ListMailRequest::default()
    };
    let listed = clients.mailbox().list_mail(request).await.unwrap();
    let listed = listed.into_inner().messages;
    listed.iter().map(v1::Message::state).collect()
}

#[tokio::test]
async fn a_final_response_ends_watched_work_and_comes_with_the_answer() {
    with_server(async |server| {
        let parent = boss(server).await;
        let worker = Worker::register(server, "worker").await;
        let child = async {
            let turn = begin(&worker).await;
            worker.finish(response(&turn, "7 words")).await
        };
        let (made, told) = timeout(SOON, join(create(server, watching(&parent, 3_600)), child))
            .await
            .unwrap();
        assert!(!told.handoff_open && !told.report_owed, "{told:?}");
        assert_eq!(made.watch_end(), WaitReason::Finished);
        assert_eq!(made.result.as_deref(), Some("7 words"));
        assert_eq!(made.partial_result, None);
        let handoff = made.handoff.unwrap();
        assert_eq!(handoff.status(), v1::HandoffStatus::Completed);
        assert_eq!(handoff.on_completion(), v1::OnCompletion::Notify);
        let id = &handoff.handoff_id;
        assert_eq!(
            reasons(server, id).await,
            [Reason::Created, Reason::TurnBegan, Reason::ResultRecorded]
        );
        // No turn made the call: the mail waits for whoever calls.
        let pending = status(server, id).await.report_delivery();
        assert_eq!(pending, v1::ReportDelivery::Pending);
        let mail = mail(server, &parent).await;
        assert_eq!((mail.len(), mail[0].body.as_str()), (1, "7 words"));
        assert_eq!(mail[0].kind(), v1::MessageKind::Report);
        assert_eq!(mail[0].report_version, Some(1));
    })
    .await;
}

#[tokio::test]
async fn the_mail_of_an_end_that_a_turn_watched_wakes_nobody() {
    with_server(async |server| {
        let (above, parent, top) = running_boss(server).await;
        let worker = Worker::register(server, "worker").await;
        let progress = |turn: &v1::TurnRef| v1::SendMessageRequest {
            turn: Some(turn.clone()),
            kind: v1::MessageKind::Progress as i32,
            body: "half".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        let child = async {
            let turn = begin(&worker).await;
            send(server, progress(&turn)).await;
            worker.finish(response(&turn, "7 words")).await
        };
        let (made, _) = join(create(server, by(&top)), child).await;
        assert_eq!(made.result.as_deref(), Some("7 words"));
        let id = made.handoff.unwrap().handoff_id;
        let told = above.beat(&top, None).await;
        assert!(told.signals.is_empty(), "{:?}", told.signals);
        let consumed = v1::MessageState::Consumed;
        assert_eq!(
            states(server, &parent).await,
            [v1::MessageState::Given, v1::MessageState::Unread, consumed]
        );
        let pending = status(server, &id).await.report_delivery();
        assert_eq!(pending, v1::ReportDelivery::Pending, "the turn may be lost");
        let finish = v1::FinishTurnRequest {
            received_through: Some(1),
            ..done(&top, v1::TurnNext::Finished)
        };
        assert!(!above.finish(finish).await.woken);
        let delivered = status(server, &id).await.report_delivery();
        assert_eq!(delivered, v1::ReportDelivery::Delivered);
        let news = wait(server, waiting(&id, v1::WaitUntil::Update, 0)).await;
        let newest = news.newest_report.unwrap();
        assert_eq!(newest.delivery(), v1::ReportDelivery::Delivered);
        assert_eq!(newest.body, "7 words");
    })
    .await;
}

/// Whether it is lost or gives its turn back.
#[tokio::test]
async fn where_the_turn_that_watched_is_lost_the_mail_wakes_the_thread() {
    with_server(async |server| {
        let (above, parent, top) = running_boss(server).await;
        let worker = Worker::register(server, "worker").await;
        let child = async {
            let turn = begin(&worker).await;
            let blocked = v1::SendMessageRequest {
                turn: Some(turn.clone()),
                kind: v1::MessageKind::Report as i32,
                body: "7 words".to_owned(),
                ..v1::SendMessageRequest::default()
            };
            send(server, blocked).await;
            worker.finish(done(&turn, v1::TurnNext::Finished)).await
        };
        let (made, _) = join(create(server, by(&top)), child).await;
        let id = made.handoff.unwrap().handoff_id;
        server.sweep(JobName::ExpireLeases).await;
        server.clock.advance(Duration::from_secs(61)).await;
        server.sweep(JobName::ExpireLeases).await;
        let pending = status(server, &id).await.report_delivery();
        assert_eq!(pending, v1::ReportDelivery::Pending);
        server.clock.advance(Duration::from_secs(1)).await;
        let again = above.claim().await;
        let bodies: Vec<&str> = again[0].mail.iter().map(|it| it.body.as_str()).collect();
        assert_eq!(bodies, ["begin", "7 words"]);
        let top = super::scene::reference(&again[0]);
        assert!(!above.finish(done(&top, v1::TurnNext::Finished)).await.woken);
        let delivered = status(server, &id).await.report_delivery();
        assert_eq!(delivered, v1::ReportDelivery::Delivered);
        assert_eq!(
            states(server, &parent).await,
            [v1::MessageState::Consumed; 3],
            "the mail that was read, and the same under a new number"
        );
    })
    .await;
}

#[tokio::test]
async fn what_a_turn_acknowledged_does_not_come_back_when_it_is_released() {
    with_server(async |server| {
        let (above, parent, top) = running_boss(server).await;
        let worker = Worker::register(server, "worker").await;
        let mut ids = Vec::new();
        for text in ["first", "second"] {
            let child = async {
                let turn = begin(&worker).await;
                worker.finish(response(&turn, text)).await
            };
            let (made, _) = join(create(server, by(&top)), child).await;
            ids.push(made.handoff.unwrap().handoff_id);
        }
        let ack = v1::AckMailRequest {
            turn: Some(top.clone()),
            reports: vec![v1::ReportAck {
                handoff_id: ids[0].clone(),
                version: 1,
            }],
            ..v1::AckMailRequest::default()
        };
        server.mailbox().ack_mail(ack).await.unwrap();
        above.release(&top).await;
        let again = above.claim().await;
        let bodies: Vec<&str> = again[0].mail.iter().map(|it| it.body.as_str()).collect();
        assert_eq!(bodies, ["begin", "second"]);
        assert_eq!(states(server, &parent).await.len(), 4);
    })
    .await;
}

#[tokio::test]
async fn a_failure_that_a_turn_watched_comes_with_the_answer_too() {
    with_server(async |server| {
        let (above, parent, top) = running_boss(server).await;
        let worker = Worker::register(server, "worker").await;
        let child = async {
            let turn = begin(&worker).await;
            let failure = v1::FinishTurnRequest {
                outcome: v1::TurnOutcome::Failed as i32,
                error: Some(v1::TurnError {
                    failure_class: v1::FailureClass::ModelError as i32,
                    summary: "refused".to_owned(),
                }),
                ..done(&turn, v1::TurnNext::Unspecified)
            };
            worker.finish(failure).await
        };
        let (made, _) = join(create(server, by(&top)), child).await;
        assert_eq!(made.watch_end(), WaitReason::Finished);
        assert_eq!(made.result, None);
        let handoff = made.handoff.unwrap();
        assert_eq!(handoff.status(), v1::HandoffStatus::Error);
        assert_eq!(handoff.error.unwrap().summary, "refused");
        assert_eq!(
            states(server, &parent).await,
            [v1::MessageState::Given, v1::MessageState::Consumed]
        );
        assert!(!above.finish(done(&top, v1::TurnNext::Finished)).await.woken);
    })
    .await;
}

/// Case A9: the end of the window says that the work goes on; the result has its own version later.
#[tokio::test]
async fn the_end_of_the_window_stamps_the_status_once_and_the_child_goes_on() {
    with_server(async |server| {
        let parent = boss(server).await;
        let made = given_up(server, watching(&parent, 300)).await;
        assert_eq!(made.watch_end(), WaitReason::Timeout);
        let id = &made.handoff.as_ref().unwrap().handoff_id;
        let handoff = stored(server, id).await;
        assert_eq!(handoff.status(), v1::HandoffStatus::Started);
        let window = handoff.watch_time.unwrap().seconds - handoff.create_time.unwrap().seconds;
        assert_eq!(window, 300);
        server.clock.advance(Duration::from_secs(299)).await;
        assert_eq!(server.sweep(JobName::CheckDue).await.found, 0);
        server.clock.advance(Duration::from_secs(1)).await;
        let second = server.second().await;
        assert_eq!(second.sweep(JobName::CheckDue).await.moved, 1);
        assert_eq!(server.sweep(JobName::CheckDue).await.found, 0);
        let expired = stored(server, id).await;
        assert_eq!(expired.status(), v1::HandoffStatus::WatchExpired);
        assert_eq!((expired.outcome, expired.finish_time), (None, None));
        let snapshot = status(server, id).await;
        let shown = snapshot.progress.unwrap();
        assert_eq!(shown.live_state(), v1::LiveState::Running);
        assert!(mail(server, &parent).await.is_empty());

        // From now on the child owes a report, as with any other call.
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let told = worker.finish(response(&turn, "not yet")).await;
        assert!(told.handoff_open && told.report_owed);
        assert_eq!(told.handoff_status(), v1::HandoffStatus::WatchExpired);
        let going = stored(server, id).await;
        assert_eq!(going.status(), v1::HandoffStatus::WatchExpired);
        assert!(going.first_turn_time.is_some());
        let nudge = v1::SendMessageRequest {
            to_thread_id: handoff.thread_id.clone(),
            body: "well?".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        send(server, nudge).await;
        let turn = worker.begin().await;
        let words = v1::SendMessageRequest {
            turn: Some(turn.clone()),
            kind: v1::MessageKind::Report as i32,
            body: "7 words".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        send(server, words).await;
        let ended = stored(server, id).await;
        assert_eq!(ended.status(), v1::HandoffStatus::Completed);
        assert_eq!(ended.report_version, 1);
        assert_eq!(mail(server, &parent).await.len(), 1);
        let steps: Vec<(Reason, v1::HandoffStatus)> = timeline(server, id)
            .await
            .iter()
            .filter(|it| it.from != Some(it.to))
            .map(|it| (it.reason(), it.to()))
            .collect();
        assert_eq!(
            steps,
            [
                (Reason::Created, v1::HandoffStatus::Started),
                (Reason::WatchExpired, v1::HandoffStatus::WatchExpired),
                (Reason::Reported, v1::HandoffStatus::Completed)
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn the_call_that_watches_sees_the_end_of_its_window_by_itself() {
    let quick = |config: &mut handoffd::server::config::Config| {
        config.database.poll_interval = Span(Duration::from_millis(100));
    };
    with_server_of(quick, async |server| {
        let parent = boss(server).await;
        let worker = Worker::register(server, "worker").await;
        let later = async {
            let turn = begin(&worker).await;
            let said = v1::FinishTurnRequest {
                response_text: Some("so far".to_owned()),
                ..done(&turn, v1::TurnNext::Wait)
            };
            worker.finish(said).await;
            server.clock.advance(Duration::from_mins(5)).await;
        };
        let request = v1::CreateHandoffRequest {
            timeout: None,
            ..watching(&parent, 1)
        };
        let both = join(create(server, request), later);
        let (made, ()) = timeout(SOON, both).await.unwrap();
        assert_eq!(made.watch_end(), WaitReason::Timeout);
        assert_eq!(made.result, None);
        assert_eq!(made.partial_result.as_deref(), Some("so far"));
        let handoff = made.handoff.unwrap();
        assert_eq!(handoff.status(), v1::HandoffStatus::WatchExpired);
        assert_eq!(server.sweep(JobName::CheckDue).await.found, 0);
    })
    .await;
}

#[tokio::test]
async fn a_repeat_joins_what_is_left_of_the_watch_or_is_told_its_end_at_once() {
    with_server(async |server| {
        let parent = boss(server).await;
        let request = v1::CreateHandoffRequest {
            request_id: Some("r".to_owned()),
            ..watching(&parent, 300)
        };
        let first = given_up(server, request.clone()).await;
        let handoff = first.handoff.unwrap();
        let second = server.second().await;
        let later = async {
            // The repeat has looked once, or looks later.
            report(server, &handoff, "done").await;
        };
        let both = join(create(&second, request.clone()), later);
        let (joined, ()) = timeout(SOON, both).await.unwrap();
        assert!(joined.deduplicated);
        assert_eq!(joined.watch_end(), WaitReason::Finished);
        assert_eq!(joined.result.as_deref(), Some("done"));
        let again = timeout(SOON, create(server, request)).await.unwrap();
        assert_eq!(again.handoff, joined.handoff);
        assert_eq!(again.watch_end(), WaitReason::Finished);

        let other = v1::CreateHandoffRequest {
            request_id: Some("s".to_owned()),
            ..watching(&parent, 300)
        };
        let first = given_up(server, other.clone()).await;
        server.clock.advance(Duration::from_mins(5)).await;
        let over = timeout(SOON, create(&second, other)).await.unwrap();
        assert_eq!(over.watch_end(), WaitReason::Timeout);
        let (over, first) = (over.handoff.unwrap(), first.handoff.unwrap());
        assert_eq!(over.handoff_id, first.handoff_id);
        assert_eq!(over.status(), v1::HandoffStatus::WatchExpired);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_stops_lets_its_callers_go_and_the_watch_goes_on_elsewhere() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        // Connected before it stops.
        let connected = v1::ListAgentsRequest::default();
        second.agents().list_agents(connected).await.unwrap();
        let request = v1::CreateHandoffRequest {
            request_id: Some("r".to_owned()),
            ..watching(&parent, 300)
        };
        let stop = async {
            eventually("the work is there", async || {
                let all = v1::ListHandoffsRequest::default();
                let listed = server.status().list_handoffs(all).await.unwrap();
                !listed.into_inner().handoffs.is_empty()
            })
            .await;
            second.stop().await;
        };
        let both = join(create(&second, request.clone()), stop);
        let (told, ()) = timeout(SOON, both).await.unwrap();
        assert_eq!(told.watch_end(), WaitReason::Draining);
        let handoff = told.handoff.unwrap();
        assert_eq!(handoff.status(), v1::HandoffStatus::Started);
        let both = join(create(server, request), report(server, &handoff, "done"));
        let (joined, _) = timeout(SOON, both).await.unwrap();
        assert_eq!(joined.result.as_deref(), Some("done"));
    })
    .await;
}

#[tokio::test]
async fn work_for_no_thread_is_returned_by_the_call() {
    with_server(async |server| {
        boss(server).await;
        let worker = Worker::register(server, "worker").await;
        let child = async {
            let turn = begin(&worker).await;
            worker.finish(response(&turn, "7 words")).await
        };
        let (made, _) = join(create(server, watching("", 300)), child).await;
        assert_eq!(made.result.as_deref(), Some("7 words"));
        let handoff = made.handoff.unwrap();
        assert_eq!(handoff.on_completion(), v1::OnCompletion::Return);
        assert_eq!(handoff.status(), v1::HandoffStatus::Completed);
    })
    .await;
}

#[tokio::test]
async fn a_window_is_above_zero_and_an_hour_at_most() {
    with_server(async |server| {
        let parent = boss(server).await;
        for seconds in [0, -1, 3_601] {
            let request = watching(&parent, seconds);
            let refused = told(server.handoffs().create_handoff(request).await);
            assert_eq!(refused.reason, "INVALID_FIELD");
            assert_eq!(refused.fields, ["timeout"]);
        }
        let request = v1::CreateHandoffRequest {
            async_mode: Some(true),
            ..watching(&parent, 60)
        };
        let made = timeout(SOON, create(server, request)).await.unwrap();
        assert_eq!(made.watch_end(), WaitReason::Unspecified);
        assert_eq!(made.handoff.unwrap().watch_time, None);
    })
    .await;
}

/// A key names the work, however it is called for.
#[tokio::test]
async fn a_call_that_finds_the_work_of_an_asynchronous_one_waits_and_stamps_nothing() {
    with_server(async |server| {
        let parent = boss(server).await;
        let key = Some("k".to_owned());
        let request = v1::CreateHandoffRequest {
            idempotency_key: key.clone(),
            ..asking(&parent)
        };
        let made = create(server, request).await.handoff.unwrap();
        let request = v1::CreateHandoffRequest {
            idempotency_key: key,
            ..watching(&parent, 1)
        };
        let found = timeout(SOON, create(server, request)).await.unwrap();
        assert!(found.deduplicated);
        assert_eq!(found.watch_end(), WaitReason::Timeout);
        assert_eq!(found.handoff.unwrap(), made);
    })
    .await;
}

#[tokio::test]
async fn the_database_lets_no_status_go_back() {
    with_server(async |server| {
        let parent = boss(server).await;
        let made = given_up(server, watching(&parent, 300)).await;
        let id = made.handoff.unwrap().handoff_id;
        server.clock.advance(Duration::from_mins(5)).await;
        server.sweep(JobName::CheckDue).await;
        for change in [
            "UPDATE handoffs SET status = 'started', due_time = watch_time",
            "UPDATE handoffs SET status = 'running', first_turn_time = handoffd_now(), due_time = watch_time",
            "UPDATE handoffs SET status = 'first_response', first_turn_time = handoffd_now()",
            "UPDATE handoffs SET watch_time = NULL",
            "UPDATE handoffs SET due_time = watch_time",
        ] {
            let refused = sqlx::query(change).execute(&server.pool).await;
            let refused = refused.unwrap_err();
            let code = refused.as_database_error().unwrap().code();
            assert_eq!(code.as_deref(), Some("23514"), "{change}: {refused}");
        }
        cancel(server, cancelling(&id)).await;
    })
    .await;
}

/// Of a report and the end of the window the first commit is seen first; the work ends once all the same.
#[tokio::test]
async fn a_report_racing_the_end_of_the_window_ends_the_work_once() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        for round in 0..6 {
            let request = v1::CreateHandoffRequest {
                on_completion: v1::OnCompletion::Return as i32,
                ..watching(&parent, 300)
            };
            let made = given_up(server, request).await.handoff.unwrap();
            let id = &made.handoff_id;
            server.clock.advance(Duration::from_mins(5)).await;
            let (one, other) = (
                server.sweep(JobName::CheckDue),
                second.sweep(JobName::CheckDue),
            );
            let (clients, swept): (&Clients, _) = if round % 2 == 0 {
                (&second, join(one, other))
            } else {
                (server, join(one, other))
            };
            let both = join(swept, report(clients, &made, "done"));
            let ((one, other), sent) = both.await;
            assert!(!sent.late);
            let finished = stored(server, id).await;
            assert_eq!(finished, stored(&second, id).await);
            let expired = finished.status() == v1::HandoffStatus::WatchExpired;
            assert!(expired || finished.status() == v1::HandoffStatus::Started);
            assert_eq!(
                one.moved + other.moved,
                usize::from(expired),
                "stamped once"
            );
            assert_eq!(finished.outcome(), v1::Outcome::Succeeded);
            acknowledge(server, &parent, id, 1).await.unwrap();
            let closed = stored(&second, id).await;
            assert_eq!(closed.status(), v1::HandoffStatus::Completed);
        }
    })
    .await;
}
