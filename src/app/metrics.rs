//! What a server counts of itself, and shows to Prometheus.
//!
//! Counters and histograms are of this process and cost a few atomic steps where something happens. What
//! stands in the database is the same whoever shows it: it is read when somebody asks, and not again for
//! a while. Labels come from enums and from the API's own method names, never from input.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::store::reads::gauges::Gauges;

use super::gauges::OPEN;
use super::pool::Usage;

/// A gauge of seconds or counts.
type Level = Gauge<f64, AtomicU64>;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    method: &'static str,
    code: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    method: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    job: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    job: &'static str,
    result: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

/// See the module. One a server.
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    call_seconds: Family<MethodLabels, Histogram>,
    claimed: Counter,
    claim_seconds: Histogram,
    lost: Family<StateLabels, Counter>,
    passes: Family<ResultLabels, Counter>,
    pass_seconds: Family<JobLabels, Histogram>,
    rows: Family<ResultLabels, Counter>,
    /// What is read from the database.
    pub(super) levels: Levels,
}

/// Gauges that are set when somebody asks.
pub(super) struct Levels {
    open: Family<StatusLabels, Level>,
    oldest_open: Level,
    oldest_wake: Level,
    due_turns: Level,
    live_turns: Level,
    effects: Level,
    lag: Family<JobLabels, Level>,
    connections: Family<StateLabels, Level>,
    database_up: Level,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("handoffd");
        let levels = Levels::register(&mut registry);
        let mut metrics = Self {
            registry,
            calls: Family::default(),
            // Half a millisecond to four minutes: calls that wait are among them.
            call_seconds: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.000_5, 2.5, 15))
            }),
            claimed: Counter::default(),
            // A millisecond to a day.
            claim_seconds: Histogram::new(exponential_buckets(0.001, 4.0, 14)),
            lost: Family::default(),
            passes: Family::default(),
            pass_seconds: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 3.0, 10))
            }),
            rows: Family::default(),
            levels,
        };
        metrics.register();
        metrics
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "calls",
            "Calls that ended, by method and gRPC code",
            self.calls.clone(),
        );
        registry.register_with_unit(
            "call_duration",
            "From the arrival of a call to the end of its answer, waiting included",
            Unit::Seconds,
            self.call_seconds.clone(),
        );
        registry.register(
            "turns_claimed",
            "Turns that this server assigned to runtimes",
            self.claimed.clone(),
        );
        registry.register_with_unit(
            "time_to_claim",
            "From the time a turn was due to its claim",
            Unit::Seconds,
            self.claim_seconds.clone(),
        );
        registry.register(
            "leases_lost",
            "Turns whose lease ended: `running` ones were lost, `assigned` ones never began",
            self.lost.clone(),
        );
        registry.register(
            "reconciler_passes",
            "Passes of the reconciler's jobs in this server, by whether they came to an end",
            self.passes.clone(),
        );
        registry.register_with_unit(
            "reconciler_pass_duration",
            "How long a pass took",
            Unit::Seconds,
            self.pass_seconds.clone(),
        );
        registry.register(
            "reconciler_rows",
            "Rows that were due: moved, already so, or failed and tried again",
            self.rows.clone(),
        );
    }

    /// A call ended. Method and code are names of the API's own.
    pub fn call_ended(&self, method: &'static str, code: &'static str, took: Duration) {
        let labels = CallLabels { method, code };
        self.calls.get_or_create(&labels).inc();
        let seconds = self.call_seconds.get_or_create(&MethodLabels { method });
        seconds.observe(took.as_secs_f64());
    }

    /// A turn was assigned that had been due for so long.
    pub(super) fn turn_claimed(&self, waited: Duration) {
        self.claimed.inc();
        self.claim_seconds.observe(waited.as_secs_f64());
    }

    /// A lease ended, of a turn that was running or merely assigned.
    pub(super) fn lease_lost(&self, running: bool) {
        let state = if running { "running" } else { "assigned" };
        self.lost.get_or_create(&StateLabels { state }).inc();
    }

    /// A pass of a job took so long and came to this: rows moved, already so and failed, or nothing where
    /// it failed as a whole.
    pub fn pass_ended(&self, job: &'static str, rows: Option<[usize; 3]>, took: Duration) {
        let result = if rows.is_some() { "done" } else { "failed" };
        self.passes
            .get_or_create(&ResultLabels { job, result })
            .inc();
        let seconds = self.pass_seconds.get_or_create(&JobLabels { job });
        seconds.observe(took.as_secs_f64());
        let results = ["moved", "already_so", "failed"];
        for (result, count) in results.into_iter().zip(rows.unwrap_or_default()) {
            let rows = self.rows.get_or_create(&ResultLabels { job, result });
            rows.inc_by(count as u64);
        }
    }

    /// Everything, in the text format of OpenMetrics.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Levels {
    fn register(registry: &mut Registry) -> Self {
        let mut level = |name: &str, help: &str| {
            let level = Level::default();
            registry.register(name, help, level.clone());
            level
        };
        let oldest_open = level(
            "oldest_open_handoff_age_seconds",
            "Age of the oldest handoff that is not closed, over all namespaces; 0 where none is open",
        );
        let oldest_wake = level(
            "oldest_wake_age_seconds",
            "For how long the oldest turn of an active agent is due that nobody claimed; 0 where none is",
        );
        let due_turns = level(
            "due_turns",
            "Threads whose turn is due and was not claimed, up to 100000",
        );
        let live_turns = level("live_turns", "Turns that live, up to 100000");
        let effects = level(
            "deferred_effects",
            "Effects that were left to be done and are not yet, up to 100000",
        );
        let database_up = level(
            "database_up",
            "Whether the last look at the database succeeded; the gauges are as old as the last that did",
        );
        let (open, lag, connections) = <(Family<_, _>, Family<_, _>, Family<_, _>)>::default();
        let about = "Open handoffs by status, over all namespaces, up to 100000";
        registry.register("open_handoffs", about, open.clone());
        let about =
            "How late the reconciler is with the first row that is due, by job; 0 where none is";
        registry.register("sweep_lag_seconds", about, lag.clone());
        let about =
            "Connections of this server's pool for reads: used, idle, and the most it may have";
        registry.register("pool_connections", about, connections.clone());
        Self {
            open,
            oldest_open,
            oldest_wake,
            due_turns,
            live_turns,
            effects,
            lag,
            connections,
            database_up,
        }
    }
}

/// Setting the gauges.
impl Levels {
    /// Shows what was read.
    pub(super) fn show(&self, found: &Gauges) {
        for (status, word) in OPEN {
            let of_status = found.open.iter().find(|(it, _)| *it == status);
            let open = self.open.get_or_create(&StatusLabels { status: word });
            open.set(number(of_status.map_or(0, |(_, count)| *count)));
        }
        let seconds = |span: Option<Duration>| span.unwrap_or_default().as_secs_f64();
        self.oldest_open.set(seconds(found.oldest_open));
        self.oldest_wake.set(seconds(found.oldest_wake));
        self.due_turns.set(number(found.due_turns));
        self.live_turns.set(number(found.live_turns));
        self.effects.set(number(found.effects));
        let lags = [
            ("expire_leases", found.leases_lag),
            ("check_quiet", found.quiet_lag),
            ("run_effects", found.effects_lag),
        ];
        for (job, lag) in lags {
            self.lag.get_or_create(&JobLabels { job }).set(seconds(lag));
        }
        self.database_up.set(1.0);
    }

    /// Says that nothing could be read.
    pub(super) fn database_is_away(&self) {
        self.database_up.set(0.0);
    }

    /// Shows the pool.
    pub(super) fn show_pool(&self, usage: Usage) {
        let Usage { used, idle, most } = usage;
        for (state, count) in [("used", used), ("idle", idle), ("most", most)] {
            let connections = self.connections.get_or_create(&StateLabels { state });
            connections.set(number(count as u64));
        }
    }
}

/// A count as Prometheus has it.
#[expect(
    clippy::cast_precision_loss,
    reason = "no count of ours comes near what a double can hold"
)]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_counted_and_shown() {
        let metrics = Metrics::default();
        metrics.call_ended("handoff.v1.A/B", "OK", Duration::from_millis(3));
        metrics.call_ended("handoff.v1.A/B", "NOT_FOUND", Duration::from_millis(3));
        metrics.turn_claimed(Duration::from_secs(2));
        metrics.lease_lost(true);
        metrics.pass_ended("run_effects", Some([2, 1, 0]), Duration::from_millis(1));
        metrics.pass_ended("run_effects", None, Duration::from_millis(1));
        let text = metrics.text();
        for line in [
            "handoffd_calls_total{method=\"handoff.v1.A/B\",code=\"OK\"} 1",
            "handoffd_call_duration_seconds_count{method=\"handoff.v1.A/B\"} 2",
            "handoffd_turns_claimed_total 1",
            "handoffd_time_to_claim_seconds_sum 2.0",
            "handoffd_leases_lost_total{state=\"running\"} 1",
            "handoffd_reconciler_passes_total{job=\"run_effects\",result=\"failed\"} 1",
            "handoffd_reconciler_rows_total{job=\"run_effects\",result=\"moved\"} 2",
            "handoffd_oldest_open_handoff_age_seconds 0.0",
            "# EOF",
        ] {
            assert!(text.contains(line), "no `{line}` in\n{text}");
        }
    }
}
