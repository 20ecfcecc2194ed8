//! What live turns are told between their calls.

use std::collections::BTreeMap;

use sqlx::PgPool;

use crate::domain::ids::{MessageId, Namespace, TurnId};
use crate::domain::limits;
use crate::domain::mailbox::MessageKind;
use crate::domain::time::Timestamp;
use crate::domain::turns::AbortRequest;
use crate::store::StoreError;
use crate::store::codec::{Spelled, count};

/// Messages that are described of one turn, at most.
const DESCRIBED: usize = 10;

/// What one turn is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnSignals {
    /// Waking mail that the turn was not given.
    pub waking_unread: u64,
    /// The newest of it, oldest first.
    pub newest: Vec<WaitingMail>,
    /// The stop asked of it.
    pub abort: Option<AbortRequest>,
}

/// A message that waits, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingMail {
    /// Its id.
    pub message_id: MessageId,
    /// Its number in the mailbox.
    pub mail_number: u64,
    /// What it is for.
    pub kind: MessageKind,
    /// One line.
    pub subject: String,
}

struct Row {
    turn_id: TurnId,
    waking_unread: i64,
    abort_request_time: Option<Timestamp>,
    abort_reason: Option<String>,
    message_id: Option<MessageId>,
    mail_number: Option<i64>,
    kind: Option<String>,
    subject: Option<String>,
}

impl Row {
    fn mail(&self) -> Result<Option<WaitingMail>, StoreError> {
        let (Some(message_id), Some(number), Some(kind)) =
            (self.message_id, self.mail_number, &self.kind)
        else {
            return Ok(None);
        };
        Ok(Some(WaitingMail {
            message_id,
            mail_number: count(number),
            kind: MessageKind::read(kind)?,
            subject: self.subject.clone().unwrap_or_default(),
        }))
    }
}

/// Reads the signals of turns; a turn that ended or is told nothing is left out.
///
/// # Errors
/// The database is away.
pub async fn get(
    pool: &PgPool,
    namespace: &Namespace,
    turns: &[TurnId],
) -> Result<BTreeMap<TurnId, TurnSignals>, StoreError> {
    let described = (limits::SIGNALLED_PER_ANSWER / turns.len().max(1)).clamp(1, DESCRIBED);
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/sql/reads/get_signals.sql",
        namespace.0,
        turns as _,
        i64::try_from(described).unwrap_or(1),
    )
    .fetch_all(pool)
    .await?;
    let mut signals: BTreeMap<TurnId, TurnSignals> = BTreeMap::new();
    for row in rows {
        let mail = row.mail()?;
        let abort = row.abort_request_time.zip(row.abort_reason);
        let told = signals.entry(row.turn_id).or_default();
        told.waking_unread = count(row.waking_unread);
        told.newest.extend(mail);
        told.abort = abort.map(|(request_time, reason)| AbortRequest {
            request_time,
            reason,
        });
    }
    Ok(signals)
}
