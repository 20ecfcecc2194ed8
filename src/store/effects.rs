//! Deferred effects.

use sqlx::types::JsonValue;
use uuid::Uuid;

use crate::domain::effects::{DeferredEffect, Effect, EffectKind};
use crate::domain::ids::{EffectId, ThreadId};
use crate::domain::time::Timestamp;
use crate::domain::world::EffectPutOff;

use super::codec::{Spelled, Unknown, int, small, spelled};

pub(super) const INSERT: &str = include_str!("sql/insert_effects.sql");
pub(super) const DELETE: &str = include_str!("sql/delete_effects.sql");
pub(super) const PUT_OFF: &str = include_str!("sql/put_off_effects.sql");

spelled!(EffectKind, "kind of effect", {
    EffectKind::TellSender => "tell_sender" = EffectKind::TellSender,
});

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "effect_row")]
pub(super) struct EffectRow {
    pub(super) effect_id: EffectId,
    kind: String,
    subject_id: Uuid,
    facts: JsonValue,
    pub(super) due_time: Timestamp,
    pub(super) attempts: i32,
}

impl TryFrom<&DeferredEffect> for EffectRow {
    type Error = serde_json::Error;

    fn try_from(deferred: &DeferredEffect) -> Result<Self, serde_json::Error> {
        let facts = match &deferred.effect {
            Effect::TellSender { mail, .. } => serde_json::to_value(mail)?,
        };
        Ok(Self {
            effect_id: deferred.effect_id,
            kind: deferred.effect.kind().spell().to_owned(),
            subject_id: deferred.effect.subject_id(),
            facts,
            due_time: deferred.due_time,
            attempts: int(deferred.attempts),
        })
    }
}

impl TryFrom<EffectRow> for DeferredEffect {
    type Error = Unknown;

    fn try_from(row: EffectRow) -> Result<Self, Unknown> {
        let effect = match EffectKind::read(&row.kind)? {
            EffectKind::TellSender => Effect::TellSender {
                thread_id: ThreadId::from(row.subject_id),
                mail: serde_json::from_value(row.facts)
                    .map_err(|error| Unknown::of("facts of an effect", &error.to_string()))?,
            },
        };
        Ok(Self {
            effect_id: row.effect_id,
            effect,
            due_time: row.due_time,
            attempts: small(row.attempts),
        })
    }
}

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "effect_put_off_row")]
pub(super) struct EffectPutOffRow {
    effect_id: EffectId,
    due_time: Timestamp,
}

impl From<&EffectPutOff> for EffectPutOffRow {
    fn from(put_off: &EffectPutOff) -> Self {
        Self {
            effect_id: put_off.effect_id,
            due_time: put_off.due_time,
        }
    }
}
