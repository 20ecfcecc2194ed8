//! The transaction of a batch: route, L, R, W, each one round trip.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Postgres, Row, Transaction};

use crate::domain::agents::{Agent, Slots};
use crate::domain::command::{
    Ask, Footprint, HandoffRoute, KeyHash, Route, RouteAsk, ThreadRoute, TurnRoute,
};
use crate::domain::handoffs::Handoff;
use crate::domain::ids::{AgentId, HandoffId, Namespace, ThreadId, TurnId};
use crate::domain::limits::Rules;
use crate::domain::mailbox::{Message, PairWindow};
use crate::domain::runtime::Runtime;
use crate::domain::threads::{Head, Thread};
use crate::domain::time::Timestamp;
use crate::domain::turns::Turn;
use crate::domain::world::{BoundKey, LoadedMail, MailedReport, World};

use super::agents::{AgentRow, SlotsRow};
use super::codec::{big, count};
use super::error::StoreError;
use super::handoffs::{HandoffRow, WorkRow};
use super::heads::HeadRow;
use super::keys::KeyRow;
use super::messages::MessageRow;
use super::threads::ThreadRow;
use super::turns::{RuntimeRow, TurnRow};
use super::write::{self, Composer};

const ROUTE: &str = include_str!("sql/route_ids.sql");
const LOCK: &str = include_str!("sql/lock_rows.sql");
const LOCK_SKIPPING: &str = include_str!("sql/lock_rows_skipping.sql");
const CLAIM: &str = include_str!("sql/claim_heads.sql");
const READ: &str = include_str!("sql/read_rows.sql");

/// Opens a transaction in one message. A stopped server must not freeze the others, so everything
/// that waits has a limit; start-up options would be lost behind PgBouncer.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '500ms'; SET LOCAL statement_timeout = '5s'; \
     SET LOCAL idle_in_transaction_session_timeout = '5s'";

/// The same for a batch that a crash may undo without harm: its commit does not wait for the disk.
const BEGIN_RELAXED: &str = "BEGIN; SET LOCAL lock_timeout = '500ms'; SET LOCAL statement_timeout = '5s'; \
     SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL synchronous_commit = off";

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It does: an answer means that it is kept.
    Full,
    /// It does not.
    Relaxed,
}

/// What L does about a row that somebody else holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLocked {
    /// Wait, up to the lock timeout.
    Wait,
    /// Leave it out.
    Skip,
}

/// Looks ids up without a lock, before the transaction.
///
/// # Errors
/// The database is away.
pub async fn route(
    connection: &mut PgConnection,
    namespace: &Namespace,
    ask: &RouteAsk,
) -> Result<Route, StoreError> {
    let turns: Vec<TurnId> = ask.turns.union(&ask.work).copied().collect();
    let threads: Vec<ThreadId> = ask.threads.iter().copied().collect();
    let handoffs: Vec<HandoffId> = ask.handoffs.iter().copied().collect();
    let row = sqlx::query(ROUTE)
        .bind(&namespace.0)
        .bind(turns)
        .bind(threads)
        .bind(handoffs)
        .fetch_one(connection)
        .await?;
    let mut route = Route::default();
    for turn in row.try_get::<Vec<TurnRouteRow>, _>("turns")? {
        route.turns.insert(
            turn.turn_id,
            TurnRoute {
                thread_id: turn.thread_id,
                slot_of: turn.slot_of,
            },
        );
    }
    for thread in row.try_get::<Vec<ThreadRouteRow>, _>("threads")? {
        let known = ThreadRoute {
            parent_thread_id: thread.parent_thread_id,
            handoff_id: thread.handoff_id,
            turn_id: thread.turn_id,
            turn_running: thread.turn_running,
        };
        route.threads.insert(thread.thread_id, known);
    }
    for handoff in row.try_get::<Vec<HandoffRouteRow>, _>("handoffs")? {
        let known = HandoffRoute {
            parent_thread_id: handoff.parent_thread_id,
            child_thread_id: handoff.child_thread_id,
        };
        route.handoffs.insert(handoff.handoff_id, known);
    }
    Ok(route)
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "turn_route_row")]
struct TurnRouteRow {
    turn_id: TurnId,
    thread_id: ThreadId,
    slot_of: Option<AgentId>,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "thread_route_row")]
struct ThreadRouteRow {
    thread_id: ThreadId,
    parent_thread_id: Option<ThreadId>,
    handoff_id: Option<HandoffId>,
    turn_id: Option<TurnId>,
    turn_running: bool,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "handoff_route_row")]
struct HandoffRouteRow {
    handoff_id: HandoffId,
    parent_thread_id: Option<ThreadId>,
    child_thread_id: Option<ThreadId>,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "pair_row")]
struct PairRow {
    to_thread_id: ThreadId,
    from_thread_id: ThreadId,
    count: i64,
    oldest: Option<Timestamp>,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "thread_number_row")]
struct ThreadNumberRow {
    thread_id: ThreadId,
    number: i64,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "mailed_report_row")]
struct MailedReportRow {
    handoff_id: HandoffId,
    version: i64,
    mail_number: Option<i64>,
}

/// What a claim found.
#[derive(Debug)]
pub struct Claimable {
    /// The locked slots and heads.
    pub world: World,
    /// Threads whose wake is due, oldest wake first within an agent.
    pub due: Vec<ThreadId>,
    /// The present life of each runtime that is registered.
    pub incarnations: BTreeMap<String, u64>,
    /// There were more due wakes than could be locked.
    pub held: bool,
    /// When the next wake of these agents falls due.
    pub next_wake: Option<Timestamp>,
}

/// An open transaction of one batch.
pub struct Txn<'c> {
    transaction: Transaction<'c, Postgres>,
    namespace: Namespace,
}

impl std::fmt::Debug for Txn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Txn")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl<'c> Txn<'c> {
    /// Opens it.
    ///
    /// # Errors
    /// The database is away.
    pub async fn begin(
        connection: &'c mut PgConnection,
        namespace: Namespace,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let begin = match durability {
            Durability::Full => BEGIN,
            Durability::Relaxed => BEGIN_RELAXED,
        };
        let transaction = connection.begin_with(begin).await?;
        Ok(Self {
            transaction,
            namespace,
        })
    }

    /// Makes the commit wait for the disk after all.
    ///
    /// # Errors
    /// The database is away.
    pub async fn harden(&mut self) -> Result<(), StoreError> {
        sqlx::query("SET LOCAL synchronous_commit = on")
            .execute(&mut *self.transaction)
            .await?;
        Ok(())
    }

    /// L: locks the rows of `footprint` in the one order, and loads them.
    ///
    /// # Errors
    /// A lock was not to be had in time; the database is away.
    pub async fn lock(
        &mut self,
        footprint: Footprint,
        on_locked: OnLocked,
        rules: Arc<Rules>,
    ) -> Result<World, StoreError> {
        let statement = match on_locked {
            OnLocked::Wait => LOCK,
            OnLocked::Skip => LOCK_SKIPPING,
        };
        let heads: Vec<ThreadId> = footprint.heads.iter().copied().collect();
        let handoffs: Vec<HandoffId> = footprint.handoffs.iter().copied().collect();
        let turns: Vec<TurnId> = footprint.turns.iter().copied().collect();
        let slots: Vec<AgentId> = footprint.slots.iter().cloned().collect();
        let runtimes: Vec<String> = footprint.runtimes.iter().cloned().collect();
        let row = sqlx::query(statement)
            .bind(&self.namespace.0)
            .bind(heads)
            .bind(handoffs)
            .bind(turns)
            .bind(slots)
            .bind(runtimes)
            .fetch_one(&mut *self.transaction)
            .await?;
        let mut world = World::new(row.try_get("now")?, rules);
        world.resume_time = row.try_get("resume_time")?;
        world.covered = footprint;
        for head in row.try_get::<Vec<HeadRow>, _>("heads")? {
            let stored = head.stored();
            world
                .heads
                .load(head.thread_id, Head::try_from(head)?, stored);
        }
        for handoff in row.try_get::<Vec<HandoffRow>, _>("handoffs")? {
            let stored = handoff.stored();
            world
                .handoffs
                .load(handoff.handoff_id, Handoff::try_from(handoff)?, stored);
        }
        for turn in row.try_get::<Vec<TurnRow>, _>("turns")? {
            let stored = turn.stored();
            let turn = Turn::try_from(turn)?;
            world.turns.load(turn.turn_id, turn, stored);
        }
        for slots in row.try_get::<Vec<SlotsRow>, _>("slots")? {
            let stored = slots.stored();
            let slots = Slots::try_from(slots)?;
            world.slots.load(slots.agent_id.clone(), slots, stored);
        }
        for runtime in row.try_get::<Vec<RuntimeRow>, _>("runtimes")? {
            let stored = runtime.stored();
            let runtime = Runtime::from(runtime);
            world
                .runtimes
                .load(runtime.runtime_id.clone(), runtime, stored);
        }
        Ok(world)
    }

    /// The L of a claim: locks the slots of `agents` and, for each, so many heads whose wakes are due.
    ///
    /// # Errors
    /// A slot was not to be had in time; the database is away.
    pub async fn claim(
        &mut self,
        agents: &BTreeMap<AgentId, usize>,
        runtimes: &BTreeSet<String>,
        rules: Arc<Rules>,
    ) -> Result<Claimable, StoreError> {
        let quotas = agents
            .values()
            .map(|quota| i64::try_from(*quota).unwrap_or(i64::MAX));
        let row = sqlx::query(CLAIM)
            .bind(&self.namespace.0)
            .bind(agents.keys().cloned().collect::<Vec<AgentId>>())
            .bind(quotas.collect::<Vec<i64>>())
            .bind(runtimes.iter().cloned().collect::<Vec<String>>())
            .fetch_one(&mut *self.transaction)
            .await?;
        let mut world = World::new(row.try_get("now")?, rules);
        let mut due = Vec::new();
        for slots in row.try_get::<Vec<SlotsRow>, _>("slots")? {
            let stored = slots.stored();
            let slots = Slots::try_from(slots)?;
            world.slots.load(slots.agent_id.clone(), slots, stored);
        }
        for head in row.try_get::<Vec<HeadRow>, _>("heads")? {
            let stored = head.stored();
            due.push(head.thread_id);
            world
                .heads
                .load(head.thread_id, Head::try_from(head)?, stored);
        }
        let lives = row
            .try_get::<Vec<RuntimeRow>, _>("runtimes")?
            .into_iter()
            .map(Runtime::from);
        let incarnations = lives
            .map(|runtime| (runtime.runtime_id, runtime.incarnation))
            .collect();
        let seen: i64 = row.try_get("seen")?;
        let held = usize::try_from(seen).unwrap_or(0) > due.len();
        Ok(Claimable {
            world,
            due,
            incarnations,
            held,
            next_wake: row.try_get("next_wake")?,
        })
    }

    /// R: loads what is read under those locks.
    ///
    /// # Errors
    /// The database is away.
    pub async fn read(&mut self, ask: &Ask, world: &mut World) -> Result<(), StoreError> {
        let consumed = |id: &ThreadId| {
            world
                .heads
                .get(id)
                .map_or(0, |head| big(head.consumed_through))
        };
        let waking: Vec<i64> = ask.waking.iter().map(consumed).collect();
        let row = sqlx::query(READ)
            .bind(&self.namespace.0)
            .bind(ask.agents.iter().cloned().collect::<Vec<String>>())
            .bind(ask.threads.iter().copied().collect::<Vec<ThreadId>>())
            .bind(
                ask.pairs
                    .iter()
                    .map(|(to, _)| *to)
                    .collect::<Vec<ThreadId>>(),
            )
            .bind(
                ask.pairs
                    .iter()
                    .map(|(_, from)| *from)
                    .collect::<Vec<ThreadId>>(),
            )
            .bind(world.now - world.rules.pair_window)
            .bind(ask.mail.keys().copied().collect::<Vec<ThreadId>>())
            .bind(
                ask.mail
                    .values()
                    .map(|mail| big(mail.above))
                    .collect::<Vec<i64>>(),
            )
            .bind(
                ask.mail
                    .values()
                    .map(|mail| i64::try_from(mail.limit).unwrap_or(i64::MAX))
                    .collect::<Vec<_>>(),
            )
            .bind(ask.waking.iter().copied().collect::<Vec<ThreadId>>())
            .bind(waking)
            .bind(ask.open_children.iter().copied().collect::<Vec<ThreadId>>())
            .bind(ask.reports.iter().copied().collect::<Vec<HandoffId>>())
            .bind(ask.work.iter().copied().collect::<Vec<HandoffId>>())
            .bind(
                ask.keys
                    .iter()
                    .map(|hash| hash.to_vec())
                    .collect::<Vec<Vec<u8>>>(),
            )
            .fetch_one(&mut *self.transaction)
            .await?;
        world.covered.keys.extend(&ask.keys);
        load_agents(&row, world)?;
        load_threads(&row, ask, world)?;
        load_mail(&row, ask, world)?;
        load_handoffs(&row, ask, world)
    }

    /// W: writes everything that changed, in one statement.
    ///
    /// # Errors
    /// A row or key was somebody else's; the database refuses a value; it is away.
    pub async fn write(
        &mut self,
        world: &World,
        composer: &mut Composer,
    ) -> Result<(), StoreError> {
        let writes = write::collect(world)?;
        if writes.is_empty() {
            return Ok(());
        }
        let text = composer.compose(&writes);
        #[expect(
            clippy::disallowed_methods,
            reason = "the composer joins static fragments only"
        )]
        let mut query = sqlx::query(AssertSqlSafe(text)).bind(&self.namespace.0);
        for write in &writes {
            query = write.bind(query);
        }
        let row = query.fetch_one(&mut *self.transaction).await?;
        let counts: Vec<i64> = row.try_get(0)?;
        let differs =
            |(write, written): (&write::Write, i64)| write.expected().is_some_and(|n| n != written);
        if writes.iter().zip(counts).any(differs) {
            Err(StoreError::Conflict)
        } else {
            Ok(())
        }
    }

    /// Makes it true.
    ///
    /// # Errors
    /// Refused, and nothing happened; or the answer was lost.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.transaction
            .commit()
            .await
            .map_err(|error| match error {
                error @ sqlx::Error::Database(_) => StoreError::from(error),
                error => StoreError::Unknown(error),
            })
    }

    /// Ends it without effect, and its locks with it.
    ///
    /// # Errors
    /// The connection is broken and must be closed: only then are the locks gone.
    pub async fn rollback(self) -> Result<(), StoreError> {
        Ok(self.transaction.rollback().await?)
    }
}

type AnyRow = sqlx::postgres::PgRow;

fn load_agents(row: &AnyRow, world: &mut World) -> Result<(), StoreError> {
    let agents = row.try_get::<Vec<AgentRow>, _>("agents")?;
    let slots = row.try_get::<Vec<SlotsRow>, _>("agent_slots")?;
    let mut by_id = BTreeMap::new();
    for slots in slots {
        let slots = Slots::try_from(slots)?;
        by_id.insert(slots.agent_id.clone(), slots);
    }
    for agent in agents {
        let agent = Agent::try_from(agent)?;
        if let Some(slots) = by_id.remove(&agent.agent_id) {
            world
                .loaded
                .agents
                .insert(agent.agent_id.clone(), (agent, slots));
        }
    }
    Ok(())
}

fn load_threads(row: &AnyRow, ask: &Ask, world: &mut World) -> Result<(), StoreError> {
    for thread in row.try_get::<Vec<ThreadRow>, _>("threads")? {
        let thread = Thread::try_from(thread)?;
        world.loaded.threads.insert(thread.thread_id, thread);
    }
    for pair in row.try_get::<Vec<PairRow>, _>("pairs")? {
        let window = PairWindow {
            count: u32::try_from(pair.count).unwrap_or(u32::MAX),
            oldest: pair.oldest,
        };
        world
            .loaded
            .pairs
            .insert((pair.to_thread_id, pair.from_thread_id), window);
    }
    for id in &ask.open_children {
        world.loaded.open_children.insert(*id, Vec::new());
    }
    for child in row.try_get::<Vec<HandoffRow>, _>("open_children")? {
        if let Some(parent) = child.parent_thread_id {
            world
                .loaded
                .open_children
                .entry(parent)
                .or_default()
                .push(child.handoff_id);
        }
    }
    Ok(())
}

fn load_mail(row: &AnyRow, ask: &Ask, world: &mut World) -> Result<(), StoreError> {
    for (id, mail) in &ask.mail {
        let loaded = LoadedMail {
            above: mail.above,
            messages: Vec::new(),
            complete: true,
        };
        world.loaded.mail.insert(*id, loaded);
    }
    for message in row.try_get::<Vec<MessageRow>, _>("mail")? {
        let message = Message::try_from(message)?;
        world
            .loaded
            .mail
            .entry(message.to_thread_id)
            .or_default()
            .messages
            .push(message);
    }
    for (id, mail) in &ask.mail {
        if let Some(loaded) = world.loaded.mail.get_mut(id) {
            loaded.complete = loaded.messages.len() < mail.limit;
        }
    }
    for id in &ask.waking {
        world.loaded.waking.insert(*id, BTreeSet::new());
    }
    for waking in row.try_get::<Vec<ThreadNumberRow>, _>("waking")? {
        world
            .loaded
            .waking
            .entry(waking.thread_id)
            .or_default()
            .insert(count(waking.number));
    }
    Ok(())
}

fn load_handoffs(row: &AnyRow, ask: &Ask, world: &mut World) -> Result<(), StoreError> {
    for id in &ask.reports {
        world.loaded.reports.insert(*id, Vec::new());
    }
    for report in row.try_get::<Vec<MailedReportRow>, _>("mailed_reports")? {
        let mailed = MailedReport {
            version: count(report.version),
            mail_number: report.mail_number.map(count),
        };
        world
            .loaded
            .reports
            .entry(report.handoff_id)
            .or_default()
            .push(mailed);
    }
    for work in row.try_get::<Vec<WorkRow>, _>("work")? {
        let (id, work) = work.work()?;
        world.loaded.work.insert(id, work);
    }
    let mut named = BTreeMap::new();
    for handoff in row.try_get::<Vec<HandoffRow>, _>("key_handoffs")? {
        named.insert(handoff.handoff_id, Handoff::try_from(handoff)?);
    }
    for key in row.try_get::<Vec<KeyRow>, _>("keys")? {
        let (hash, key): (KeyHash, BoundKey) = key.bound()?;
        let handoff = key.handoff_id.and_then(|id| named.get(&id).cloned());
        world.loaded.keys.insert(hash, (key, handoff));
    }
    Ok(())
}
