//! W: one statement that writes everything a batch changed. It is put together from the fragments of
//! the tables that this batch touched; each fragment stands once, beside its table.

use std::collections::HashMap;

use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;

use crate::domain::ids::HandoffId;
use crate::domain::time::Timestamp;
use crate::domain::world::{ReportDelivered, World};

use super::agents::{self, AgentRow, SlotsRow};
use super::codec::big;
use super::error::StoreError;
use super::handoffs::{self, AssignmentRow, HandoffRow, ReportRow};
use super::heads::{self, HeadRow};
use super::keys::{self, KeyRow};
use super::messages::{self, MailExceptRow, MessageRow};
use super::threads::{self, ThreadEventRow, ThreadRow};
use super::timelines::{self, HandoffEventRow};
use super::turns::{self, RuntimeRow, TurnRow};

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "report_delivered_row")]
pub(super) struct ReportDeliveredRow {
    handoff_id: HandoffId,
    version: i64,
    deliver_time: Timestamp,
}

impl From<&ReportDelivered> for ReportDeliveredRow {
    fn from(delivered: &ReportDelivered) -> Self {
        Self {
            handoff_id: delivered.handoff_id,
            version: big(delivered.version),
            deliver_time: delivered.deliver_time,
        }
    }
}

/// The rows of a batch for one fragment.
#[derive(Debug)]
enum Rows {
    Agents(Vec<AgentRow>),
    Slots(Vec<SlotsRow>),
    Runtimes(Vec<RuntimeRow>),
    Threads(Vec<ThreadRow>),
    Heads(Vec<HeadRow>),
    Turns(Vec<TurnRow>),
    Handoffs(Vec<HandoffRow>),
    Assignments(Vec<AssignmentRow>),
    Messages(Vec<MessageRow>),
    MailExcepts(Vec<MailExceptRow>),
    ThreadEvents(Vec<ThreadEventRow>),
    Reports(Vec<ReportRow>),
    ReportsDelivered(Vec<ReportDeliveredRow>),
    HandoffEvents(Vec<HandoffEventRow>),
    Keys(Vec<KeyRow>),
}

/// Whether the database must have written exactly as many rows as were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Exactly,
    Any,
}

/// One fragment and its rows.
#[derive(Debug)]
pub(super) struct Write {
    fragment: &'static str,
    rows: Rows,
    counted: Counted,
}

impl Rows {
    fn len(&self) -> usize {
        match self {
            Self::Agents(rows) => rows.len(),
            Self::Slots(rows) => rows.len(),
            Self::Runtimes(rows) => rows.len(),
            Self::Threads(rows) => rows.len(),
            Self::Heads(rows) => rows.len(),
            Self::Turns(rows) => rows.len(),
            Self::Handoffs(rows) => rows.len(),
            Self::Assignments(rows) => rows.len(),
            Self::Messages(rows) => rows.len(),
            Self::MailExcepts(rows) => rows.len(),
            Self::ThreadEvents(rows) => rows.len(),
            Self::Reports(rows) => rows.len(),
            Self::ReportsDelivered(rows) => rows.len(),
            Self::HandoffEvents(rows) => rows.len(),
            Self::Keys(rows) => rows.len(),
        }
    }
}

impl Write {
    pub(super) fn bind<'q>(
        &'q self,
        query: Query<'q, Postgres, PgArguments>,
    ) -> Query<'q, Postgres, PgArguments> {
        match &self.rows {
            Rows::Agents(rows) => query.bind(rows),
            Rows::Slots(rows) => query.bind(rows),
            Rows::Runtimes(rows) => query.bind(rows),
            Rows::Threads(rows) => query.bind(rows),
            Rows::Heads(rows) => query.bind(rows),
            Rows::Turns(rows) => query.bind(rows),
            Rows::Handoffs(rows) => query.bind(rows),
            Rows::Assignments(rows) => query.bind(rows),
            Rows::Messages(rows) => query.bind(rows),
            Rows::MailExcepts(rows) => query.bind(rows),
            Rows::ThreadEvents(rows) => query.bind(rows),
            Rows::Reports(rows) => query.bind(rows),
            Rows::ReportsDelivered(rows) => query.bind(rows),
            Rows::HandoffEvents(rows) => query.bind(rows),
            Rows::Keys(rows) => query.bind(rows),
        }
    }

    /// How many rows must have been written, where that is known.
    pub(super) fn expected(&self) -> Option<i64> {
        match self.counted {
            Counted::Exactly => i64::try_from(self.rows.len()).ok(),
            Counted::Any => None,
        }
    }
}

/// Everything that `world` changed, a fragment a table, rows sorted as they were made or by id.
pub(super) fn collect(world: &World) -> Result<Vec<Write>, StoreError> {
    use Counted::{Any, Exactly};

    let made = &world.made;
    let encode = |error: serde_json::Error| StoreError::Data(sqlx::Error::Encode(Box::new(error)));
    let events = made.thread_events.iter().map(ThreadEventRow::try_from);
    let agents: Vec<AgentRow> = made.agents.values().map(AgentRow::from).collect();
    let all = [
        (agents::INSERT_NAMESPACES, Rows::Agents(agents.clone()), Any),
        (agents::PUT, Rows::Agents(agents), Exactly),
        (
            agents::INSERT_SLOTS,
            Rows::Slots(
                world
                    .slots
                    .inserts()
                    .map(|s| SlotsRow::new(s, None))
                    .collect(),
            ),
            Exactly,
        ),
        (
            agents::UPDATE_SLOTS,
            Rows::Slots(updates(world.slots.updates(), SlotsRow::new)),
            Exactly,
        ),
        (
            turns::INSERT_RUNTIMES,
            Rows::Runtimes(
                world
                    .runtimes
                    .inserts()
                    .map(|r| RuntimeRow::new(r, None))
                    .collect(),
            ),
            Exactly,
        ),
        (
            turns::UPDATE_RUNTIMES,
            Rows::Runtimes(updates(world.runtimes.updates(), RuntimeRow::new)),
            Exactly,
        ),
        (
            threads::INSERT,
            Rows::Threads(made.threads.iter().map(ThreadRow::from).collect()),
            Exactly,
        ),
        (
            heads::INSERT,
            Rows::Heads(
                world
                    .heads
                    .inserts()
                    .map(|h| HeadRow::new(h, None))
                    .collect(),
            ),
            Exactly,
        ),
        (
            heads::UPDATE,
            Rows::Heads(updates(world.heads.updates(), HeadRow::new)),
            Exactly,
        ),
        (
            turns::INSERT,
            Rows::Turns(
                world
                    .turns
                    .inserts()
                    .map(|t| TurnRow::new(t, None))
                    .collect(),
            ),
            Exactly,
        ),
        (
            turns::UPDATE,
            Rows::Turns(updates(world.turns.updates(), TurnRow::new)),
            Exactly,
        ),
        (
            handoffs::INSERT,
            Rows::Handoffs(
                world
                    .handoffs
                    .inserts()
                    .map(|h| HandoffRow::new(h, None))
                    .collect(),
            ),
            Exactly,
        ),
        (
            handoffs::UPDATE,
            Rows::Handoffs(updates(world.handoffs.updates(), HandoffRow::new)),
            Exactly,
        ),
        (
            handoffs::INSERT_ASSIGNMENTS,
            Rows::Assignments(made.assignments.iter().map(AssignmentRow::from).collect()),
            Exactly,
        ),
        (
            messages::INSERT,
            Rows::Messages(made.messages.iter().map(MessageRow::from).collect()),
            Exactly,
        ),
        (
            messages::EXCEPT,
            Rows::MailExcepts(made.mail_excepts.iter().map(MailExceptRow::from).collect()),
            Any,
        ),
        (
            threads::INSERT_EVENTS,
            Rows::ThreadEvents(events.collect::<Result<_, _>>().map_err(encode)?),
            Exactly,
        ),
        (
            handoffs::INSERT_REPORTS,
            Rows::Reports(made.reports.iter().map(ReportRow::from).collect()),
            Exactly,
        ),
        (
            handoffs::DELIVER_REPORTS,
            Rows::ReportsDelivered(
                made.reports_delivered
                    .iter()
                    .map(ReportDeliveredRow::from)
                    .collect(),
            ),
            Any,
        ),
        (
            timelines::INSERT,
            Rows::HandoffEvents(
                made.handoff_events
                    .iter()
                    .map(HandoffEventRow::from)
                    .collect(),
            ),
            Exactly,
        ),
        (
            keys::INSERT,
            Rows::Keys(made.keys.values().map(KeyRow::from).collect()),
            Exactly,
        ),
    ];
    let touched = all.into_iter().filter(|(_, rows, _)| rows.len() > 0);
    Ok(touched
        .map(|(fragment, rows, counted)| Write {
            fragment,
            rows,
            counted,
        })
        .collect())
}

fn updates<'w, T: 'w, R>(
    rows: impl Iterator<Item = (crate::domain::world::Stored, &'w T)>,
    row: impl Fn(&T, Option<crate::domain::world::Stored>) -> R,
) -> Vec<R> {
    rows.map(|(stored, value)| row(value, Some(stored)))
        .collect()
}

/// Joins fragments into one statement and remembers the texts, so that each is prepared once a
/// connection: a dozen in practice.
#[derive(Debug, Default)]
pub struct Composer {
    texts: HashMap<Vec<&'static str>, String>,
}

impl Composer {
    pub(super) fn compose(&mut self, writes: &[Write]) -> String {
        let fragments: Vec<&'static str> = writes.iter().map(|write| write.fragment).collect();
        self.texts
            .entry(fragments)
            .or_insert_with_key(|fragments| join(fragments))
            .clone()
    }
}

/// `$1` is the namespace; `$rows` becomes the parameter of each fragment.
fn join(fragments: &[&'static str]) -> String {
    let parts: Vec<String> = fragments
        .iter()
        .enumerate()
        .map(|(at, fragment)| {
            format!(
                "w{at} AS (\n{}\n)",
                fragment.replace("$rows", &format!("${}", at + 2))
            )
        })
        .collect();
    let counts: Vec<String> = (0..fragments.len())
        .map(|at| format!("(SELECT count(*) FROM w{at})"))
        .collect();
    format!(
        "WITH {}\nSELECT ARRAY[{}]",
        parts.join(",\n"),
        counts.join(", ")
    )
}
