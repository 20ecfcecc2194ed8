//! Carries out events of deferred effects: what is left, done, tried again.

use crate::domain::effects::DeferredEffect;
use crate::domain::ids::EffectId;
use crate::domain::time::Timestamp;

use super::apply::Inconsistent;
use super::{EffectPutOff, World};

impl World {
    pub(super) fn defer_effect(&mut self, deferred: DeferredEffect) {
        self.made.effects.push(deferred);
    }

    pub(super) fn end_effect(&mut self, effect_id: EffectId) -> Result<(), Inconsistent> {
        self.take_effect(effect_id)?;
        self.made.effects_run.push(effect_id);
        Ok(())
    }

    pub(super) fn put_effect_off(
        &mut self,
        effect_id: EffectId,
        due_time: Timestamp,
    ) -> Result<(), Inconsistent> {
        self.take_effect(effect_id)?;
        self.made.effects_put_off.push(EffectPutOff {
            effect_id,
            due_time,
        });
        Ok(())
    }

    /// What happens to an effect happens once a batch: a later command finds nothing to do.
    fn take_effect(&mut self, effect_id: EffectId) -> Result<(), Inconsistent> {
        let loaded = &mut self.loaded;
        let readable = loaded.effects.remove(&effect_id).is_some();
        if readable || loaded.unreadable_effects.remove(&effect_id).is_some() {
            Ok(())
        } else {
            Err(Inconsistent::of(effect_id))
        }
    }
}
