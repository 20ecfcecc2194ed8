//! What the figures are held against: see `docs/PERFORMANCE.md`.

use serde::Serialize;

use super::Line;
use super::idle::IDLE;
use super::wake::{CREATED, REPORTED};

/// How a line is judged.
#[derive(Debug, Clone, Copy)]
enum Measure {
    /// Rate, as a multiple of F.
    OfFloor,
    /// Rate, as a multiple of Fg.
    OfGrpcFloor,
    /// The median, as a multiple of Fg's.
    MedianOfGrpcFloor,
    /// The median in milliseconds.
    MedianMillis,
    /// The 99th percentile in milliseconds.
    TailMillis,
    /// How many a second.
    Rate,
    /// Write transactions each.
    Writes,
}

/// One figure that must hold.
struct Goal {
    what: &'static str,
    callers: usize,
    measure: Measure,
    must: f64,
    after: f64,
}

const fn goal(what: &'static str, callers: usize, measure: Measure, must: f64, after: f64) -> Goal {
    Goal {
        what,
        callers,
        measure,
        must,
        after,
    }
}

const GOALS: [Goal; 20] = [
    goal("SendMessage", 256, Measure::OfFloor, 0.5, 0.8),
    goal("SendMessage", 256, Measure::OfGrpcFloor, 1.3, 1.3),
    goal("SendMessage", 32, Measure::TailMillis, 20.0, 10.0),
    goal("CreateHandoff", 256, Measure::OfFloor, 0.3, 0.5),
    goal("CreateHandoff", 32, Measure::TailMillis, 20.0, 10.0),
    goal("CreateHandoff", 1, Measure::MedianOfGrpcFloor, 4.0, 2.5),
    goal("ClaimTurns, turns", 256, Measure::OfFloor, 0.6, 1.0),
    goal(
        "ClaimTurns of 4, turns",
        32,
        Measure::TailMillis,
        20.0,
        10.0,
    ),
    goal("Heartbeat of 50, turns", 256, Measure::OfFloor, 3.0, 6.0),
    goal("Heartbeat of 4, turns", 32, Measure::TailMillis, 20.0, 10.0),
    goal("GetHandoffStatus", 256, Measure::OfFloor, 0.7, 1.0),
    goal("FinishTurn", 32, Measure::TailMillis, 20.0, 10.0),
    goal("ReadMail", 32, Measure::TailMillis, 20.0, 10.0),
    goal(CREATED, 1, Measure::MedianMillis, 3.0, 1.4),
    goal(CREATED, 1, Measure::TailMillis, 10.0, 6.0),
    goal(REPORTED, 1, Measure::MedianMillis, 5.0, 2.0),
    goal(REPORTED, 1, Measure::TailMillis, 25.0, 10.0),
    goal(IDLE, 1_000, Measure::Rate, 5.0, 5.0),
    goal("lifecycle", 256, Measure::OfFloor, 0.08, 0.15),
    goal("lifecycle", 256, Measure::Writes, 0.3, 0.1),
];

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::OfFloor => "of F",
            Self::OfGrpcFloor => "of Fg",
            Self::MedianOfGrpcFloor => "p50 of Fg's",
            Self::MedianMillis => "p50 ms",
            Self::TailMillis => "p99 ms",
            Self::Rate => "per s",
            Self::Writes => "write tx each",
        }
    }

    fn of(self, line: &Line) -> Option<f64> {
        match self {
            Self::OfFloor => line.floor_ratio,
            Self::OfGrpcFloor => line.grpc_floor_ratio,
            Self::MedianOfGrpcFloor => line.grpc_floor_median_ratio,
            Self::MedianMillis => Some(f64::from(line.p50_us) / 1000.0),
            Self::TailMillis => Some(f64::from(line.p99_us) / 1000.0),
            Self::Rate => Some(line.per_second),
            Self::Writes => line.cost.map(|cost| cost.write_transactions),
        }
    }

    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::OfFloor | Self::OfGrpcFloor => value >= bound,
            Self::MedianOfGrpcFloor
            | Self::MedianMillis
            | Self::TailMillis
            | Self::Rate
            | Self::Writes => value <= bound,
        }
    }
}

/// How a figure stands to its goal.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Verdict {
    /// What was done.
    pub what: &'static str,
    /// Callers at once.
    pub callers: usize,
    /// What is judged.
    pub measure: &'static str,
    /// The figure.
    pub measured: f64,
    /// What must hold.
    pub must: f64,
    /// What we are after.
    pub after: f64,
    /// `missed`, `must` or `after`: the better one that holds.
    pub holds: &'static str,
}

/// Holds lines against the goals that they are about.
pub(super) fn judge(lines: &[Line]) -> Vec<Verdict> {
    let about = |goal: &Goal| {
        let line = lines
            .iter()
            .find(|line| line.what == goal.what && line.callers == goal.callers)?;
        let measured = goal.measure.of(line)?;
        let holds = if goal.measure.holds(measured, goal.after) {
            "after"
        } else if goal.measure.holds(measured, goal.must) {
            "must"
        } else {
            "missed"
        };
        Some(Verdict {
            what: goal.what,
            callers: goal.callers,
            measure: goal.measure.name(),
            measured,
            must: goal.must,
            after: goal.after,
            holds,
        })
    };
    GOALS.iter().filter_map(about).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::Measured;

    #[test]
    fn a_figure_is_held_against_its_own_goal() {
        let measured = Measured::new(vec![15_000], 1, Duration::from_secs(1));
        let mut line = Line::new("CreateHandoff", 32, &measured);
        line.floor_ratio = Some(0.1);
        let verdicts = judge(&[line]);
        assert_eq!(verdicts.len(), 1);
        assert_eq!((verdicts[0].measure, verdicts[0].holds), ("p99 ms", "must"));
    }
}
