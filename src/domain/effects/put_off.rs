//! Puts off an effect that could not be run, so that all servers leave it alone for a while. It is tried
//! again for as long as it takes.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::limits;
use crate::domain::plan::Event;
use crate::domain::world::World;

use super::EffectRef;

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct PutOffEffect {
    /// Which.
    pub effect: EffectRef,
}

/// Nothing is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutOff;

impl Answer for PutOff {
    fn mark_deduplicated(&mut self) {}
}

impl Command for PutOffEffect {
    type Answer = PutOff;
    const NAME: &'static str = "effects.put_off";

    fn lane_key(&self) -> u128 {
        self.effect.lane_key()
    }

    fn footprint(&self, _: &Route) -> Footprint {
        self.effect.footprint()
    }

    fn ask(&self, _: &World, ask: &mut Ask) {
        ask.effects.insert(self.effect.effect_id);
    }

    fn decide(&self, world: &World, _: &mut Context<'_>) -> Result<Decision<PutOff>, Stop> {
        let effect_id = self.effect.effect_id;
        let deferred = world.loaded.effects.get(&effect_id);
        let put_off = deferred.map(|deferred| Event::EffectPutOff {
            effect_id,
            due_time: world.now + limits::effect_pause(deferred.attempts + 1),
        });
        Ok(Decision {
            events: put_off.into_iter().collect(),
            answer: Ok(PutOff),
        })
    }
}
