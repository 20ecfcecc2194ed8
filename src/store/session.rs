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

use sqlx::Executor;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::StoreError;
use super::patience::{self, answered};

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

/// Connects, for statements by key.
///
/// # Errors
/// The database is away.
pub async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let mut connection = patience::connect(options).await?;
    answered(connection.execute(sqlx::raw_sql(keyed_plans!("SET")))).await?;
    Ok(connection)
}

/// How long plans are kept: making all of them takes a few milliseconds, and a table that was empty
/// when they were made has not grown far in this time.
const KEPT: Duration = Duration::from_secs(10);

/// When the plans of a connection were made.
#[derive(Debug)]
pub struct Plans {
    made: Instant,
}

impl Default for Plans {
    fn default() -> Self {
        Self {
            made: Instant::now(),
        }
    }
}

impl Plans {
    /// Has them made anew if they are old.
    ///
    /// # Errors
    /// The database is away.
    pub async fn renew(&mut self, connection: &mut PgConnection) -> Result<(), StoreError> {
        if self.made.elapsed() >= KEPT {
            answered(connection.execute("DISCARD PLANS")).await?;
            self.made = Instant::now();
        }
        Ok(())
    }
}
