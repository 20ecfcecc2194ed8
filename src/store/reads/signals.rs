//! What live turns are told between their calls.

use sqlx::postgres::PgPool;

use crate::domain::ids::{MessageId, Namespace, TurnId};
use crate::domain::mailbox::MessageKind;
use crate::domain::time::Timestamp;
use crate::domain::turns::{AbortRequest, MailSummary, Signals};
use crate::store::StoreError;
use crate::store::codec::{Spelled, Unknown, count};

const SIGNALS: &str = include_str!("../sql/list_signals.sql");

#[derive(sqlx::FromRow)]
struct Row {
    turn_id: TurnId,
    abort_request_time: Option<Timestamp>,
    abort_reason: Option<String>,
    unread: i64,
    message_ids: Vec<MessageId>,
    mail_numbers: Vec<i64>,
    kinds: Vec<String>,
    subjects: Vec<String>,
}

/// Reads the signals of live turns, in one statement; turns that ended are left out.
///
/// # Errors
/// The database is away.
pub async fn list(
    pool: &PgPool,
    namespace: &Namespace,
    turns: &[TurnId],
) -> Result<Vec<(TurnId, Signals)>, StoreError> {
    let rows: Vec<Row> = sqlx::query_as(SIGNALS)
        .bind(&namespace.0)
        .bind(turns)
        .fetch_all(pool)
        .await?;
    rows.into_iter()
        .map(|row| Ok((row.turn_id, row.signals()?)))
        .collect()
}

impl Row {
    fn signals(self) -> Result<Signals, Unknown> {
        let subjects = self.kinds.into_iter().zip(self.subjects);
        let newest = self
            .message_ids
            .into_iter()
            .zip(self.mail_numbers)
            .zip(subjects)
            .map(|((message_id, number), (kind, subject))| {
                Ok(MailSummary {
                    message_id,
                    mail_number: count(number),
                    kind: MessageKind::read(&kind)?,
                    subject,
                })
            });
        Ok(Signals {
            unread: count(self.unread),
            newest: newest.collect::<Result<_, Unknown>>()?,
            abort: self
                .abort_request_time
                .zip(self.abort_reason)
                .map(|(request_time, reason)| AbortRequest {
                    request_time,
                    reason,
                }),
        })
    }
}
