//! What must stay as it is however long it goes on, with how much of a difference is noise.
//!
//! Everything is a ratio of two spans of one run, and a median or a sum, since the machine may be shared
//! with others: their work makes every figure worse for a while, and none of them steadily.

use std::fmt::{self, Display};

/// Titles of the spans.
const SPANS: [&str; 5] = [
    "first half",
    "second half",
    "kept, begin",
    "kept, end",
    "after it",
];
const FIRST: usize = 0;
const SECOND: usize = 1;
const KEPT: usize = 2;
const KEPT_LAST: usize = 3;
const AFTER: usize = 4;

/// How the figures of a line may differ.
#[derive(Clone, Copy, Debug)]
pub(super) enum Law {
    /// The second half is like the first, and the time after the kept transaction like the second half.
    /// While that is kept, the end may be so many times its begin.
    Flat { times: f64, slack: f64, kept: f64 },
    /// Bytes: likewise, but a kept transaction costs room. It is not given back, and used again.
    Room { times: f64, slack: f64 },
    /// Never less than this part of the first half.
    NoLess { part: f64 },
    /// Never more than this.
    AtMost(f64),
}

/// One figure, span by span.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) what: String,
    pub(super) values: [f64; 5],
    /// By how much the slack is divided in each span: what the figure is per.
    pub(super) per: [f64; 5],
    pub(super) law: Law,
    /// It says how fast everything went: too much of that is the machine's to judge a short run by it.
    pub(super) speed: bool,
}

impl Line {
    pub(super) fn of_speed(self) -> Self {
        Self {
            speed: true,
            ..self
        }
    }

    /// What breaks its law, where tolerances are multiplied by `loose`.
    pub(super) fn broken(&self, loose: f64) -> Vec<String> {
        let Line {
            what,
            values,
            per,
            law,
            speed: _,
        } = self;
        let (pairs, slack) = match *law {
            Law::Flat { times, slack, kept } => (
                vec![
                    (FIRST, SECOND, times),
                    (KEPT, KEPT_LAST, kept),
                    (SECOND, AFTER, times),
                ],
                slack,
            ),
            Law::Room { times, slack } => (
                vec![(FIRST, SECOND, times), (KEPT_LAST, AFTER, times)],
                slack,
            ),
            Law::NoLess { part } => {
                let low = |value: &&f64| **value < values[FIRST] * part / loose;
                return values
                    .iter()
                    .filter(low)
                    .map(|value| {
                        format!(
                            "{what}: {value:.1}, and {:.1} in the first half",
                            values[FIRST]
                        )
                    })
                    .collect();
            }
            Law::AtMost(most) => {
                let high = values.iter().filter(|value| **value > most);
                return high
                    .map(|value| format!("{what}: {value:.1}, and at most {most} is right"))
                    .collect();
            }
        };
        let rose = pairs.into_iter().filter(|(before, now, times)| {
            values[*now] > values[*before] * times * loose + slack * loose / per[*now]
        });
        rose.map(|(before, now, _)| {
            format!(
                "{what}: {:.1} ({}), and {:.1} before ({})",
                values[now], SPANS[now], values[before], SPANS[before]
            )
        })
        .collect()
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for value in self.values {
            write!(f, "{value:>13.1}")?;
        }
        write!(f, "  {}", self.what)
    }
}

/// The first line of the table.
pub(super) fn title() -> String {
    SPANS.map(|span| format!("{span:>13}")).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: [f64; 5], law: Law) -> Line {
        Line {
            what: "a figure".to_owned(),
            values,
            per: [1.0; 5],
            law,
            speed: false,
        }
    }

    #[test]
    fn what_grows_without_end_is_found_and_what_wavers_is_not() {
        let flat = Law::Flat {
            times: 1.2,
            slack: 5.0,
            kept: 3.0,
        };
        let found = |values| line(values, flat).broken(1.0).len();
        assert_eq!(found([100.0, 124.0, 100.0, 300.0, 150.0]), 0);
        assert_eq!(found([100.0, 126.0, 100.0, 306.0, 157.0]), 3);
        let loose = line([100.0, 126.0, 100.0, 306.0, 157.0], flat).broken(2.0);
        assert!(loose.is_empty(), "{loose:?}");
    }

    #[test]
    fn room_that_a_kept_transaction_cost_is_used_again() {
        let room = Law::Room {
            times: 1.2,
            slack: 0.0,
        };
        let found = |values| line(values, room).broken(1.0).len();
        assert_eq!(found([100.0, 110.0, 200.0, 900.0, 910.0]), 0);
        assert_eq!(found([100.0, 130.0, 200.0, 900.0, 1_200.0]), 2);
    }

    #[test]
    fn less_work_and_too_much_of_anything_are_found() {
        let slower = line([100.0, 69.0, 71.0, 71.0, 10.0], Law::NoLess { part: 0.7 });
        assert_eq!(slower.broken(1.0).len(), 2);
        let older = line([1.0, 2.0, 3.0, 4.0, 11.0], Law::AtMost(10.0));
        assert_eq!(older.broken(2.0).len(), 1);
    }
}
