//! Runtimes: connected processes that host agents.

use super::time::Timestamp;

/// A runtime in its present life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The user's own name of it, unique in the namespace.
    pub runtime_id: String,
    /// Its present life, counted from 1. A newer one ends the older one's right to claim.
    pub incarnation: u64,
    /// For people.
    pub description: String,
    /// When this life began.
    pub register_time: Timestamp,
    /// When it last asked for turns.
    pub receive_time: Timestamp,
}
