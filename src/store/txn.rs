//! The transaction of a batch: route, L, R, W, each one round trip.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sqlx::postgres::{PgArguments, PgConnectOptions};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection, Postgres, Row, Transaction};

use crate::domain::ask::{Ask, Beside};
use crate::domain::command::Footprint;
use crate::domain::ids::{AgentId, HandoffId, Namespace, ThreadId, TurnId};
use crate::domain::limits::Rules;
use crate::domain::runtime::Runtime;
use crate::domain::time::Timestamp;
use crate::domain::world::World;

use super::error::StoreError;
use super::load;
use super::parts::needed;
use super::patience::answered;
use super::questions;
use super::session::{Session, keyed_plans};
use super::settle::{self, Timeline, TransactionId};
use super::turns::RuntimeRow;
use super::write::{self, Composer};

const LOCK: &str = include_str!("sql/lock_rows.sql");
/// How `LOCK` takes each row, and what stands there instead to leave out a row that is held.
const WAITING_LOCK: &str = "FOR NO KEY UPDATE";
const SKIPPING_LOCK: &str = "FOR NO KEY UPDATE SKIP LOCKED";
const CLAIM: &str = include_str!("sql/claim_heads.sql");

/// How long a transaction may wait, for what.
macro_rules! limits {
    ($lock:literal) => {
        concat!(
            "SET LOCAL lock_timeout = '",
            $lock,
            "'; SET LOCAL statement_timeout = '5s'; \
             SET LOCAL idle_in_transaction_session_timeout = '5s'"
        )
    };
}
/// Opens a transaction in one message. A stopped server must not freeze the others, so everything
/// that waits has a limit; start-up options would be lost behind PgBouncer, and so might be what a
/// session was told of plans.
const BEGIN: &str = concat!("BEGIN; ", limits!("500ms"), "; ", keyed_plans!("SET LOCAL"));

/// The same for heartbeats, which a crash may undo without harm: their commit does not wait for the
/// disk. Nor do they wait long for a row, since there is another way for them.
const BEGIN_RELAXED: &str = concat!(
    "BEGIN; ",
    limits!("100ms"),
    "; ",
    keyed_plans!("SET LOCAL"),
    "; SET LOCAL synchronous_commit = off"
);

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
pub struct Txn<'s> {
    pub(super) transaction: Transaction<'s, Postgres>,
    pub(super) namespace: Namespace,
    /// Known once it has written.
    id: Option<TransactionId>,
    options: &'s PgConnectOptions,
    timeline: Option<&'s Timeline>,
    broken: &'s mut bool,
}

impl std::fmt::Debug for Txn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Txn")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl<'s> Txn<'s> {
    /// Opens it.
    ///
    /// # Errors
    /// The database is away.
    pub async fn begin(
        session: &'s mut Session,
        namespace: Namespace,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let begin = match durability {
            Durability::Full => BEGIN,
            Durability::Relaxed => BEGIN_RELAXED,
        };
        let transaction = answered(session.connection.begin_with(begin)).await?;
        Ok(Self {
            transaction,
            namespace,
            id: None,
            options: &session.options,
            timeline: session.timeline.as_ref(),
            broken: &mut session.broken,
        })
    }

    /// L: locks the rows of `footprint` in the one order, and loads them, and `beside` them what no
    /// lock guards.
    ///
    /// # Errors
    /// A lock was not to be had in time; the database is away.
    pub async fn lock(
        &mut self,
        footprint: Footprint,
        beside: &Beside,
        on_locked: OnLocked,
        rules: Arc<Rules>,
        composer: &mut Composer,
    ) -> Result<World, StoreError> {
        let wanted = needed([
            ("handoffs", !footprint.handoffs.is_empty()),
            ("turns", !footprint.turns.is_empty()),
            ("slots", !footprint.slots.is_empty()),
            ("runtimes", !footprint.runtimes.is_empty()),
            ("agents", !beside.agents.is_empty()),
            ("threads", !beside.threads.is_empty()),
            ("keys", !beside.keys.is_empty()),
        ]);
        let text = composer.parts.of(LOCK, wanted);
        let text = match on_locked {
            OnLocked::Wait => text,
            OnLocked::Skip => text.replace(WAITING_LOCK, SKIPPING_LOCK),
        };
        let heads: Vec<ThreadId> = footprint.heads.iter().copied().collect();
        let handoffs: Vec<HandoffId> = footprint.handoffs.iter().copied().collect();
        let turns: Vec<TurnId> = footprint.turns.iter().copied().collect();
        let slots: Vec<AgentId> = footprint.slots.iter().cloned().collect();
        let runtimes: Vec<String> = footprint.runtimes.iter().cloned().collect();
        let query = composed(text)
            .bind(&self.namespace.0)
            .bind(heads)
            .bind(handoffs)
            .bind(turns)
            .bind(slots)
            .bind(runtimes)
            .bind(beside.agents.iter().cloned().collect::<Vec<String>>())
            .bind(beside.threads.iter().copied().collect::<Vec<ThreadId>>())
            .bind(
                beside
                    .keys
                    .iter()
                    .map(|hash| hash.to_vec())
                    .collect::<Vec<_>>(),
            );
        let row = answered(query.fetch_one(&mut *self.transaction)).await?;
        let mut world = World::new(row.try_get("now")?, rules);
        world.resume_time = row.try_get("resume_time")?;
        world.covered = footprint;
        world.covered.keys.extend(&beside.keys);
        load::locked(&row, &mut world)?;
        load::beside(&row, &mut world)?;
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
        let query = sqlx::query(CLAIM)
            .bind(&self.namespace.0)
            .bind(agents.keys().cloned().collect::<Vec<AgentId>>())
            .bind(quotas.collect::<Vec<i64>>())
            .bind(runtimes.iter().cloned().collect::<Vec<String>>());
        let row = answered(query.fetch_one(&mut *self.transaction)).await?;
        let mut world = World::new(row.try_get("now")?, rules);
        load::slots(&row, &mut world)?;
        let due = load::heads(&row, &mut world)?;
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
    pub async fn read(
        &mut self,
        ask: &Ask,
        world: &mut World,
        composer: &mut Composer,
    ) -> Result<(), StoreError> {
        let text = composer.parts.of(questions::READ, questions::parts(ask));
        let query = questions::bind(composed(text), &self.namespace, ask, world);
        let row = answered(query.fetch_one(&mut *self.transaction)).await?;
        world.covered.names.extend(ask.names.iter().cloned());
        load::agents(&row, world)?;
        load::threads(&row, ask, world)?;
        load::mail(&row, ask, world)?;
        load::effects(&row, world)?;
        load::handoffs(&row, ask, world)
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
        let mut query = composed(composer.compose(&writes)).bind(&self.namespace.0);
        for write in &writes {
            query = write.bind(query);
        }
        let row = answered(query.fetch_one(&mut *self.transaction)).await?;
        let counts: Vec<i64> = row.try_get("written")?;
        self.id = match self.timeline {
            Some(timeline) => Some(TransactionId {
                number: row.try_get("transaction")?,
                timeline: timeline.clone(),
            }),
            None => None,
        };
        let differs =
            |(write, written): (&write::Write, i64)| write.expected().is_some_and(|n| n != written);
        if writes.iter().zip(counts).any(differs) {
            Err(StoreError::Conflict)
        } else {
            Ok(())
        }
    }

    /// Makes it true. Where the answer is lost, a new session asks what became of it, for some seconds.
    ///
    /// # Errors
    /// Refused, and nothing happened; or nobody can tell.
    pub async fn commit(self) -> Result<(), StoreError> {
        let Err(error) = answered(self.transaction.commit()).await else {
            return Ok(());
        };
        match StoreError::of_commit(error) {
            StoreError::Unknown(error) => {
                *self.broken = true;
                settle::settle(self.options, self.id.as_ref(), error).await
            }
            refused => Err(refused),
        }
    }

    /// Ends it without effect, and its locks with it.
    ///
    /// # Errors
    /// The connection is broken and must be closed: only then are the locks gone.
    pub async fn rollback(self) -> Result<(), StoreError> {
        Ok(answered(self.transaction.rollback()).await?)
    }

    /// Ends it after `error`, and tells what became of it all: `error`, or that the connection broke.
    pub async fn give_up(self, error: StoreError) -> StoreError {
        match error {
            // Nobody is there to hear of a rollback; the caller closes the connection.
            error @ (StoreError::Unavailable(_) | StoreError::Unknown(_)) => error,
            error => self.rollback().await.err().unwrap_or(error),
        }
    }
}

/// A query of a text that the composer put together.
#[expect(
    clippy::disallowed_methods,
    reason = "the composer joins static fragments only"
)]
fn composed(text: String) -> Query<'static, Postgres, PgArguments> {
    sqlx::query(AssertSqlSafe(text))
}
