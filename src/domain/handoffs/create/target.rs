//! Who is asked.

use crate::domain::agents::{Agent, Slots};
use crate::domain::command::{Footprint, Stop};
use crate::domain::ids::AgentId;
use crate::domain::refusal::{Refusal, Violation};
use crate::domain::world::World;

use super::CreateHandoff;

impl CreateHandoff {
    pub(super) fn target<'s>(&'s self, own: Option<&'s AgentId>) -> Result<&'s str, Stop> {
        self.target
            .as_deref()
            .or(own.map(|agent| agent.0.as_str()))
            .ok_or_else(|| {
                let violation = Violation::new(
                    "target_agent",
                    "is required where there is no parent thread",
                );
                Refusal::Invalid(vec![violation]).into()
            })
    }
}

/// The agent of an id, or of a display name that only one has. Mostly it is an id: names are looked up
/// where it is none.
pub(super) fn resolve<'w>(world: &'w World, target: &str) -> Result<(&'w Agent, &'w Slots), Stop> {
    if let Some((agent, slots)) = world.loaded.agents.get(&AgentId(target.to_owned())) {
        return Ok((agent, slots));
    }
    if !world.covered.names.contains(target) {
        return Err(Stop::Needs(Footprint::default().name(target)));
    }
    let wanted = target.to_lowercase();
    let named = world
        .loaded
        .agents
        .values()
        .filter(|(agent, _)| agent.display_name.to_lowercase() == wanted);
    let named: Vec<&(Agent, Slots)> = named.collect();
    match named.as_slice() {
        [(agent, slots)] => Ok((agent, slots)),
        [] => Err(Refusal::AgentNotFound(target.to_owned()).into()),
        several => {
            let candidates: Vec<String> = several
                .iter()
                .map(|(agent, _)| format!("`{}`", agent.agent_id))
                .collect();
            Err(Refusal::AgentNameAmbiguous {
                name: target.to_owned(),
                candidates: candidates.join(", "),
            }
            .into())
        }
    }
}
