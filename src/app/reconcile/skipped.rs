//! Rows that a job could not act on, left out for growing times so that they hold up nobody.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

/// The first pause of a row; it doubles with each failure in a row.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest pause of a row.
const PAUSE_MAX: Duration = Duration::from_mins(10);
/// Rows remembered; beyond that all are tried again.
const ROWS: usize = 10_000;

/// See the module.
#[derive(Debug, Default)]
pub struct Skipped {
    rows: Mutex<HashMap<Uuid, (Instant, Duration)>>,
}

impl Skipped {
    /// The rows to leave out now.
    pub(super) fn ids<T: From<Uuid>>(&self) -> Vec<T> {
        let now = Instant::now();
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter()
            .filter(|(_, (until, _))| *until > now)
            .map(|(id, _)| T::from(*id))
            .collect()
    }

    /// Leaves `row` out for a while, longer each time.
    pub(super) fn skip(&self, row: Uuid) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() >= ROWS {
            rows.clear();
        }
        let pause = rows
            .get(&row)
            .map_or(PAUSE, |(_, last)| (*last * 2).min(PAUSE_MAX));
        rows.insert(row, (Instant::now() + pause, pause));
    }
}
