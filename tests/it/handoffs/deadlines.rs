//! Deadlines, and what gives work more time.

use std::time::Duration;

use futures_util::future::join;
use handoffd::proto::v1;
use handoffd::workers::JobName;
use tokio::time::timeout;
use tonic::Code;
use v1::{HandoffErrorCause as Cause, TimelineReason as Reason};

use super::scene::{
    SOON, Worker, acknowledge, asking, boss, cancel, cancelling, create, done, hand_off, mail,
    progress, reasons, reference, report, reporting, send, status, stored, timeline,
};
use crate::support::{Clients, TestServer, told, with_server};

fn span(seconds: i64) -> prost_types::Duration {
    prost_types::Duration { seconds, nanos: 0 }
}

/// Work that may run for so long.
fn within(parent: &str, seconds: i64) -> v1::CreateHandoffRequest {
    v1::CreateHandoffRequest {
        deadline: Some(span(seconds)),
        ..asking(parent)
    }
}

fn extending(id: &str, version: u64, seconds: i64) -> v1::ExtendDeadlineRequest {
    v1::ExtendDeadlineRequest {
        handoff_id: id.to_owned(),
        deadline_version: version,
        deadline: Some(span(seconds)),
        ..v1::ExtendDeadlineRequest::default()
    }
}

async fn extend(
    clients: &Clients,
    request: v1::ExtendDeadlineRequest,
) -> Result<tonic::Response<v1::ExtendDeadlineResponse>, tonic::Status> {
    clients.handoffs().extend_deadline(request).await
}

/// Seconds from the first turn to the deadline.
fn runs(handoff: &v1::Handoff) -> i64 {
    handoff.deadline_time.unwrap().seconds - handoff.first_turn_time.unwrap().seconds
}

async fn due(server: &TestServer) -> usize {
    server.sweep(JobName::CheckDue).await.moved
}

/// Case B19: a run that ends by its deadline, without a word, always leaves something for its parent.
#[tokio::test]
async fn a_deadline_counts_from_the_first_turn_and_its_end_is_told_to_turn_and_parent() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, within(&parent, 50)).await;
        let id = &handoff.handoff_id;
        assert_eq!(
            (handoff.deadline, handoff.deadline_version),
            (Some(span(50)), 1)
        );
        assert_eq!(
            handoff.deadline_time, None,
            "time in the queue is none of it"
        );
        server.clock.advance(Duration::from_mins(10)).await;
        assert_eq!(due(server).await, 0);
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        assert_eq!(runs(&stored(server, id).await), 50);
        server.clock.advance(Duration::from_secs(49)).await;
        assert_eq!(due(server).await, 0);
        server.clock.advance(Duration::from_secs(1)).await;
        assert_eq!(due(server).await, 1);
        assert_eq!(server.sweep(JobName::CheckDue).await.found, 0);

        let snapshot = status(server, id).await;
        assert!(snapshot.stop.unwrap().acknowledge_time.is_none());
        let ended = snapshot.handoff.unwrap();
        assert_eq!(ended.status(), v1::HandoffStatus::Error);
        assert_eq!(ended.outcome(), v1::Outcome::Failed);
        let error = ended.error.clone().unwrap();
        assert_eq!(error.cause(), Cause::Deadline);
        assert!(error.summary.contains("50 s"), "{error:?}");
        let told = worker.beat(&turn, None).await;
        let abort = |it: &v1::Signal| matches!(it.kind, Some(v1::signal::Kind::Abort(_)));
        assert!(told.signals.iter().any(abort), "{:?}", told.signals);
        let notices = mail(server, &parent).await;
        assert_eq!(notices.len(), 1);
        assert_eq!(notices[0].kind(), v1::MessageKind::Notice);
        assert!(notices[0].body.contains("deadline"), "{}", notices[0].body);

        let late = v1::SendMessageRequest {
            turn: Some(turn.clone()),
            from_thread_id: String::new(),
            ..reporting(&handoff, "done")
        };
        assert!(send(server, late).await.late);
        let stopped = v1::FinishTurnRequest {
            outcome: v1::TurnOutcome::Aborted as i32,
            ..done(&turn, v1::TurnNext::Unspecified)
        };
        worker.finish(stopped).await;
        assert_eq!(stored(server, id).await, ended);
        assert_eq!(
            reasons(server, id).await,
            [
                Reason::Created,
                Reason::TurnBegan,
                Reason::Failed,
                Reason::StopRequested,
                Reason::LateReport,
                Reason::StopAcknowledged
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn a_deadline_ends_an_idle_child_too_and_says_where_no_notice_was_wanted() {
    with_server(async |server| {
        let parent = boss(server).await;
        let quiet = v1::CreateHandoffRequest {
            on_completion: v1::OnCompletion::None as i32,
            ..within(&parent, 50)
        };
        let handoff = hand_off(server, quiet).await;
        let id = &handoff.handoff_id;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        worker.finish(done(&turn, v1::TurnNext::Continue)).await;
        server.clock.advance(Duration::from_secs(50)).await;
        assert_eq!(due(server).await, 1);
        assert!(worker.claim().await.is_empty(), "nothing is left to do");
        let error = stored(server, id).await.error.unwrap();
        assert_eq!(error.cause(), Cause::Deadline);
        assert_eq!(reasons(server, id).await.pop(), Some(Reason::NotNotified));
        assert!(mail(server, &parent).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_result_in_time_lets_the_deadline_go() {
    with_server(async |server| {
        let parent = boss(server).await;
        let request = v1::CreateHandoffRequest {
            on_completion: v1::OnCompletion::Return as i32,
            ..within(&parent, 50)
        };
        let handoff = hand_off(server, request).await;
        let id = &handoff.handoff_id;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let response = v1::FinishTurnRequest {
            response_text: Some("7 words".to_owned()),
            ..done(&turn, v1::TurnNext::Finished)
        };
        worker.finish(response).await;
        server.clock.advance(Duration::from_mins(1)).await;
        assert_eq!(server.sweep(JobName::CheckDue).await.found, 0);
        acknowledge(server, &parent, id, 1).await.unwrap();
        let closed = stored(server, id).await;
        assert_eq!(closed.status(), v1::HandoffStatus::Completed);
        assert_eq!(runs(&closed), 50, "kept as it was");
    })
    .await;
}

#[tokio::test]
async fn limits_come_from_the_call_or_the_agent_and_have_bounds() {
    with_server(async |server| {
        let parent = boss(server).await;
        let put = |default: i64, claim: i64| v1::PutAgentRequest {
            agent_id: "worker".to_owned(),
            default_deadline: Some(span(default)),
            claim_deadline: Some(span(claim)),
            ..v1::PutAgentRequest::default()
        };
        let stored = server.agents().put_agent(put(70, 600)).await.unwrap();
        let stored = stored.into_inner().agent.unwrap();
        assert_eq!(
            (stored.default_deadline, stored.claim_deadline),
            (Some(span(70)), Some(span(600)))
        );
        let asked = hand_off(server, asking(&parent)).await;
        assert_eq!(asked.deadline, Some(span(70)));
        let own = hand_off(server, within(&parent, 9)).await;
        assert_eq!(own.deadline, Some(span(9)));
        for (default, claim, field) in [
            (0, 600, "default_deadline"),
            (86_401, 600, "default_deadline"),
            (70, 0, "claim_deadline"),
            (70, 604_801, "claim_deadline"),
        ] {
            let refused = told(server.agents().put_agent(put(default, claim)).await);
            assert_eq!(refused.fields, [field]);
        }
        for seconds in [0, -1, 86_401] {
            let request = within(&parent, seconds);
            let refused = told(server.handoffs().create_handoff(request).await);
            assert_eq!(refused.fields, ["deadline"]);
            let refused = told(extend(server, extending(&own.handoff_id, 1, seconds)).await);
            assert_eq!(refused.fields, ["deadline"]);
        }
        let nothing = v1::ExtendDeadlineRequest {
            deadline: None,
            ..extending(&own.handoff_id, 1, 1)
        };
        let refused = told(extend(server, nothing).await);
        assert_eq!(refused.fields, ["deadline"]);
    })
    .await;
}

#[tokio::test]
async fn an_extension_names_the_version_it_knows_and_repeats_safely() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, within(&parent, 50)).await;
        let id = &handoff.handoff_id;
        let request = v1::ExtendDeadlineRequest {
            request_id: Some("e".to_owned()),
            ..extending(id, 1, 100)
        };
        let extended = extend(server, request.clone()).await.unwrap().into_inner();
        let first = extended.handoff.unwrap();
        assert_eq!(
            (first.deadline, first.deadline_version),
            (Some(span(100)), 2)
        );
        assert_eq!(first.deadline_time, None, "it counts from the first turn");
        let stale = told(extend(server, extending(id, 1, 500)).await);
        assert_eq!(stale.what(), (Code::Aborted, "STALE_DEADLINE"));
        assert_eq!(stale.metadata["current"], "2");

        let worker = Worker::register(server, "worker").await;
        worker.begin().await;
        assert_eq!(runs(&stored(server, id).await), 100);
        server.clock.advance(Duration::from_secs(30)).await;
        let extended = extend(server, extending(id, 2, 100)).await.unwrap();
        let later = extended.into_inner().handoff.unwrap();
        assert_eq!((runs(&later), later.deadline_version), (130, 3), "from now");
        assert_eq!(later, stored(server, id).await);
        let again = extend(server, request).await.unwrap().into_inner();
        assert!(again.deduplicated);
        assert_eq!(again.handoff.unwrap(), later, "brought up to the present");
        let said = reasons(server, id).await;
        let set = said.iter().filter(|it| **it == Reason::DeadlineSet);
        assert_eq!(set.count(), 2);

        server.clock.advance(Duration::from_secs(100)).await;
        assert_eq!(due(server).await, 1);
        let ended = told(extend(server, extending(id, 3, 100)).await);
        assert_eq!(ended.what(), (Code::FailedPrecondition, "HANDOFF_ENDED"));
        let unlimited = hand_off(server, asking(&parent)).await;
        assert_eq!((unlimited.deadline, unlimited.deadline_version), (None, 0));
        let limited = extend(server, extending(&unlimited.handoff_id, 0, 9)).await;
        let limited = limited.unwrap().into_inner().handoff.unwrap();
        assert_eq!(
            (limited.deadline, limited.deadline_version),
            (Some(span(9)), 1)
        );
    })
    .await;
}

#[tokio::test]
async fn only_the_parent_and_operators_give_more_time() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, within(&parent, 50)).await;
        let worker = Worker::register(server, "worker").await;
        let middle = worker.begin().await;
        let by = |turn: &v1::TurnRef, id: &str| v1::ExtendDeadlineRequest {
            turn: Some(turn.clone()),
            ..extending(id, 1, 99)
        };
        let own = told(extend(server, by(&middle, &handoff.handoff_id)).await);
        assert_eq!(own.what(), (Code::PermissionDenied, "NOT_PARENT"));
        let below = v1::CreateHandoffRequest {
            turn: Some(middle.clone()),
            ..within("", 50)
        };
        let below = hand_off(server, below).await;
        let bottom = worker.begin().await;
        let above = told(extend(server, by(&bottom, &handoff.handoff_id)).await);
        assert_eq!(above.what(), (Code::NotFound, "HANDOFF_NOT_FOUND"));
        let mine = extend(server, by(&middle, &below.handoff_id)).await;
        let mine = mine.unwrap().into_inner().handoff.unwrap();
        assert_eq!(runs(&mine), 99);
        let entries = timeline(server, &below.handoff_id).await;
        let actor = entries.last().unwrap().actor.clone().unwrap();
        assert_eq!(actor.kind(), v1::TimelineActorKind::Thread);
        assert_eq!(actor.id, handoff.thread_id);
    })
    .await;
}

const ROUNDS: usize = 30;

/// A handoff whose deadline is passing now, and its turn.
async fn at_its_deadline(
    server: &TestServer,
    worker: &Worker,
    parent: &str,
) -> (v1::Handoff, v1::TurnRef) {
    let handoff = hand_off(server, within(parent, 1)).await;
    let turn = worker.begin().await;
    server.clock.advance(Duration::from_secs(1)).await;
    (handoff, turn)
}

/// Case C15: extended and alive, or expired and refused.
#[tokio::test]
async fn of_an_extension_and_an_expiry_exactly_one_wins() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        let worker = Worker::register(server, "worker").await;
        for round in 0..ROUNDS {
            let (handoff, turn) = at_its_deadline(server, &worker, &parent).await;
            let id = &handoff.handoff_id;
            let (extended, swept) = if round % 2 == 0 {
                let both = join(
                    extend(server, extending(id, 1, 900)),
                    second.sweep(JobName::CheckDue),
                );
                both.await
            } else {
                let (swept, extended) = join(
                    server.sweep(JobName::CheckDue),
                    extend(&second, extending(id, 1, 900)),
                )
                .await;
                (extended, swept)
            };
            let (here, there) = join(stored(server, id), stored(&second, id)).await;
            assert_eq!(here, there);
            let expired = here.status() == v1::HandoffStatus::Error;
            assert_eq!(swept.moved, usize::from(expired));
            let told = worker.beat(&turn, None).await;
            let abort = |it: &v1::Signal| matches!(it.kind, Some(v1::signal::Kind::Abort(_)));
            assert_eq!(told.signals.iter().any(abort), expired);
            match extended {
                Ok(extended) => {
                    assert!(!expired, "extended, and gone");
                    assert_eq!(extended.into_inner().handoff.unwrap(), here);
                    assert_eq!(here.status(), v1::HandoffStatus::Running);
                    cancel(server, cancelling(id)).await;
                }
                Err(refused) => {
                    assert!(expired, "refused, and alive");
                    let refused = told_of(refused);
                    assert_eq!(refused, "HANDOFF_ENDED");
                }
            }
            worker.finish(done(&turn, v1::TurnNext::Finished)).await;
        }
    })
    .await;
}

fn told_of(refused: tonic::Status) -> String {
    told(Err::<tonic::Response<()>, _>(refused)).reason
}

/// Case C5: the first commit wins, and every reader is told the same.
#[tokio::test]
async fn a_report_or_a_cancel_racing_the_deadline_ends_the_work_once() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        let worker = Worker::register(server, "worker").await;
        for round in 0..ROUNDS {
            let (handoff, turn) = at_its_deadline(server, &worker, &parent).await;
            let id = &handoff.handoff_id;
            let words = v1::SendMessageRequest {
                turn: Some(turn.clone()),
                from_thread_id: String::new(),
                ..reporting(&handoff, "done")
            };
            let swept = second.sweep(JobName::CheckDue);
            let (won, swept, status) = if round % 2 == 0 {
                let (swept, sent) = join(swept, send(server, words)).await;
                (!sent.late, swept, v1::HandoffStatus::Completed)
            } else {
                let (swept, told) = join(swept, cancel(server, cancelling(id))).await;
                (!told.already_ended, swept, v1::HandoffStatus::Cancelled)
            };
            let (here, there) = join(stored(server, id), stored(&second, id)).await;
            assert_eq!(here, there);
            assert_eq!(swept.moved, usize::from(!won));
            let expected = if won {
                status
            } else {
                v1::HandoffStatus::Error
            };
            assert_eq!(here.status(), expected);
            assert_eq!(here.report_version, 1);
            let entries = timeline(&second, id).await;
            let ends = entries.iter().filter(|it| it.from != Some(it.to));
            assert_eq!(
                ends.count(),
                3,
                "created, begun, and ended once: {entries:?}"
            );
            worker.finish(done(&turn, v1::TurnNext::Finished)).await;
        }
    })
    .await;
}

/// A finish that completes, against the deadline.
#[tokio::test]
async fn a_final_response_racing_the_deadline_is_the_result_or_comes_too_late() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        let worker = Worker::register(server, "worker").await;
        for _ in 0..ROUNDS {
            let request = v1::CreateHandoffRequest {
                on_completion: v1::OnCompletion::None as i32,
                ..within(&parent, 1)
            };
            let handoff = hand_off(server, request).await;
            let id = &handoff.handoff_id;
            let turn = worker.begin().await;
            server.clock.advance(Duration::from_secs(1)).await;
            let response = v1::FinishTurnRequest {
                response_text: Some("7 words".to_owned()),
                ..done(&turn, v1::TurnNext::Finished)
            };
            let (swept, told) =
                join(second.sweep(JobName::CheckDue), worker.finish(response)).await;
            let (here, there) = join(stored(server, id), stored(&second, id)).await;
            assert_eq!(here, there);
            assert!(!told.handoff_open);
            assert_eq!(told.handoff_status(), here.status());
            let expired = here.status() == v1::HandoffStatus::Error;
            assert!(expired || here.status() == v1::HandoffStatus::Completed);
            assert_eq!(swept.moved, usize::from(expired));
            assert_eq!(status(server, id).await.result.is_some(), !expired);
        }
    })
    .await;
}

#[tokio::test]
async fn work_that_no_runtime_begins_fails_after_the_bound_of_its_agent() {
    with_server(async |server| {
        let parent = boss(server).await;
        let bound = v1::PutAgentRequest {
            agent_id: "worker".to_owned(),
            claim_deadline: Some(span(600)),
            ..v1::PutAgentRequest::default()
        };
        server.agents().put_agent(bound).await.unwrap();
        let waits = hand_off(server, asking(&parent)).await;
        server.clock.advance(Duration::from_mins(10)).await;
        assert_eq!(due(server).await, 1);
        let ended = stored(server, &waits.handoff_id).await;
        assert_eq!(ended.status(), v1::HandoffStatus::Error);
        let error = ended.error.unwrap();
        assert_eq!(error.cause(), Cause::Unclaimed);
        assert!(error.advice.contains("`worker`"), "{error:?}");
        assert_eq!(mail(server, &parent).await.len(), 1);
        let worker = Worker::register(server, "worker").await;
        assert!(worker.claim().await.is_empty(), "it is not begun any more");

        // A runtime that was just given it has a little longer.
        let claimed = hand_off(server, asking(&parent)).await;
        server.clock.advance(Duration::from_secs(599)).await;
        let turns = worker.claim().await;
        server.clock.advance(Duration::from_secs(1)).await;
        due(server).await;
        let turn = reference(&turns[0]);
        worker.beat(&turn, None).await;
        server.clock.advance(Duration::from_mins(1)).await;
        assert_eq!(server.sweep(JobName::CheckDue).await.found, 0);
        let running = stored(server, &claimed.handoff_id).await;
        assert_eq!(running.status(), v1::HandoffStatus::Running);
    })
    .await;
}

#[tokio::test]
async fn without_a_bound_of_its_agent_unclaimed_work_shows_as_stalled_and_waits() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        server.clock.advance(Duration::from_secs(3_601)).await;
        assert_eq!(server.sweep(JobName::CheckDue).await.found, 0);
        let shown = progress(server, &handoff.handoff_id).await;
        assert_eq!(shown.live_state(), v1::LiveState::Stalled);
        assert_eq!(shown.stall_reason(), v1::StallReason::Unclaimed);
        let hint = shown.hint.unwrap();
        assert_eq!(hint.action(), v1::HintAction::StartRuntime);
        report(server, &handoff, "done").await;
    })
    .await;
}

#[tokio::test]
async fn a_call_that_watches_is_told_of_the_deadline() {
    with_server(async |server| {
        let parent = boss(server).await;
        let worker = Worker::register(server, "worker").await;
        let request = v1::CreateHandoffRequest {
            async_mode: Some(false),
            ..within(&parent, 9)
        };
        let later = async {
            let turn = super::watches::begin(&worker).await;
            server.clock.advance(Duration::from_secs(9)).await;
            assert_eq!(due(server).await, 1);
            turn
        };
        let both = join(create(server, request), later);
        let (made, turn) = timeout(SOON, both).await.unwrap();
        assert_eq!(made.watch_end(), v1::WaitReason::Finished);
        let ended = made.handoff.unwrap();
        assert_eq!(ended.error.unwrap().cause(), Cause::Deadline);
        worker.finish(done(&turn, v1::TurnNext::Finished)).await;
    })
    .await;
}
