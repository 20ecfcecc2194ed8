//! Request ids and idempotency keys.

use crate::domain::command::KeyHash;
use crate::domain::ids::HandoffId;
use crate::domain::time::Timestamp;
use crate::domain::world::{BoundKey, NewKey};

use super::codec::Unknown;

pub(super) const INSERT: &str = include_str!("sql/insert_keys.sql");

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "key_row")]
pub(super) struct KeyRow {
    key_hash: Vec<u8>,
    fingerprint: Vec<u8>,
    handoff_id: Option<HandoffId>,
    answer: Option<Vec<u8>>,
    expire_time: Timestamp,
}

impl From<&NewKey> for KeyRow {
    fn from(new: &NewKey) -> Self {
        Self {
            key_hash: new.hash.to_vec(),
            fingerprint: new.key.fingerprint.to_vec(),
            handoff_id: new.key.handoff_id,
            answer: new.key.answer.clone(),
            expire_time: new.expire_time,
        }
    }
}

impl KeyRow {
    pub(super) fn bound(self) -> Result<(KeyHash, BoundKey), Unknown> {
        let hash = self
            .key_hash
            .try_into()
            .map_err(|_| Unknown::of("key", "of another length"))?;
        let fingerprint = self
            .fingerprint
            .try_into()
            .map_err(|_| Unknown::of("fingerprint", "of another length"))?;
        Ok((
            hash,
            BoundKey {
                fingerprint,
                handoff_id: self.handoff_id,
                answer: self.answer,
            },
        ))
    }
}
