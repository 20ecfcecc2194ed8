//! The lazy marks of runtimes: when each last asked for turns.

use sqlx::Connection;

use crate::domain::ids::Namespace;
use crate::domain::time::Timestamp;

use super::StoreError;
use super::patience::answered;
use super::session::Session;

const MARK: &str = include_str!("sql/mark_runtimes.sql");

/// Opens a transaction whose loss harms nobody.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = '1s'; SET LOCAL synchronous_commit = off";

/// Notes that `runtimes` ask for turns now, and tells when each is now known to have asked.
///
/// # Errors
/// The database is away, or the session is left in the middle of it: it is broken.
pub async fn mark_received(
    session: &mut Session,
    namespace: &Namespace,
    runtimes: &[String],
) -> Result<Vec<(String, Timestamp)>, StoreError> {
    let mark = async {
        let mut transaction = session.connection.begin_with(BEGIN).await?;
        let marks = sqlx::query_as(MARK)
            .bind(&namespace.0)
            .bind(runtimes)
            .fetch_all(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(marks)
    };
    let marks = answered(mark).await;
    session.broken |= marks.is_err();
    Ok(marks?)
}
