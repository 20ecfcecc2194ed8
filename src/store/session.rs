//! A session whose statements are planned as they were written: by key.
//!
//! Every statement of a batch goes to each row by one descent of an index, and its generic plan is
//! tested to do so. Left to itself the planner does otherwise twice over. While the arrays of a batch
//! are short it takes a generic plan for dear and plans anew for each execution, which costs ten
//! times the execution. And a plan that was made while a table was small scans it, is kept, and goes
//! on scanning it as it grows, until the table is analysed again.

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
