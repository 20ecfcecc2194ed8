//! Digests of several parts that cannot run into each other: each is preceded by its length.

use sha2::{Digest, Sha256};

use super::command::KeyHash;

/// The whole digest.
#[must_use]
pub fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// The half of it that stands for a key.
#[must_use]
pub fn short(parts: &[&[u8]]) -> KeyHash {
    let mut key = [0; 16];
    key.copy_from_slice(&digest(parts)[..16]);
    key
}
