//! RegisterRuntime: a runtime begins a new life, and its older one may claim no more.

use serde::{Deserialize, Serialize};

use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::plan::Event;
use crate::domain::world::World;

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct RegisterRuntime {
    /// The user's own name of it.
    pub runtime_id: String,
    /// For people.
    pub description: String,
}

/// The life that began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// Its number.
    pub incarnation: u64,
}

impl Answer for Registered {
    fn mark_deduplicated(&mut self) {}
}

impl Command for RegisterRuntime {
    type Answer = Registered;
    const NAME: &'static str = "turns.register_runtime";

    fn lane_key(&self) -> u128 {
        self.runtime_id.len() as u128
    }

    fn footprint(&self, _: &Route) -> Footprint {
        Footprint::default().runtime(&self.runtime_id)
    }

    fn decide(&self, world: &World, _: &mut Context<'_>) -> Result<Decision<Registered>, Stop> {
        let known = world.runtimes.get(&self.runtime_id);
        let incarnation = known.map_or(1, |runtime| runtime.incarnation + 1);
        let event = Event::RuntimeRegistered {
            runtime_id: self.runtime_id.clone(),
            description: self.description.clone(),
        };
        Ok(Decision {
            events: vec![event],
            answer: Ok(Registered { incarnation }),
        })
    }
}
