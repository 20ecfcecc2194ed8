//! The first call of a turn, where that call changes nothing else: a heartbeat.

use serde::{Deserialize, Serialize};

use crate::domain::caller::Caller;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::ids::TurnId;
use crate::domain::time::Timestamp;
use crate::domain::world::World;

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct BeginTurn {
    /// Which turn.
    pub turn_id: TurnId,
    /// Its fencing token.
    pub token: u64,
}

/// The turn runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// When its lease ends.
    pub lease_expire_time: Timestamp,
}

impl Answer for Begun {
    fn mark_deduplicated(&mut self) {}
}

impl Command for BeginTurn {
    type Answer = Begun;
    const NAME: &'static str = "turns.begin";

    fn lane_key(&self) -> u128 {
        self.turn_id.into_untyped().as_u128()
    }

    fn route(&self) -> RouteAsk {
        let mut ask = RouteAsk::default();
        ask.work.insert(self.turn_id);
        ask
    }

    fn footprint(&self, route: &Route) -> Footprint {
        self.caller_of_turn()
            .footprint(None, route)
            .turn(self.turn_id)
    }

    fn decide(&self, world: &World, _: &mut Context<'_>) -> Result<Decision<Begun>, Stop> {
        let begin = self
            .caller_of_turn()
            .acting(world, None)?
            .map_or_else(Vec::new, |acting| acting.begin);
        let lease_expire_time = if begin.is_empty() {
            world.turn(self.turn_id)?.lease_expire_time
        } else {
            world.now + world.rules.lease
        };
        Ok(Decision {
            events: begin,
            answer: Ok(Begun { lease_expire_time }),
        })
    }
}

impl BeginTurn {
    fn caller_of_turn(&self) -> Caller {
        Caller::Turn {
            turn_id: self.turn_id,
            token: self.token,
        }
    }
}
