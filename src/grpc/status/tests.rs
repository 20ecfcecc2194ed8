use std::collections::BTreeSet;

use super::*;
use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};

fn id<I: From<uuid::Uuid>>() -> I {
    I::from(uuid::Uuid::from_u128(7))
}

#[expect(clippy::too_many_lines, reason = "one line a refusal")]
fn refusals() -> Vec<Refusal> {
    let (thread_id, turn_id, handoff_id): (ThreadId, TurnId, HandoffId) = (id(), id(), id());
    let agent_id = AgentId("worker".to_owned());
    let name = "worker".to_owned();
    let window = Duration::from_mins(5);
    vec![
        Refusal::Invalid(vec![Violation::new("a", "b")]),
        Refusal::ThreadNotFound(thread_id),
        Refusal::HandoffNotFound(handoff_id),
        Refusal::AgentNotFound(name.clone()),
        Refusal::TurnNotFound(turn_id),
        Refusal::RuntimeNotFound(name.clone()),
        Refusal::TurnOfOtherThread { thread_id, turn_id },
        Refusal::TurnClosed {
            turn_id,
            how: "released",
        },
        Refusal::StaleToken { turn_id },
        Refusal::StaleIncarnation {
            runtime_id: name.clone(),
            current: 2,
        },
        Refusal::TurnRequired { thread_id },
        Refusal::ThreadHasLiveTurn { thread_id },
        Refusal::AbortNotRequested { turn_id },
        Refusal::AgentDeactivated {
            agent_id: agent_id.clone(),
            handoff_id: Some(handoff_id),
        },
        Refusal::AgentAcceptsNoHandoffs {
            agent_id: agent_id.clone(),
        },
        Refusal::AgentNameAmbiguous {
            name,
            candidates: "a, b".to_owned(),
        },
        Refusal::ThreadDeleted { thread_id },
        Refusal::ParentThreadDeleted {
            thread_id,
            handoff_id: None,
        },
        Refusal::NotParent { handoff_id },
        Refusal::HandoffEnded { handoff_id },
        Refusal::StaleDeadline {
            handoff_id,
            asked: 1,
            current: 2,
        },
        Refusal::KeyOfOtherParent { handoff_id },
        Refusal::IdempotencyConflict { what: "request_id" },
        Refusal::WrongAgent {
            thread_id,
            agent_id,
        },
        Refusal::MailToSelf { thread_id },
        Refusal::NoHandoff { thread_id },
        Refusal::NoParentThread { thread_id },
        Refusal::NotToParentThread { parent: thread_id },
        Refusal::HandoffOfOtherThread { handoff_id },
        Refusal::MailNotGiven { asked: 2, given: 1 },
        Refusal::ReportVersionUnknown {
            handoff_id,
            asked: 2,
            newest: 1,
        },
        Refusal::PairLimit {
            from: thread_id,
            to: thread_id,
            limit: 12,
            reserved: 2,
            window,
            retry: window,
        },
        Refusal::MailboxFull {
            thread_id,
            limit: 10_000,
        },
        Refusal::DepthLimit { limit: 8 },
    ]
}

fn errors() -> Vec<Error> {
    let mut errors: Vec<Error> = refusals().into_iter().map(Error::from).collect();
    errors.extend([
        Error::Invalid(vec![Violation::new("a", "b")]),
        Error::NamespaceInvalid,
        Error::NamespaceRepeated,
        Error::PageToken,
        Error::QueueFull,
        Error::Overloaded,
        Error::Contention,
        Error::DeadlineExceeded,
        Error::Draining,
        Error::Unavailable,
        Error::OutcomeUnknown,
        Error::Bug("secret".to_owned()),
    ]);
    errors
}

#[test]
fn every_reason_of_the_catalogue_is_told_and_none_besides() {
    let catalogue: BTreeSet<&str> = (1..1_000)
        .filter_map(|number| ErrorReason::try_from(number).ok())
        .map(reason_name)
        .collect();
    let told: Vec<String> = errors()
        .into_iter()
        .map(|error| Status::from(error).get_details_error_info().unwrap().reason)
        .collect();
    let told: BTreeSet<&str> = told.iter().map(String::as_str).collect();
    assert_eq!(told, catalogue);
}

#[test]
fn no_two_refusals_share_a_reason() {
    let reasons: Vec<String> = refusals()
        .into_iter()
        .map(|it| {
            Status::from(Error::from(it))
                .get_details_error_info()
                .unwrap()
                .reason
        })
        .collect();
    let different: BTreeSet<&String> = reasons.iter().collect();
    assert_eq!(different.len(), reasons.len());
}

#[test]
fn the_details_follow_from_the_code() {
    for error in errors() {
        let status = Status::from(error);
        let details = status.get_error_details();
        let code = status.code();
        let info = details.error_info().unwrap();
        assert_eq!(info.domain, DOMAIN);
        let namespace = info.reason == "NAMESPACE_INVALID";
        assert_eq!(
            details.bad_request().is_some(),
            code == Code::InvalidArgument && !namespace
        );
        assert_eq!(details.resource_info().is_some(), code == Code::NotFound);
        assert_eq!(
            details.precondition_failure().is_some(),
            code == Code::FailedPrecondition
        );
        assert_eq!(
            details.quota_failure().is_some(),
            code == Code::ResourceExhausted
        );
        assert!(
            details.retry_info().is_some() || code != Code::Unavailable,
            "{status:?}"
        );
    }
}

#[test]
fn every_variable_of_a_sentence_is_in_the_metadata() {
    for refusal in refusals() {
        let status = Status::from(Error::from(refusal));
        let info = status.get_details_error_info().unwrap();
        for quoted in status.message().split('`').skip(1).step_by(2) {
            let known = info.metadata.values().any(|value| value == quoted)
                || status.code() == Code::InvalidArgument;
            assert!(
                known || quoted == "turn" || quoted == "to_thread_id",
                "{status:?}"
            );
        }
    }
}

#[test]
fn a_defect_tells_its_caller_an_id_and_nothing_else() {
    let status = Status::from(Error::Bug("secret".to_owned()));
    let id = &status.get_details_error_info().unwrap().metadata["errorId"];
    assert!(status.message().contains(id.as_str()));
    assert!(!status.message().contains("secret"));
}
