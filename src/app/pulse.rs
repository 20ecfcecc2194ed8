//! Which turns this server has lately seen alive, so that their calls renew the lease now and then
//! and not each time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::domain::ids::TurnId;
use crate::domain::time::Timestamp;

/// A lease is renewed by a call of its turn after this, at the latest after a quarter of the lease.
const PERIOD: Duration = Duration::from_secs(5);
/// Turns remembered; beyond that all are forgotten, which costs a heartbeat each.
const TURNS: usize = 65_536;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    beaten: Mutex<HashMap<TurnId, Timestamp>>,
}

impl Pulse {
    /// Whether a heartbeat is due for `turn`, which made a call at `now`; notes that it is sent.
    pub(super) fn is_due(&self, turn: TurnId, now: Timestamp, lease: Duration) -> bool {
        let mut beaten = self.beaten.lock().unwrap_or_else(PoisonError::into_inner);
        if beaten.len() >= TURNS {
            beaten.clear();
        }
        match beaten.get_mut(&turn) {
            Some(last) if now.since(*last) < PERIOD.min(lease / 4) => false,
            Some(last) => {
                *last = now;
                true
            }
            None => {
                beaten.insert(turn, now);
                true
            }
        }
    }
}
