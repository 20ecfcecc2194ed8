//! When what happens, and which spans of it are held against each other.

use std::ops::Range;
use std::time::Duration;

/// Below this, figures of a span are made of so little that tolerances are doubled.
const LONG: Duration = Duration::from_secs(100);

/// How long each phase takes, in the order they come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Nobody works, at the begin and again at the end.
    pub(super) still: Duration,
    /// Caches fill, tables get their first rows.
    pub(super) warm_up: Duration,
    /// Steady work, twice.
    pub(super) half: Duration,
    /// The same while somebody keeps a transaction open.
    pub(super) held: Duration,
    /// The same once that has ended.
    pub(super) after: Duration,
}

impl Plan {
    /// The phases of a run that takes about `length`.
    pub(super) fn of(length: Duration) -> Self {
        let still = (length / 30).clamp(Duration::from_secs(8), Duration::from_secs(90));
        let rest = length.saturating_sub(2 * still);
        Self {
            still,
            warm_up: rest / 8,
            half: rest / 4,
            held: rest / 4,
            after: rest / 8,
        }
    }

    /// How long work is given out.
    pub(super) fn worked(&self) -> Duration {
        self.steady() + self.held + self.after
    }

    /// From the begin of the work until somebody begins to keep a transaction open.
    pub(super) fn steady(&self) -> Duration {
        self.warm_up + 2 * self.half
    }

    /// Spans that are held against each other, from the begin of the work: the two halves, begin and end
    /// of the kept transaction, the end of the time after it.
    pub(super) fn spans(&self) -> [Range<Duration>; 5] {
        let [first, second] = [self.warm_up, self.warm_up + self.half];
        let held = self.steady();
        let after = held + self.held;
        [
            first..second,
            second..held,
            held..held + self.held / 3,
            held + self.held * 2 / 3..after,
            after + self.after / 2..after + self.after,
        ]
    }

    /// Spans are so long that what others do on the machine makes no difference.
    pub(super) fn is_long(&self) -> bool {
        self.half >= LONG
    }

    /// By what tolerances are multiplied.
    pub(super) fn looseness(&self) -> f64 {
        if self.is_long() { 1.0 } else { 2.0 }
    }

    /// Between two samples.
    pub(super) fn period(&self) -> Duration {
        (self.half / 60).clamp(Duration::from_millis(500), Duration::from_secs(10))
    }

    /// What happens at this time of the work.
    pub(super) fn phase(&self, at: Duration) -> &'static str {
        let phases = [
            (self.warm_up, "warm-up"),
            (self.warm_up + self.half, "first half"),
            (self.steady(), "second half"),
            (self.steady() + self.held, "a transaction is kept"),
            (self.worked(), "after it"),
        ];
        let now = phases.into_iter().find(|(end, _)| at < *end);
        now.map_or("what is open ends", |(_, name)| name)
    }
}
