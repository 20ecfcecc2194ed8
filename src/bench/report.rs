//! Figures, as tables for people or as JSON for programs.

use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::goals::Verdict;
use super::meter::Cost;
use super::{BenchError, Measured, Output};

/// One figure of a report.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// What was done.
    pub what: &'static str,
    /// Callers at once.
    pub callers: usize,
    /// Done a second.
    pub per_second: f64,
    /// Its ratio to F at the same number of callers, where that was measured too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_ratio: Option<f64>,
    /// Its ratio to Fg at the same number of callers, where that was measured too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc_floor_ratio: Option<f64>,
    /// Processor time of one F against that of one of these. On a machine that others use too it is
    /// what their rates would compare to on one that nobody else does, where the processor is the bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_cpu_ratio: Option<f64>,
    /// Its median latency as a multiple of that of Fg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc_floor_median_ratio: Option<f64>,
    /// What each cost, where the database was looked at.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Latencies of calls in microseconds.
    pub p50_us: u32,
    /// Latencies of calls in microseconds.
    pub p95_us: u32,
    /// Latencies of calls in microseconds.
    pub p99_us: u32,
}

impl Line {
    /// A line of what a run measured, without ratios.
    #[must_use]
    pub fn new(what: &'static str, callers: usize, measured: &Measured) -> Self {
        Self {
            what,
            callers,
            per_second: measured.rate(),
            floor_ratio: None,
            grpc_floor_ratio: None,
            floor_cpu_ratio: None,
            grpc_floor_median_ratio: None,
            cost: None,
            p50_us: measured.percentile(50),
            p95_us: measured.percentile(95),
            p99_us: measured.percentile(99),
        }
    }

    /// With what each operation cost.
    #[must_use]
    pub fn with_cost(mut self, cost: Cost) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Sets it beside F and Fg of the same run.
    pub(super) fn compare(&mut self, floor: &Self, grpc_floor: &Self) {
        self.floor_ratio = Some(self.per_second / floor.per_second);
        self.grpc_floor_ratio = Some(self.per_second / grpc_floor.per_second);
        let cpu = |line: &Self| line.cost.and_then(Cost::cpu_us);
        self.floor_cpu_ratio = cpu(floor).zip(cpu(self)).map(|(floor, own)| floor / own);
        let median = f64::from(grpc_floor.p50_us.max(1));
        self.grpc_floor_median_ratio = Some(f64::from(self.p50_us) / median);
    }

    fn cells(&self) -> Vec<String> {
        let optional = |ratio: Option<f64>| ratio.map_or_else(String::new, |it| format!("{it:.3}"));
        let whole = |micros: Option<f64>| micros.map_or_else(String::new, |it| format!("{it:.0}"));
        let millis = |micros: u32| format!("{:.2}", f64::from(micros) / 1000.0);
        let cost = self.cost.as_ref();
        vec![
            self.what.to_owned(),
            self.callers.to_string(),
            format!("{:.0}", self.per_second),
            optional(self.floor_ratio),
            optional(self.grpc_floor_ratio),
            optional(self.floor_cpu_ratio),
            millis(self.p50_us),
            millis(self.p95_us),
            millis(self.p99_us),
            optional(cost.map(|cost| cost.write_transactions)),
            optional(cost.map(|cost| cost.transactions)),
            whole(cost.and_then(|cost| cost.postgres_us)),
            whole(cost.and_then(|cost| cost.server_us)),
            whole(cost.and_then(|cost| cost.load_us)),
        ]
    }
}

/// All figures of one run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// In the order they were measured.
    pub lines: Vec<Line>,
    /// How they stand to what is aimed at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
    /// What a reader must know to compare them.
    pub notes: Vec<String>,
}

impl Report {
    /// Prints the report on standard output.
    ///
    /// # Errors
    /// A figure that JSON cannot say.
    #[expect(
        clippy::print_stdout,
        reason = "the output of a command belongs on standard output"
    )]
    pub fn print(&self, output: Output) -> Result<(), BenchError> {
        match output {
            Output::Table => {
                println!("{}", self.figures());
                if !self.verdicts.is_empty() {
                    println!("{}", self.judged());
                }
                self.notes.iter().for_each(|note| println!("note: {note}"));
            }
            Output::Json => println!("{}", serde_json::to_string(self)?),
        }
        Ok(())
    }

    fn figures(&self) -> Table {
        let header = [
            "what",
            "callers",
            "per s",
            "of F",
            "of Fg",
            "cpu of F",
            "p50 ms",
            "p95 ms",
            "p99 ms",
            "write tx each",
            "tx each",
            "db us",
            "server us",
            "load us",
        ];
        table(&header, self.lines.iter().map(Line::cells))
    }

    fn judged(&self) -> Table {
        let header = [
            "what", "callers", "measured", "must", "after", "holds", "unit",
        ];
        let cells = |verdict: &Verdict| {
            vec![
                verdict.what.to_owned(),
                verdict.callers.to_string(),
                format!("{:.3}", verdict.measured),
                verdict.must.to_string(),
                verdict.after.to_string(),
                verdict.holds.to_owned(),
                verdict.measure.to_owned(),
            ]
        };
        table(&header, self.verdicts.iter().map(cells))
    }
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
