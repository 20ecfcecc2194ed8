//! What a command says: tables for people, one JSON document for programs.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde_json::Value;

use super::CtlError;
use super::json;

/// The widest column that is never broken: a time has 20 characters.
const SHORT: u16 = 20;

/// How answers are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables and sentences
    Table,
    /// One JSON document
    Json,
}

/// Where answers go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    format: Format,
}

impl Output {
    pub(super) fn new(format: Format) -> Self {
        Self { format }
    }

    /// Prints `document`, for people as `text` tells it.
    pub(super) fn answer<D: prost::Name>(
        self,
        document: &D,
        text: impl FnOnce(&D) -> String,
    ) -> Result<(), CtlError> {
        match self.format {
            Format::Table => print(&text(document)),
            Format::Json => print(&json::text(&json::value(document)?)?),
        }
    }

    /// Prints what is no message by itself.
    pub(super) fn value(
        self,
        value: impl FnOnce() -> Result<Value, CtlError>,
        text: impl FnOnce() -> String,
    ) -> Result<(), CtlError> {
        match self.format {
            Format::Table => print(&text()),
            Format::Json => print(&json::text(&value()?)?),
        }
    }

    /// Tells a person that the list has more than was shown. A program sees it in the document.
    pub(super) fn cut(self, shown: usize, more: bool) {
        if more && self.format == Format::Table {
            note(&format!(
                "the first {shown} are shown; `--limit` shows more"
            ));
        }
    }
}

/// Prints on standard output. Not by the macro, which panics where the reader left: `| head` is no
/// failure.
pub(super) fn print(text: &str) -> Result<(), CtlError> {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Says something beside the answer, on standard error.
pub(super) fn note(text: &str) {
    // Nobody is left to be told that it failed.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Asks a person to confirm; without one nothing is confirmed.
pub(super) fn confirmed(question: &str) -> Result<bool, CtlError> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Err(CtlError::Usage(
            "there is nobody to confirm it: give `--yes`".to_owned(),
        ));
    }
    note(&format!("{question} [y/N]"));
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A table of rows under a header, as wide as the terminal.
pub(super) fn table<const N: usize>(header: [&str; N], rows: Vec<[String; N]>) -> String {
    if rows.is_empty() {
        return "none".to_owned();
    }
    let mut table = plain();
    table.set_header(header);
    table.add_rows(rows);
    finished(table)
}

/// Names and values, one below the other.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    lines: Vec<[String; 2]>,
}

impl Sheet {
    /// Adds a line, unless its value is empty.
    pub(super) fn add(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.lines.push([name.to_owned(), value]);
        }
    }

    /// Adds a line, if there is a value.
    pub(super) fn add_some(&mut self, name: &str, value: Option<String>) {
        self.add(name, value.unwrap_or_default());
    }

    /// The text of it.
    pub(super) fn text(self) -> String {
        let mut table = plain();
        table.add_rows(self.lines);
        finished(table)
    }
}

fn plain() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table
}

/// The first column names the row, and a name in two pieces cannot be copied; what is short, such as
/// a time, is kept whole as well. So long texts are what is broken where a terminal is narrow.
fn finished(mut table: Table) -> String {
    for (index, width) in table.column_max_content_widths().into_iter().enumerate() {
        if let Some(column) = table.column_mut(index)
            && (index == 0 || width <= SHORT)
        {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    if let Some(names) = table.column_mut(0) {
        names.set_padding((0, 1));
    }
    table.trim_fmt()
}
