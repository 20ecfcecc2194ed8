//! FinishTurn: how a turn ends, what is consumed, what becomes of the work.

use std::time::Duration;

use handoffd::proto::v1;
use tonic::Code;

use crate::support::{told, with_server};

use super::stage::{
    Runtime, agent, bodies, done, ended, hand_off, history, mail, read, report, results,
    stop_child, thread, turn_ref,
};

fn next(turn: &v1::Turn, next: v1::TurnNext) -> v1::FinishTurnRequest {
    v1::FinishTurnRequest {
        next: next as i32,
        ..done(turn)
    }
}

fn failed(turn: &v1::Turn) -> v1::FinishTurnRequest {
    v1::FinishTurnRequest {
        error: Some(v1::TurnError {
            failure_class: v1::FailureClass::ModelError as i32,
            summary: "the model broke".to_owned(),
        }),
        ..ended(turn, v1::TurnOutcome::Failed)
    }
}

#[tokio::test]
async fn each_next_says_how_the_thread_goes_on() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "go").await;
        let turn = runtime.begin_one().await;

        assert!(
            runtime
                .finish(next(&turn, v1::TurnNext::Continue))
                .await
                .woken
        );
        let turn = runtime.begin_one().await;
        let wake_time = server.clock.now().await + Duration::from_mins(10);
        let at = v1::FinishTurnRequest {
            wake_time: Some(wake_time.into()),
            ..next(&turn, v1::TurnNext::WakeAt)
        };
        assert!(runtime.finish(at).await.woken);
        assert!(runtime.claim(1).await.is_empty());
        server.clock.advance(Duration::from_secs(599)).await;
        assert!(runtime.claim(1).await.is_empty());
        server.clock.advance(Duration::from_secs(1)).await;
        let turn = runtime.begin_one().await;

        assert!(!runtime.finish(next(&turn, v1::TurnNext::Wait)).await.woken);
        assert!(runtime.claim(1).await.is_empty());
        mail(server, &thread, "go").await;
        let turn = runtime.begin_one().await;
        assert!(
            !runtime
                .finish(next(&turn, v1::TurnNext::Finished))
                .await
                .woken
        );
        assert!(runtime.claim(1).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn mail_comes_before_the_time_a_thread_asked_for_and_a_past_time_is_at_once() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let thread = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &thread, "go").await;
        let turn = runtime.begin_one().await;
        let wake = |turn: &v1::Turn, wake_time: std::time::SystemTime| v1::FinishTurnRequest {
            wake_time: Some(wake_time.into()),
            ..next(turn, v1::TurnNext::WakeAt)
        };
        let now = server.clock.now().await;
        runtime
            .finish(wake(&turn, now + Duration::from_mins(10)))
            .await;
        mail(server, &thread, "now").await;
        let turn = runtime.begin_one().await;
        assert_eq!(bodies(&turn.mail), ["now"]);
        runtime
            .finish(wake(&turn, now - Duration::from_mins(10)))
            .await;
        let turn = runtime.begin_one().await;
        let far = wake(&turn, now + Duration::from_hours(8808));
        let refused = told(runtime.try_finish(far).await);
        assert_eq!(refused.code, Code::InvalidArgument);
        assert_eq!(refused.fields, ["wake_time"]);
        runtime.finish(done(&turn)).await;
    })
    .await;
}

#[tokio::test]
async fn a_repeated_finish_answers_as_the_first_did_and_another_is_refused() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let (thread, runtime) = (
            thread(server, "a").await,
            Runtime::register(server, "r", &["a"]).await,
        );
        mail(server, &thread, "one").await;
        let turn = runtime.begin_one().await;
        mail(server, &thread, "two").await;
        let first = runtime.finish(done(&turn)).await;
        assert!(first.woken);
        let next = runtime.begin_one().await;
        assert_eq!(runtime.finish(done(&turn)).await, first);
        let other = v1::FinishTurnRequest {
            response_text: Some("different".to_owned()),
            ..done(&turn)
        };
        let refused = told(runtime.try_finish(other).await);
        assert_eq!(refused.what(), (Code::Aborted, "TURN_CLOSED"));
        runtime.finish(done(&next)).await;
        assert_eq!(history(server, &thread).await.len(), 6);
    })
    .await;
}

#[tokio::test]
async fn aborted_is_only_for_turns_that_were_asked_to_stop() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let work = hand_off(server, "", "a", v1::OnTurnLost::Retry).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turn = runtime.begin_one().await;
        let aborted = ended(&turn, v1::TurnOutcome::Aborted);
        let refused = told(runtime.try_finish(aborted.clone()).await);
        assert_eq!(
            refused.what(),
            (Code::FailedPrecondition, "ABORT_NOT_REQUESTED")
        );

        stop_child(server, &work).await;
        for _ in 0..2 {
            let beat = runtime.beat(&[&turn]).await.remove(0);
            let kinds: Vec<_> = beat.signals.iter().map(|it| it.kind.clone()).collect();
            let [Some(v1::signal::Kind::Abort(abort))] = &kinds[..] else {
                panic!("no signal to stop: {beat:?}");
            };
            assert_eq!(abort.reason(), v1::AbortReason::Cancelled);
        }
        assert_eq!(read(server, &turn).await.signals.len(), 1);
        let finished = runtime.finish(aborted).await;
        assert!(!finished.handoff_open && !finished.woken);
        assert_eq!(finished.handoff_status(), v1::HandoffStatus::Cancelled);
        assert!(runtime.claim(1).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_stopped_child_whose_claim_nobody_began_does_not_run_again() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let work = hand_off(server, "", "a", v1::OnTurnLost::Retry).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turn = runtime.begin_one().await;
        runtime.finish(next(&turn, v1::TurnNext::Continue)).await;
        runtime.claim_one().await;
        stop_child(server, &work).await;
        super::stage::pass(server, 10).await;
        assert!(runtime.claim(1).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_failed_turn_ends_its_handoff_in_error_and_tells_the_parent() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        agent(server, "a", None).await;
        let parent = thread(server, "boss").await;
        let work = hand_off(server, &parent, "a", v1::OnTurnLost::Retry).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turn = runtime.begin_one().await;
        assert!(turn.report_owed);
        assert_eq!(turn.parent_thread_id, parent);
        assert_eq!(turn.parent_agent_id, "boss");
        assert_eq!(turn.assignment.as_ref().unwrap().task, "count the words");
        let finished = runtime.finish(failed(&turn)).await;
        assert_eq!(finished.handoff_status(), v1::HandoffStatus::Error);
        assert!(!finished.handoff_open && !finished.woken);

        let handoff = results(server, &work).await.handoff.unwrap();
        assert_eq!(handoff.outcome(), v1::Outcome::Failed);
        let error = handoff.error.unwrap();
        assert_eq!(error.cause(), v1::HandoffErrorCause::TurnFailed);
        assert_eq!(error.failure_class(), v1::FailureClass::ModelError);
        assert_eq!(error.summary, "the model broke");
        assert!(!error.advice.is_empty());

        let boss = Runtime::register(server, "b", &["boss"]).await;
        let told = boss.claim_one().await;
        assert_eq!(told.mail[0].kind(), v1::MessageKind::Notice);
        assert_eq!(told.mail[0].outcome(), v1::Outcome::Failed);
        assert!(
            runtime.claim(1).await.is_empty(),
            "only the parent starts it again"
        );
    })
    .await;
}

#[tokio::test]
async fn a_final_response_completes_work_that_owes_no_report() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let work = hand_off(server, "", "a", v1::OnTurnLost::Retry).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turn = runtime.begin_one().await;

        let silent = runtime.finish(next(&turn, v1::TurnNext::Finished)).await;
        assert!(
            silent.handoff_open && !silent.report_owed,
            "no response is no result"
        );
        assert!(silent.why.contains("response_text"), "{}", silent.why);

        mail(server, &work.thread_id, "go on").await;
        let turn = runtime.begin_one().await;
        mail(server, &work.thread_id, "and one more thing").await;
        let answer = |turn: &v1::Turn| v1::FinishTurnRequest {
            response_text: Some("7 words".to_owned()),
            ..done(turn)
        };
        let pending = runtime.finish(answer(&turn)).await;
        assert!(pending.handoff_open && pending.woken);
        assert!(pending.why.ends_with("unread: 1"), "{}", pending.why);

        let turn = runtime.begin_one().await;
        let finished = runtime.finish(answer(&turn)).await;
        assert!(!finished.handoff_open);
        assert_eq!(finished.handoff_status(), v1::HandoffStatus::Completed);
        let results = results(server, &work).await;
        assert_eq!(results.result.as_deref(), Some("7 words"));
        assert!(!results.partial);
        assert!(!results.handoff.unwrap().outcome_stated);
    })
    .await;
}

#[tokio::test]
async fn unfinished_children_keep_work_open_and_why_says_so() {
    with_server(async |server| {
        agent(server, "a", None).await;
        agent(server, "b", None).await;
        hand_off(server, "", "a", v1::OnTurnLost::Retry).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let worker = Runtime::register(server, "w", &["b"]).await;
        let turn = runtime.begin_one().await;
        let request = v1::CreateHandoffRequest {
            turn: Some(turn_ref(&turn)),
            target_agent: "b".to_owned(),
            task: "a part".to_owned(),
            ..v1::CreateHandoffRequest::default()
        };
        server.handoffs().create_handoff(request).await.unwrap();
        let answer = |turn: &v1::Turn| v1::FinishTurnRequest {
            response_text: Some("done".to_owned()),
            ..done(turn)
        };
        let open = runtime.finish(answer(&turn)).await;
        assert!(open.handoff_open && !open.woken);
        assert!(open.why.ends_with("unfinished: 1"), "{}", open.why);

        let part = worker.begin_one().await;
        report(server, &part, "the part").await;
        worker.finish(done(&part)).await;
        let turn = runtime.begin_one().await;
        assert_eq!(bodies(&turn.mail), ["the part"]);
        let finished = runtime.finish(answer(&turn)).await;
        assert_eq!(finished.handoff_status(), v1::HandoffStatus::Completed);
    })
    .await;
}

#[tokio::test]
async fn a_child_that_forgot_its_report_is_told_that_it_owes_one() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        agent(server, "a", None).await;
        let parent = thread(server, "boss").await;
        hand_off(server, &parent, "a", v1::OnTurnLost::Retry).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turn = runtime.begin_one().await;
        let forgetful = v1::FinishTurnRequest {
            response_text: Some("all done!".to_owned()),
            ..done(&turn)
        };
        let finished = runtime.finish(forgetful).await;
        assert!(finished.handoff_open && finished.report_owed && !finished.woken);
        assert!(finished.why.contains("report is owed"), "{}", finished.why);
        assert_eq!(finished.handoff_status(), v1::HandoffStatus::Running);
    })
    .await;
}

#[tokio::test]
async fn a_report_that_was_acknowledged_by_version_makes_no_wake_of_its_own() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        agent(server, "a", None).await;
        let parent = thread(server, "boss").await;
        let boss = Runtime::register(server, "b", &["boss"]).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        mail(server, &parent, "go").await;
        let mine = boss.begin_one().await;
        let work = hand_off(server, &parent, "a", v1::OnTurnLost::Retry).await;
        let turn = runtime.begin_one().await;
        report(server, &turn, "42").await;
        // The parent got it by waiting, and was not given the mail.
        let acked = v1::FinishTurnRequest {
            reports: vec![v1::ReportAck {
                handoff_id: work.handoff_id.clone(),
                version: 1,
            }],
            ..done(&mine)
        };
        let mut no_version = acked.clone();
        no_version.reports[0].version = 0;
        let refused = told(server.runtimes().finish_turn(no_version).await);
        assert_eq!(refused.reason, "REPORT_VERSION_UNKNOWN");
        assert!(!boss.finish(acked).await.woken);
        assert!(boss.claim(1).await.is_empty());
        let reported = runtime.finish(done(&turn)).await;
        assert!(reported.why.contains("is completed"), "{}", reported.why);
    })
    .await;
}
