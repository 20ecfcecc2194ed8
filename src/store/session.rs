//! A session whose statements are planned as they were written: by key.
//!
//! Every statement of a batch goes to each row by one descent of an index, and its generic plan is
//! tested to do so. Left to itself the planner does otherwise twice over. While the arrays of a batch
//! are short it takes a generic plan for dear and plans anew for each execution, which costs ten
//! times the execution. And a plan that was made while a table was small scans it, is kept, and goes
//! on scanning it as it grows, until the table is analysed again. A table that was analysed while it
//! was empty leaves no choice at all: every way looks free. So plans are also made anew now and then,
//! with the size that the tables have by then.

use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};

use super::StoreError;
use super::patience::{self, answered};
use super::settle::{self, Timeline};

/// Holds the planner to generic plans by key, with `$set` in force for the session or the transaction.
/// A compiled plan is never worth its compilation here, however dear a long queue makes it look.
macro_rules! keyed_plans {
    ($set:literal) => {
        concat!(
            $set,
            " plan_cache_mode = force_generic_plan; ",
            $set,
            " enable_seqscan = off; ",
            $set,
            " jit = off"
        )
    };
}
pub(super) use keyed_plans;

/// How long plans are kept: making all of them takes a few milliseconds, and a table that was empty
/// when they were made has not grown far in this time.
const KEPT: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub struct Session {
    pub(super) options: PgConnectOptions,
    pub(super) connection: PgConnection,
    /// When its plans were made.
    planned: Instant,
    pub(super) timeline: Option<Timeline>,
    /// It is of no use any more, whatever its last transaction came to.
    pub(super) broken: bool,
}

impl Session {
    /// Connects.
    ///
    /// # Errors
    /// The database is away.
    pub async fn open(options: &PgConnectOptions) -> Result<Self, StoreError> {
        let mut connection = patience::connect(options).await?;
        answered(connection.execute(sqlx::raw_sql(keyed_plans!("SET")))).await?;
        let timeline = settle::timeline(&mut connection).await?;
        Ok(Self {
            options: options.clone(),
            connection,
            planned: Instant::now(),
            timeline,
            broken: false,
        })
    }

    /// Whether it is of no use any more.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// The connection, for statements outside a transaction.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Has plans made anew that are old.
    ///
    /// # Errors
    /// The database is away.
    pub async fn renew_plans(&mut self) -> Result<(), StoreError> {
        if self.planned.elapsed() >= KEPT {
            answered(self.connection.execute("DISCARD PLANS")).await?;
            self.planned = Instant::now();
        }
        Ok(())
    }

    /// What is left of it after `result`: nothing where the connection broke. Its locks end with it.
    pub async fn after<T>(self, result: &Result<T, StoreError>) -> Option<Self> {
        let gone = matches!(
            result,
            Err(StoreError::Unavailable(_) | StoreError::Unknown(_))
        );
        if gone || self.broken {
            // It may be gone already, and that is as good.
            drop(self.connection.close_hard().await);
            return None;
        }
        Some(self)
    }
}
