//! Refusals that leave a record.

use crate::domain::command::{Context, Decision};
use crate::domain::handoffs::{
    ErrorCause, HandoffError, OnCompletion, Outcome, Progress, TerminalStatus,
};
use crate::domain::ids::ThreadId;
use crate::domain::plan::Event;
use crate::domain::refusal::Refusal;
use crate::domain::world::World;

use super::{CreateHandoff, Created, Parties, actor};

/// Why a creation leaves a record of its refusal.
pub(super) enum Cause {
    Deactivated,
    ParentDeleted(ThreadId),
}

impl CreateHandoff {
    /// A refusal of the target's life cycle: an inspectable record, the same one for a repeat.
    pub(super) fn refused(
        &self,
        world: &World,
        context: &mut Context<'_>,
        parties: &Parties<'_>,
        told: OnCompletion,
        cause: &Cause,
    ) -> Decision<Created> {
        let earlier = self.earlier_record(world, parties);
        let mut handoff = self.record(context, parties, told);
        let id = earlier.unwrap_or(handoff.handoff_id);
        let agent_id = parties.agent.agent_id.clone();
        let (refusal, cause) = match cause {
            Cause::Deactivated => (
                Refusal::AgentDeactivated {
                    agent_id,
                    handoff_id: Some(id),
                },
                ErrorCause::AgentDeactivated,
            ),
            Cause::ParentDeleted(thread_id) => (
                Refusal::ParentThreadDeleted {
                    thread_id: *thread_id,
                    handoff_id: Some(id),
                },
                ErrorCause::ParentThreadDeleted,
            ),
        };
        let mut events = parties
            .acting
            .as_ref()
            .map_or_else(Vec::new, |acting| acting.begin.clone());
        if earlier.is_none() {
            handoff.progress = Progress::Closed {
                status: TerminalStatus::MaterializeFailed,
                outcome: Outcome::Failed,
                outcome_stated: false,
                first_turn_time: None,
                finish_time: context.now,
                close_time: context.now,
            };
            handoff.error = Some(HandoffError {
                cause,
                failure_class: None,
                summary: refusal.to_string(),
                advice: "Remedy that and create the handoff again.".to_owned(),
            });
            let assignment = self.assignment(id);
            let name = self.refusal_key(handoff.parent_thread_id);
            events.push(Event::HandoffRefused {
                handoff,
                assignment,
                actor: actor(parties),
            });
            events.extend(name.map(|hash| Event::KeyBound {
                hash,
                fingerprint: [0; 32],
                handoff_id: Some(id),
                answer: None,
            }));
        }
        Decision {
            events,
            answer: Err(refusal),
        }
    }
}
