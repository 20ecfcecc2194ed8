//! Runs an effect: carries out what was left behind, and takes it away. One that cannot be read is put off,
//! for all servers, and stays until one can.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::ids::{EffectId, ThreadId};
use crate::domain::limits;
use crate::domain::mailbox::set_aside::SetAside;
use crate::domain::plan::Event;
use crate::domain::world::World;

use super::{Effect, EffectRef, Unreadable};

/// The command. It takes no other input: what is to be done stands in the row.
#[derive(Clone, Debug, Serialize)]
pub struct RunEffect {
    /// Which.
    pub effect: EffectRef,
}

/// What the run came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectRun {
    /// It was done.
    Done,
    /// It had been done before.
    AlreadyDone,
    /// It cannot be read, for this reason, and was put off.
    Unreadable(String),
}

impl Answer for EffectRun {
    fn mark_deduplicated(&mut self) {}
}

impl Command for RunEffect {
    type Answer = EffectRun;
    const NAME: &'static str = "effects.run";

    fn lane_key(&self) -> u128 {
        self.effect.lane_key()
    }

    fn footprint(&self, _: &Route) -> Footprint {
        self.effect.footprint()
    }

    fn ask(&self, _: &World, ask: &mut Ask) {
        ask.effects.insert(self.effect.effect_id);
    }

    fn decide(
        &self,
        world: &World,
        context: &mut Context<'_>,
    ) -> Result<Decision<EffectRun>, Stop> {
        let effect_id = self.effect.effect_id;
        if let Some(unreadable) = world.loaded.unreadable_effects.get(&effect_id) {
            return Ok(put_off(world, effect_id, unreadable));
        }
        let Some(deferred) = world.loaded.effects.get(&effect_id) else {
            return Ok(Decision::unchanged(EffectRun::AlreadyDone));
        };
        let mut events = match &deferred.effect {
            Effect::TellSender { thread_id, mail } => tell(world, context, *thread_id, mail),
        };
        events.push(Event::EffectRun { effect_id });
        Ok(Decision {
            events,
            answer: Ok(EffectRun::Done),
        })
    }
}

/// Where another server has just put it off it stays as that left it.
fn put_off(world: &World, effect_id: EffectId, effect: &Unreadable) -> Decision<EffectRun> {
    let put_off = Event::EffectPutOff {
        effect_id,
        due_time: world.now + limits::effect_pause(effect.attempts + 1),
    };
    let due = effect.due_time <= world.now;
    Decision {
        events: due.then_some(put_off).into_iter().collect(),
        answer: Ok(EffectRun::Unreadable(effect.why.clone())),
    }
}

/// A sender that is deleted, or not there any more, has nobody to be told.
fn tell(world: &World, context: &mut Context<'_>, sender: ThreadId, mail: &SetAside) -> Vec<Event> {
    let lives = world
        .heads
        .get(&sender)
        .is_some_and(|head| head.delete_time.is_none());
    let notice = lives.then(|| Event::MessageAccepted(mail.notice(sender, context)));
    notice.into_iter().collect()
}
