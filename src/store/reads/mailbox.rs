//! Reads of mailboxes, for people.

use sqlx::postgres::{PgPool, PgRow};
use sqlx::{FromRow, Row};

use crate::domain::ids::{AgentId, Namespace, ThreadId};
use crate::domain::limits;
use crate::domain::mailbox::{Marks, Message, MessageState};
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::codec::{big, count};
use crate::store::messages::MessageRow;

const GET: &str = include_str!("../sql/get_mailbox.sql");
const LIST: &str = include_str!("../sql/list_messages.sql");
const EXCEPTED: &str = include_str!("../sql/reads/count_excepted.sql");

/// Where a mailbox stands.
#[derive(Clone, Debug)]
pub struct Mailbox {
    /// The agent of its thread.
    pub agent_id: AgentId,
    /// Its last number.
    pub mail_number: u64,
    /// Its marks.
    pub marks: Marks,
    /// When this was read.
    pub now: Timestamp,
}

/// A stretch of a mailbox that is wanted.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Numbers above this one.
    pub above: u64,
    /// Through this one.
    pub through: u64,
    /// The marks that tell the states.
    pub marks: Marks,
    /// In these states; in all where there is none.
    pub states: &'a [MessageState],
    /// Messages at most.
    pub limit: usize,
}

impl FromRow<'_, PgRow> for Mailbox {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            agent_id: row.try_get("agent_id")?,
            mail_number: count(row.try_get("mail_number")?),
            marks: Marks {
                given_through: count(row.try_get("given_through")?),
                consumed_through: count(row.try_get("consumed_through")?),
            },
            now: row.try_get("now")?,
        })
    }
}

/// Where the mailbox of `thread` stands; none where there is no such thread.
///
/// # Errors
/// The database is away.
pub async fn get(
    pool: &PgPool,
    namespace: &Namespace,
    thread: ThreadId,
) -> Result<Option<Mailbox>, StoreError> {
    Ok(sqlx::query_as(GET)
        .bind(&namespace.0)
        .bind(thread)
        .fetch_optional(pool)
        .await?)
}

/// The messages of a stretch, and whether there are more in it.
///
/// # Errors
/// The database is away.
pub async fn list(
    pool: &PgPool,
    namespace: &Namespace,
    thread: ThreadId,
    wanted: &Wanted<'_>,
) -> Result<(Vec<Message>, bool), StoreError> {
    let states: Vec<&str> = wanted.states.iter().map(|state| spell(*state)).collect();
    let limit = i64::try_from(wanted.limit).unwrap_or(i64::MAX);
    let rows = sqlx::query(LIST)
        .bind(&namespace.0)
        .bind(thread)
        .bind(big(wanted.above))
        .bind(big(wanted.through))
        .bind(big(wanted.marks.given_through))
        .bind(big(wanted.marks.consumed_through))
        .bind(limit.saturating_add(1))
        .bind(Some(states).filter(|states| !states.is_empty()))
        .bind(i64::try_from(limits::PAGE_BYTES).unwrap_or(i64::MAX))
        .fetch_all(pool)
        .await?;
    let found: i64 = rows.first().map_or(Ok(0), |row| row.try_get("found"))?;
    let mut messages = Vec::with_capacity(rows.len());
    let mut size = 0;
    for row in rows.iter().take(wanted.limit) {
        let message = Message::try_from(row.try_get::<MessageRow, _>("message")?)?;
        size += message.weight();
        if size > limits::PAGE_BYTES && !messages.is_empty() {
            break;
        }
        messages.push(message);
    }
    let more = usize::try_from(found).unwrap_or(0) > messages.len();
    Ok((messages, more))
}

/// How many messages above a number left their normal life: they are not unread.
///
/// # Errors
/// The database is away.
pub async fn count_excepted(
    pool: &PgPool,
    namespace: &Namespace,
    thread: ThreadId,
    above: u64,
) -> Result<u64, StoreError> {
    let excepted: i64 = sqlx::query_scalar(EXCEPTED)
        .bind(&namespace.0)
        .bind(thread)
        .bind(big(above))
        .fetch_one(pool)
        .await?;
    Ok(count(excepted))
}

/// As `list_messages.sql` spells them.
fn spell(state: MessageState) -> &'static str {
    match state {
        MessageState::Unread => "unread",
        MessageState::Given => "given",
        MessageState::Consumed => "consumed",
        MessageState::SetAside => "set_aside",
        MessageState::Withdrawn => "withdrawn",
    }
}
