//! W: one statement that writes everything a batch changed. It is put together from the fragments of
//! the tables that this batch touched; each fragment stands once, beside its table.

use std::collections::HashMap;

use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;

use crate::domain::ids::{EffectId, HandoffId};
use crate::domain::time::Timestamp;
use crate::domain::world::{ReportDelivered, ReportReturned, Stored, World};

use super::agents::{self, AgentRow, SlotsRow};
use super::codec::big;
use super::effects::{self, EffectPutOffRow, EffectRow};
use super::error::StoreError;
use super::handoffs::{self, AssignmentRow, HandoffRow, ReportRow};
use super::heads::{self, HeadRow};
use super::keys::{self, KeyRow};
use super::messages::{self, MailExceptRow, MessageRow};
use super::parts::Parts;
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

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "report_returned_row")]
pub(super) struct ReportReturnedRow {
    handoff_id: HandoffId,
    version: i64,
    mail_number: i64,
}

impl From<&ReportReturned> for ReportReturnedRow {
    fn from(returned: &ReportReturned) -> Self {
        Self {
            handoff_id: returned.handoff_id,
            version: big(returned.version),
            mail_number: big(returned.mail_number),
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
    ReportsReturned(Vec<ReportReturnedRow>),
    HandoffEvents(Vec<HandoffEventRow>),
    Keys(Vec<KeyRow>),
    Effects(Vec<EffectRow>),
    EffectsRun(Vec<EffectId>),
    EffectsPutOff(Vec<EffectPutOffRow>),
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
            Self::ReportsReturned(rows) => rows.len(),
            Self::HandoffEvents(rows) => rows.len(),
            Self::Keys(rows) => rows.len(),
            Self::Effects(rows) => rows.len(),
            Self::EffectsRun(rows) => rows.len(),
            Self::EffectsPutOff(rows) => rows.len(),
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
            Rows::ReportsReturned(rows) => query.bind(rows),
            Rows::HandoffEvents(rows) => query.bind(rows),
            Rows::Keys(rows) => query.bind(rows),
            Rows::Effects(rows) => query.bind(rows),
            Rows::EffectsRun(rows) => query.bind(rows),
            Rows::EffectsPutOff(rows) => query.bind(rows),
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
    let mut changed = Changed::default();
    changed.agents_and_runtimes(world);
    changed.threads(world)?;
    changed.turns(world);
    changed.messages(world);
    changed.handoffs(world);
    changed.effects(world)?;
    let keys = world.made.keys.values().map(KeyRow::from).collect();
    changed.all(keys::INSERT, Rows::Keys(keys));
    Ok(changed.writes)
}

/// Gathers the fragments that have rows.
#[derive(Default)]
struct Changed {
    writes: Vec<Write>,
}

impl Changed {
    /// Rows of which every one must be written.
    fn all(&mut self, fragment: &'static str, rows: Rows) {
        self.add(fragment, rows, Counted::Exactly);
    }

    /// Rows of which some may be there, or done, already.
    fn some(&mut self, fragment: &'static str, rows: Rows) {
        self.add(fragment, rows, Counted::Any);
    }

    fn add(&mut self, fragment: &'static str, rows: Rows, counted: Counted) {
        if rows.len() > 0 {
            self.writes.push(Write {
                fragment,
                rows,
                counted,
            });
        }
    }

    fn agents_and_runtimes(&mut self, world: &World) {
        let agents: Vec<AgentRow> = world.made.agents.values().map(AgentRow::from).collect();
        self.some(agents::INSERT_NAMESPACES, Rows::Agents(agents.clone()));
        self.all(agents::PUT, Rows::Agents(agents));
        let slots = inserts(world.slots.inserts(), SlotsRow::new);
        self.all(agents::INSERT_SLOTS, Rows::Slots(slots));
        let slots = updates(world.slots.updates(), SlotsRow::new);
        self.all(agents::UPDATE_SLOTS, Rows::Slots(slots));
        let runtimes = inserts(world.runtimes.inserts(), RuntimeRow::new);
        self.all(turns::INSERT_RUNTIMES, Rows::Runtimes(runtimes));
        let runtimes = updates(world.runtimes.updates(), RuntimeRow::new);
        self.all(turns::UPDATE_RUNTIMES, Rows::Runtimes(runtimes));
    }

    fn threads(&mut self, world: &World) -> Result<(), StoreError> {
        let threads = world.made.threads.iter().map(ThreadRow::from).collect();
        self.all(threads::INSERT, Rows::Threads(threads));
        let heads = inserts(world.heads.inserts(), HeadRow::new);
        self.all(heads::INSERT, Rows::Heads(heads));
        let heads = updates(world.heads.updates(), HeadRow::new);
        self.all(heads::UPDATE, Rows::Heads(heads));
        let events = world.made.thread_events.iter();
        let events = events.map(ThreadEventRow::try_from);
        let events = events.collect::<Result<_, _>>().map_err(unwritable)?;
        self.all(threads::INSERT_EVENTS, Rows::ThreadEvents(events));
        Ok(())
    }

    fn turns(&mut self, world: &World) {
        let turns = inserts(world.turns.inserts(), TurnRow::new);
        self.all(turns::INSERT, Rows::Turns(turns));
        let turns = updates(world.turns.updates(), TurnRow::new);
        self.all(turns::UPDATE, Rows::Turns(turns));
    }

    fn messages(&mut self, world: &World) {
        let messages = world.made.messages.iter().map(MessageRow::from).collect();
        self.all(messages::INSERT, Rows::Messages(messages));
        let excepts = world.made.mail_excepts.iter().map(MailExceptRow::from);
        self.some(messages::EXCEPT, Rows::MailExcepts(excepts.collect()));
    }

    fn handoffs(&mut self, world: &World) {
        let made = &world.made;
        let handoffs = inserts(world.handoffs.inserts(), HandoffRow::new);
        self.all(handoffs::INSERT, Rows::Handoffs(handoffs));
        let handoffs = updates(world.handoffs.updates(), HandoffRow::new);
        self.all(handoffs::UPDATE, Rows::Handoffs(handoffs));
        let assignments = made.assignments.iter().map(AssignmentRow::from).collect();
        self.all(handoffs::INSERT_ASSIGNMENTS, Rows::Assignments(assignments));
        let reports = made.reports.iter().map(ReportRow::from).collect();
        self.all(handoffs::INSERT_REPORTS, Rows::Reports(reports));
        let delivered = made.reports_delivered.iter().map(ReportDeliveredRow::from);
        let delivered = Rows::ReportsDelivered(delivered.collect());
        self.some(handoffs::DELIVER_REPORTS, delivered);
        let returned = made.reports_returned.iter().map(ReportReturnedRow::from);
        let returned = Rows::ReportsReturned(returned.collect());
        self.all(handoffs::RETURN_REPORTS, returned);
        let events = made.handoff_events.iter().map(HandoffEventRow::from);
        self.all(timelines::INSERT, Rows::HandoffEvents(events.collect()));
    }

    fn effects(&mut self, world: &World) -> Result<(), StoreError> {
        let made = &world.made;
        let left = made.effects.iter().map(EffectRow::try_from);
        let left = left.collect::<Result<_, _>>().map_err(unwritable)?;
        self.all(effects::INSERT, Rows::Effects(left));
        let run = made.effects_run.clone();
        self.all(effects::DELETE, Rows::EffectsRun(run));
        let put_off = made.effects_put_off.iter().map(EffectPutOffRow::from);
        self.all(effects::PUT_OFF, Rows::EffectsPutOff(put_off.collect()));
        Ok(())
    }
}

/// A value that has no JSON.
fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::Data(sqlx::Error::Encode(Box::new(error)))
}

fn inserts<'w, T: 'w, R>(
    rows: impl Iterator<Item = &'w T>,
    row: impl Fn(&T, Option<Stored>) -> R,
) -> Vec<R> {
    rows.map(|value| row(value, None)).collect()
}

fn updates<'w, T: 'w, R>(
    rows: impl Iterator<Item = (Stored, &'w T)>,
    row: impl Fn(&T, Option<Stored>) -> R,
) -> Vec<R> {
    rows.map(|(stored, value)| row(value, Some(stored)))
        .collect()
}

/// Joins fragments into one statement and remembers the texts, so that each is prepared once a
/// connection: a dozen in practice.
#[derive(Debug, Default)]
pub struct Composer {
    texts: HashMap<Vec<&'static str>, String>,
    pub(super) parts: Parts,
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
        "WITH {}\nSELECT ARRAY[{}] AS written, pg_current_xact_id()::text AS transaction",
        parts.join(",\n"),
        counts.join(", ")
    )
}
