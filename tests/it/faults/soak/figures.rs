//! What samples come to, span by span, and which law holds for it.

use std::time::Duration;

use super::laws::{Law, Line};
use super::plan::Plan;
use super::sample::Sample;
use crate::faults::workload::probe;

/// Tables whose rows are changed. All others are logs, which grow by design and shall grow alike.
const CHANGED: [&str; 7] = [
    "agent_slots",
    "deferred_effects",
    "handoffs",
    "runtimes",
    "service",
    "thread_heads",
    "turns",
];

/// Calls that are looked at.
const CALLS: [&str; 8] = [
    probe::CREATE,
    probe::LIFECYCLE,
    probe::STATUS,
    probe::LIST,
    probe::READ,
    "a parent hands work off",
    "a parent writes",
    "a pal writes",
];

/// All that two servers may open: 16 for reads, and those that docs/OPERATING.md counts.
const CONNECTIONS: f64 = 52.0;
/// Above any limit of a statement, in milliseconds; a look at all invariants takes 6 s.
const OLDEST: f64 = 10_000.0;
/// A table takes room in pieces; so much more is no growth.
const PIECE: f64 = 1_048_576.0;

/// All lines of the table.
pub(super) fn lines(samples: &[Sample], plan: &Plan) -> Vec<Line> {
    let spans = plan.spans().map(|span| {
        let within = samples.iter().filter(|it| span.contains(&it.at));
        Span(within.collect())
    });
    for span in &spans {
        assert!(span.0.len() > 1, "too few samples: {}", samples.len());
    }
    let mut lines = costs(&spans);
    lines.extend(bounded(&spans));
    lines.extend(samples[0].tables.keys().map(|name| room(&spans, name)));
    lines.extend(CALLS.map(|call| {
        let law = Law::Flat {
            times: 3.0,
            slack: 5.0,
            kept: 5.0,
        };
        let what = format!("median ms: {call}");
        line(&spans, &what, law, |span| span.median_call(call)).of_speed()
    }));
    lines
}

fn line(
    spans: &[Span<'_>; 5],
    what: &str,
    law: Law,
    figure: impl for<'a, 'b> Fn(&'a Span<'b>) -> f64,
) -> Line {
    Line {
        what: what.to_owned(),
        values: spans.each_ref().map(figure),
        per: [1.0; 5],
        law,
        speed: false,
    }
}

fn costs(spans: &[Span<'_>; 5]) -> Vec<Line> {
    let cpu = Law::Flat {
        times: 1.5,
        slack: 1.0,
        kept: 3.0,
    };
    let flat = |times, slack| Law::Flat {
        times,
        slack,
        kept: times,
    };
    vec![
        line(
            spans,
            "lifecycles a second",
            Law::NoLess { part: 0.7 },
            rate,
        )
        .of_speed(),
        line(spans, "processor ms a lifecycle, servers", cpu, |span| {
            span.cost(Sample::servers_cpu)
        })
        .of_speed(),
        line(spans, "processor ms a lifecycle, database", cpu, |span| {
            span.cost(|it| it.database_cpu)
        })
        .of_speed(),
        line(spans, "MB resident, servers", flat(1.1, 16.0), |span| {
            span.median(|it| float(it.resident() >> 10) / 1_024.0)
        }),
        line(spans, "open files, servers", flat(1.0, 16.0), |span| {
            span.median(|it| float(it.files()))
        }),
        line(
            spans,
            "connections, servers",
            Law::AtMost(CONNECTIONS),
            |span| span.most(|it| it.sessions.connections),
        ),
        line(
            spans,
            "ms open, oldest transaction of a server",
            Law::AtMost(OLDEST),
            |span| span.most(|it| it.sessions.oldest),
        ),
    ]
}

/// One of the counts of a sample.
type Count = fn(&Sample) -> i64;

/// What must not become more and more.
fn bounded(spans: &[Span<'_>; 5]) -> [Line; 5] {
    let open: [(&str, Count); 5] = [
        ("live turns", |it| it.open.live_turns),
        ("unfinished handoffs", |it| it.open.unfinished_handoffs),
        ("wakes", |it| it.open.wakes),
        ("deferred effects", |it| it.open.deferred_effects),
        ("runtimes", |it| it.open.runtimes),
    ];
    let law = Law::Flat {
        times: 1.3,
        slack: 20.0,
        kept: 1.3,
    };
    open.map(|(what, of)| {
        line(spans, what, law, |span| {
            span.median(|it| float(of(it).unsigned_abs()))
        })
    })
}

/// What a table with its indexes takes: of a changed one for each row, of a log for each lifecycle anew.
fn room(spans: &[Span<'_>; 5], name: &str) -> Line {
    if CHANGED.contains(&name) {
        let law = Law::Room {
            times: 1.3,
            slack: PIECE,
        };
        let rows = |span: &Span<'_>| float(span.last().tables[name].rows.unsigned_abs()).max(1.0);
        let bytes = |span: &Span<'_>| float(span.last().tables[name].bytes.unsigned_abs());
        let what = format!("bytes a row: {name}");
        Line {
            per: spans.each_ref().map(rows),
            ..line(spans, &what, law, |span| bytes(span) / rows(span))
        }
    } else {
        let law = Law::Flat {
            times: 1.5,
            slack: PIECE,
            kept: 1.5,
        };
        let grown = |span: &Span<'_>| {
            let bytes = [span.last(), span.first()].map(|it| it.tables[name].bytes.unsigned_abs());
            float(bytes[0].saturating_sub(bytes[1])) / span.lifecycles()
        };
        let what = format!("new bytes a lifecycle: {name}");
        Line {
            per: spans.each_ref().map(Span::lifecycles),
            ..line(spans, &what, law, grown)
        }
    }
}

/// The samples of one span, in order.
struct Span<'a>(Vec<&'a Sample>);

impl Span<'_> {
    fn first(&self) -> &Sample {
        self.0[0]
    }

    fn last(&self) -> &Sample {
        self.0[self.0.len() - 1]
    }

    /// At least one, to divide by.
    fn lifecycles(&self) -> f64 {
        float(self.last().lifecycles - self.first().lifecycles).max(1.0)
    }

    /// Milliseconds of processor time a lifecycle.
    fn cost(&self, cpu: impl Fn(&Sample) -> Duration) -> f64 {
        millis(cpu(self.last()).saturating_sub(cpu(self.first()))) / self.lifecycles()
    }

    fn median(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        median(self.0.iter().map(|it| figure(it)).collect())
    }

    fn most(&self, figure: impl Fn(&Sample) -> i64) -> f64 {
        let most = self.0.iter().map(|it| figure(it)).max();
        float(most.unwrap_or_default().unsigned_abs())
    }

    fn median_call(&self, call: &str) -> f64 {
        let spans = self.0.iter().filter_map(|it| it.spans.get(call));
        median(spans.flatten().copied().map(millis).collect())
    }
}

fn rate(span: &Span<'_>) -> f64 {
    let seconds = span.last().at.abs_diff(span.first().at).as_secs_f64();
    span.lifecycles() / seconds
}

/// 0 where there is none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a figure to print and to compare"
)]
fn float(number: u64) -> f64 {
    number as f64
}
