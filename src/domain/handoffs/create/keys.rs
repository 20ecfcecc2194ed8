//! What names work: idempotency keys, and the names of refusals.

use sha2::{Digest, Sha256};

use crate::domain::command::{Decision, Fingerprint, Footprint, KeyHash, Stop};
use crate::domain::digest;
use crate::domain::handoffs::Handoff;
use crate::domain::ids::{AgentId, HandoffId, ThreadId};
use crate::domain::plan::Event;
use crate::domain::refusal::Refusal;
use crate::domain::world::World;

use super::{CreateHandoff, Created, Parties, created};

impl CreateHandoff {
    /// The handoff that the idempotency key names already.
    pub(super) fn find_work(
        &self,
        world: &World,
        parties: &Parties<'_>,
    ) -> Result<Option<Decision<Created>>, Stop> {
        let agent_id = &parties.agent.agent_id;
        let Some(key) = self.idempotency_key.as_deref() else {
            return Ok(None);
        };
        let hash = work_key(&agent_id.0, key);
        let made = world.made.keys.get(&hash).map(|new| {
            let handoff = new.key.handoff_id.and_then(|id| world.handoffs.get(&id));
            (&new.key, handoff)
        });
        let stored = world.loaded.keys.get(&hash).map(|key| {
            let handoff = key.handoff_id.and_then(|id| world.loaded.named.get(&id));
            (key, handoff)
        });
        let Some((key, Some(handoff))) = made.or(stored) else {
            let known = world.covered.keys.contains(&hash);
            return if known {
                Ok(None)
            } else {
                Err(Stop::Needs(Footprint::default().key(hash)))
            };
        };
        if key.fingerprint != self.work_fingerprint(agent_id) {
            return Err(Refusal::IdempotencyConflict {
                what: "idempotency_key",
            }
            .into());
        }
        if handoff.parent_thread_id != parties.parent.map(|head| head.thread_id) {
            return Err(Refusal::KeyOfOtherParent {
                handoff_id: handoff.handoff_id,
            }
            .into());
        }
        let mut decision = Decision::unchanged(created(handoff.clone(), parties, true));
        decision.events = parties
            .acting
            .as_ref()
            .map_or_else(Vec::new, |acting| acting.begin.clone());
        Ok(Some(decision))
    }

    pub(super) fn bind(&self, handoff: &Handoff) -> Option<Event> {
        let hash = work_key(&handoff.agent_id.0, self.idempotency_key.as_deref()?);
        let fingerprint = self.work_fingerprint(&handoff.agent_id);
        Some(Event::KeyBound {
            hash,
            fingerprint,
            handoff_id: Some(handoff.handoff_id),
            answer: None,
        })
    }

    /// The work that a key names: not its parent, title, visibility or notification.
    pub(super) fn work_fingerprint(&self, agent: &AgentId) -> Fingerprint {
        let work = serde_json::json!(["1", agent, self.task, self.context_data]);
        Sha256::digest(work.to_string()).into()
    }

    /// Names a refusal of this request, so that its repeat points to the same record. A refused call
    /// binds nothing, so other work under the same name is another refusal.
    pub(super) fn refusal_key(&self, parent: Option<ThreadId>) -> Option<KeyHash> {
        let name = self.idempotency_key.as_deref().map(|key| ("key", key));
        let (kind, name) = name.or(self.request_id.as_deref().map(|id| ("request", id)))?;
        let parent = parent.map(|parent| parent.to_string());
        let work = serde_json::json!([parent, self.target, self.task, self.context_data]);
        Some(digest::short(&[
            b"refused",
            kind.as_bytes(),
            name.as_bytes(),
            work.to_string().as_bytes(),
        ]))
    }

    pub(super) fn earlier_record(&self, world: &World, parties: &Parties<'_>) -> Option<HandoffId> {
        let hash = self.refusal_key(parties.parent.map(|head| head.thread_id))?;
        let made = world.made.keys.get(&hash).map(|new| &new.key);
        made.or(world.loaded.keys.get(&hash))
            .and_then(|key| key.handoff_id)
    }
}

/// The stored form of an idempotency key: it is unique for each target agent.
pub(super) fn work_key(agent: &str, key: &str) -> KeyHash {
    digest::short(&[b"work", agent.as_bytes(), key.as_bytes()])
}
