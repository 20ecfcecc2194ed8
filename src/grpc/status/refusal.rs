//! Each refusal as a status: code, reason, facts, and what a program can act on.

use tonic::Code;

use super::{Told, invalid_told};
use crate::domain::refusal::Refusal;
use crate::proto::v1::ErrorReason as Reason;

/// Tells a refusal.
#[expect(clippy::too_many_lines, reason = "one arm a refusal")]
pub(super) fn told(refusal: &Refusal) -> Told {
    let sentence = refusal.to_string();
    match refusal {
        Refusal::Invalid(violations) => invalid_told(violations),
        Refusal::ThreadNotFound(id) => {
            not_found(Reason::ThreadNotFound, "threadId", "thread", id, &sentence)
        }
        Refusal::HandoffNotFound(id) => not_found(
            Reason::HandoffNotFound,
            "handoffId",
            "handoff",
            id,
            &sentence,
        ),
        Refusal::AgentNotFound(id) => {
            not_found(Reason::AgentNotFound, "agentId", "agent", id, &sentence)
        }
        Refusal::TurnNotFound(id) => {
            not_found(Reason::TurnNotFound, "turnId", "turn", id, &sentence)
        }
        Refusal::RuntimeNotFound(id) => not_found(
            Reason::RuntimeNotFound,
            "runtimeId",
            "runtime",
            id,
            &sentence,
        ),
        Refusal::TurnOfOtherThread { thread_id, turn_id } => {
            argument(Reason::TurnOfOtherThread, "thread_id", &sentence)
                .fact("threadId", thread_id)
                .fact("turnId", turn_id)
        }
        Refusal::TurnClosed { turn_id, how } => Told::new(Code::Aborted, Reason::TurnClosed)
            .fact("turnId", turn_id)
            .fact("closeReason", how),
        Refusal::StaleToken { turn_id } => {
            Told::new(Code::Aborted, Reason::StaleToken).fact("turnId", turn_id)
        }
        Refusal::StaleIncarnation {
            runtime_id,
            current,
        } => Told::new(Code::Aborted, Reason::StaleIncarnation)
            .fact("runtimeId", runtime_id)
            .fact("currentIncarnation", current),
        Refusal::TurnRequired { thread_id } => {
            precondition(Reason::TurnRequired, thread_id, &sentence).fact("threadId", thread_id)
        }
        Refusal::ThreadHasLiveTurn { thread_id } => {
            precondition(Reason::ThreadHasLiveTurn, thread_id, &sentence)
                .fact("threadId", thread_id)
        }
        Refusal::AbortNotRequested { turn_id } => {
            precondition(Reason::AbortNotRequested, turn_id, &sentence).fact("turnId", turn_id)
        }
        Refusal::AgentDeactivated {
            agent_id,
            handoff_id,
        } => precondition(Reason::AgentDeactivated, agent_id, &sentence)
            .fact("agentId", agent_id)
            .opt_fact("handoffId", handoff_id.as_ref()),
        Refusal::AgentAcceptsNoHandoffs { agent_id } => {
            precondition(Reason::AgentAcceptsNoHandoffs, agent_id, &sentence)
                .fact("agentId", agent_id)
        }
        Refusal::AgentNameAmbiguous { name, candidates } => {
            argument(Reason::AgentNameAmbiguous, "target_agent", &sentence)
                .fact("name", name)
                .fact("candidates", candidates)
        }
        Refusal::ThreadDeleted { thread_id } => {
            precondition(Reason::ThreadDeleted, thread_id, &sentence).fact("threadId", thread_id)
        }
        Refusal::ParentThreadDeleted {
            thread_id,
            handoff_id,
        } => precondition(Reason::ParentThreadDeleted, thread_id, &sentence)
            .fact("threadId", thread_id)
            .opt_fact("handoffId", handoff_id.as_ref()),
        Refusal::NotParent { handoff_id } => {
            Told::new(Code::PermissionDenied, Reason::NotParent).fact("handoffId", handoff_id)
        }
        Refusal::HandoffEnded { handoff_id } => {
            precondition(Reason::HandoffEnded, handoff_id, &sentence).fact("handoffId", handoff_id)
        }
        Refusal::StaleDeadline {
            handoff_id,
            asked,
            current,
        } => Told::new(Code::Aborted, Reason::StaleDeadline)
            .fact("handoffId", handoff_id)
            .fact("asked", asked)
            .fact("current", current),
        Refusal::KeyOfOtherParent { handoff_id } => {
            Told::new(Code::AlreadyExists, Reason::KeyOfOtherParent).fact("handoffId", handoff_id)
        }
        Refusal::IdempotencyConflict { what } => {
            Told::new(Code::AlreadyExists, Reason::IdempotencyConflict).fact("key", what)
        }
        Refusal::WrongAgent {
            thread_id,
            agent_id,
        } => argument(Reason::WrongAgent, "to_agent_id", &sentence)
            .fact("threadId", thread_id)
            .fact("agentId", agent_id),
        Refusal::MailToSelf { thread_id } => {
            argument(Reason::MailToSelf, "to_thread_id", &sentence).fact("threadId", thread_id)
        }
        Refusal::NoHandoff { thread_id } => {
            precondition(Reason::NoHandoff, thread_id, &sentence).fact("threadId", thread_id)
        }
        Refusal::NoParentThread { thread_id } => {
            precondition(Reason::NoParentThread, thread_id, &sentence).fact("threadId", thread_id)
        }
        Refusal::NotToParentThread { parent } => {
            argument(Reason::NotToParentThread, "to_thread_id", &sentence)
                .fact("parentThreadId", parent)
        }
        Refusal::HandoffOfOtherThread { handoff_id } => {
            argument(Reason::HandoffOfOtherThread, "handoff_id", &sentence)
                .fact("handoffId", handoff_id)
        }
        Refusal::MailNotGiven { asked, given } => {
            argument(Reason::MailNotGiven, "received_through", &sentence)
                .fact("asked", asked)
                .fact("givenThrough", given)
        }
        Refusal::ReportVersionUnknown {
            handoff_id,
            asked,
            newest,
        } => argument(Reason::ReportVersionUnknown, "reports", &sentence)
            .fact("handoffId", handoff_id)
            .fact("asked", asked)
            .fact("newest", newest),
        Refusal::PairLimit {
            from,
            to,
            limit,
            reserved,
            window,
            retry,
        } => exhausted(Reason::PairLimit, &format!("{from} to {to}"), &sentence)
            .retry(*retry)
            .fact("fromThreadId", from)
            .fact("toThreadId", to)
            .fact("limit", limit)
            .fact("reserved", reserved)
            .fact("windowSeconds", &window.as_secs()),
        Refusal::MailboxFull { thread_id, limit } => {
            exhausted(Reason::MailboxFull, &thread_id.to_string(), &sentence)
                .fact("threadId", thread_id)
                .fact("limit", limit)
        }
        Refusal::DepthLimit { limit } => {
            precondition(Reason::DepthLimit, &"depth", &sentence).fact("limit", limit)
        }
    }
}

fn not_found(reason: Reason, fact: &str, kind: &str, id: &impl ToString, sentence: &str) -> Told {
    let id = id.to_string();
    let mut told = Told::new(Code::NotFound, reason).fact(fact, &id);
    told.details.set_resource_info(kind, id, "", sentence);
    told
}

fn argument(reason: Reason, field: &str, sentence: &str) -> Told {
    let mut told = Told::new(Code::InvalidArgument, reason);
    told.details.add_bad_request_violation(field, sentence);
    told
}

fn precondition(reason: Reason, subject: &impl ToString, sentence: &str) -> Told {
    let mut told = Told::new(Code::FailedPrecondition, reason);
    let kind = super::reason_name(reason);
    told.details
        .add_precondition_failure_violation(kind, subject.to_string(), sentence);
    told
}

fn exhausted(reason: Reason, subject: &str, sentence: &str) -> Told {
    Told::new(Code::ResourceExhausted, reason).quota(subject, sentence)
}
