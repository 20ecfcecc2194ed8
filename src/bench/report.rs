//! Figures, as a table for people or as JSON for programs.

use comfy_table::{CellAlignment, Table};
use serde::Serialize;

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
    /// Its ratio to the floor at the same number of callers, where the floor was measured too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_ratio: Option<f64>,
    /// Write transactions for each that was done, where the database was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_transactions: Option<f64>,
    /// Latencies in microseconds.
    pub p50_us: u32,
    /// Latencies in microseconds.
    pub p95_us: u32,
    /// Latencies in microseconds.
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
            write_transactions: None,
            p50_us: measured.percentile(50),
            p95_us: measured.percentile(95),
            p99_us: measured.percentile(99),
        }
    }

    fn cells(&self) -> [String; 8] {
        let optional = |ratio: Option<f64>| ratio.map_or_else(String::new, |it| format!("{it:.3}"));
        let millis = |micros: u32| format!("{:.2}", f64::from(micros) / 1000.0);
        [
            self.what.to_owned(),
            self.callers.to_string(),
            format!("{:.0}", self.per_second),
            optional(self.floor_ratio),
            optional(self.write_transactions),
            millis(self.p50_us),
            millis(self.p95_us),
            millis(self.p99_us),
        ]
    }
}

/// All figures of one run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// In the order they were measured.
    pub lines: Vec<Line>,
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
                println!("{}", self.table());
                self.notes.iter().for_each(|note| println!("note: {note}"));
            }
            Output::Json => println!("{}", serde_json::to_string(self)?),
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.set_header([
            "what",
            "callers",
            "per s",
            "of F",
            "write tx each",
            "p50 ms",
            "p95 ms",
            "p99 ms",
        ]);
        table.add_rows(self.lines.iter().map(Line::cells));
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}
