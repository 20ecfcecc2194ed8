//! The lazy marks of runtimes: when each last asked for turns.

use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::domain::ids::Namespace;

use super::StoreError;

const MARK: &str = include_str!("sql/mark_runtimes.sql");

/// Opens a transaction whose loss harms nobody.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = '1s'; SET LOCAL synchronous_commit = off";

/// Notes that `runtimes` ask for turns now.
///
/// # Errors
/// The database is away.
pub async fn mark_received(
    connection: &mut PgConnection,
    namespace: &Namespace,
    runtimes: &[String],
) -> Result<(), StoreError> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    sqlx::query(MARK)
        .bind(&namespace.0)
        .bind(runtimes)
        .execute(&mut *transaction)
        .await?;
    Ok(transaction.commit().await?)
}
