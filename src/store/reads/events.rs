//! The history of a thread.

use sqlx::PgPool;
use sqlx::types::JsonValue;

use crate::domain::handoffs::Assignment;
use crate::domain::history::{EventKind, ThreadEvent};
use crate::domain::ids::{Namespace, ThreadId, TurnId};
use crate::domain::limits;
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::codec::{big, count};

/// One entry, with the bodies it only names.
#[derive(Clone, Debug, PartialEq)]
pub struct EventView {
    /// The entry.
    pub event: ThreadEvent,
    /// What an assignment says.
    pub assignment: Option<Assignment>,
    /// The text of a report that travelled as mail.
    pub mailed_body: Option<String>,
}

struct Row {
    number: i64,
    time: Timestamp,
    late: bool,
    turn_id: Option<TurnId>,
    content: JsonValue,
    task: Option<String>,
    context_data: Option<JsonValue>,
    body: Option<String>,
}

impl Row {
    fn view(self, thread_id: ThreadId) -> Result<EventView, StoreError> {
        let kind: EventKind = serde_json::from_value(self.content)
            .map_err(|error| StoreError::Data(sqlx::Error::Decode(Box::new(error))))?;
        let given = match &kind {
            EventKind::Assignment { handoff_id, .. } => Some(*handoff_id),
            _ => None,
        };
        let context_data = self.context_data;
        Ok(EventView {
            event: ThreadEvent {
                thread_id,
                number: count(self.number),
                time: self.time,
                late: self.late,
                turn_id: self.turn_id,
                kind,
            },
            assignment: given.zip(self.task).map(|(handoff_id, task)| Assignment {
                handoff_id,
                task,
                context_data,
            }),
            mailed_body: self.body,
        })
    }
}

/// Reads at most `limit` entries above a number, and no more bytes than a page holds.
///
/// # Errors
/// The database is away.
pub async fn list(
    pool: &PgPool,
    namespace: &Namespace,
    thread_id: ThreadId,
    after: u64,
    limit: usize,
) -> Result<Vec<EventView>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/sql/reads/list_events.sql",
        namespace.0,
        thread_id as ThreadId,
        big(after),
        big(limit as u64),
        big(limits::PAGE_BYTES as u64),
    )
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(|row| row.view(thread_id)).collect()
}

/// The last number of a thread's history; none where there is no such thread.
///
/// # Errors
/// The database is away.
pub async fn last_number(
    pool: &PgPool,
    namespace: &Namespace,
    thread_id: ThreadId,
) -> Result<Option<u64>, StoreError> {
    let number = sqlx::query_file_scalar!(
        "src/store/sql/reads/get_event_number.sql",
        namespace.0,
        thread_id as ThreadId,
    )
    .fetch_optional(pool)
    .await?;
    Ok(number.map(count))
}
