//! Mail.

use sqlx::types::JsonValue;

use crate::domain::ids::{AgentId, HandoffId, MessageId, ThreadId};
use crate::domain::mailbox::{Envelope, MailException, Message, MessageKind};
use crate::domain::time::Timestamp;
use crate::domain::world::MailExcept;

use super::codec::{Spelled, Unknown, big, count, read_opt, spelled};

pub(super) const INSERT: &str = include_str!("sql/insert_messages.sql");
pub(super) const EXCEPT: &str = include_str!("sql/except_messages.sql");

spelled!(MessageKind, "kind of message", {
    MessageKind::Report => "report" = MessageKind::Report,
    MessageKind::Progress => "progress" = MessageKind::Progress,
    MessageKind::Note => "note" = MessageKind::Note,
    MessageKind::Reminder => "reminder" = MessageKind::Reminder,
    MessageKind::Notice => "notice" = MessageKind::Notice,
});

spelled!(MailException, "exception of a message", {
    MailException::Consumed => "consumed" = MailException::Consumed,
    MailException::SetAside => "set_aside" = MailException::SetAside,
    MailException::Withdrawn => "withdrawn" = MailException::Withdrawn,
});

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "message_row")]
#[expect(clippy::struct_excessive_bools, reason = "as the table has them")]
pub(super) struct MessageRow {
    pub(super) to_thread_id: ThreadId,
    mail_number: i64,
    message_id: MessageId,
    from_thread_id: Option<ThreadId>,
    from_agent_id: Option<AgentId>,
    handoff_id: Option<HandoffId>,
    kind: String,
    subject: String,
    body: String,
    data: Option<JsonValue>,
    artifacts: Vec<String>,
    pub(super) bytes: i32,
    outcome: Option<String>,
    in_reply_to: Option<MessageId>,
    report_version: Option<i64>,
    quiet: bool,
    wakes: bool,
    rated: bool,
    late: bool,
    exception: Option<String>,
    create_time: Timestamp,
}

impl From<&Message> for MessageRow {
    fn from(message: &Message) -> Self {
        Self {
            to_thread_id: message.to_thread_id,
            mail_number: big(message.mail_number),
            message_id: message.message_id,
            from_thread_id: message.from_thread_id,
            from_agent_id: message.from_agent_id.clone(),
            handoff_id: message.handoff_id,
            kind: message.kind.spell().to_owned(),
            subject: message.subject.clone(),
            body: message.body.clone(),
            data: message.data.clone(),
            artifacts: message.artifacts.clone(),
            bytes: i32::try_from(message.weight()).unwrap_or(i32::MAX),
            outcome: message.outcome.map(|outcome| outcome.spell().to_owned()),
            in_reply_to: message.in_reply_to,
            report_version: message.report_version.map(big),
            quiet: message.quiet,
            wakes: message.wakes,
            rated: message.rated,
            late: message.late,
            exception: message
                .exception
                .map(|exception| exception.spell().to_owned()),
            create_time: message.create_time,
        }
    }
}

impl TryFrom<MessageRow> for Message {
    type Error = Unknown;

    fn try_from(row: MessageRow) -> Result<Self, Unknown> {
        Ok(Self {
            to_thread_id: row.to_thread_id,
            mail_number: count(row.mail_number),
            message_id: row.message_id,
            from_thread_id: row.from_thread_id,
            from_agent_id: row.from_agent_id,
            handoff_id: row.handoff_id,
            kind: MessageKind::read(&row.kind)?,
            subject: row.subject,
            body: row.body,
            data: row.data,
            artifacts: row.artifacts,
            outcome: read_opt(row.outcome.as_deref())?,
            in_reply_to: row.in_reply_to,
            report_version: row.report_version.map(count),
            quiet: row.quiet,
            wakes: row.wakes,
            rated: row.rated,
            late: row.late,
            exception: read_opt(row.exception.as_deref())?,
            create_time: row.create_time,
        })
    }
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "envelope_row")]
pub(super) struct EnvelopeRow {
    pub(super) to_thread_id: ThreadId,
    from_thread_id: ThreadId,
    mail_number: i64,
    message_id: MessageId,
    kind: String,
    subject: String,
    report_version: Option<i64>,
}

impl TryFrom<EnvelopeRow> for Envelope {
    type Error = Unknown;

    fn try_from(row: EnvelopeRow) -> Result<Self, Unknown> {
        Ok(Self {
            from_thread_id: row.from_thread_id,
            mail_number: count(row.mail_number),
            message_id: row.message_id,
            kind: MessageKind::read(&row.kind)?,
            subject: row.subject,
            report_version: row.report_version.map(count),
        })
    }
}

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "mail_except_row")]
pub(super) struct MailExceptRow {
    thread_id: ThreadId,
    above: i64,
    through: i64,
    exception: String,
}

impl From<&MailExcept> for MailExceptRow {
    fn from(except: &MailExcept) -> Self {
        Self {
            thread_id: except.thread_id,
            above: big(except.above),
            through: big(except.through),
            exception: except.exception.spell().to_owned(),
        }
    }
}
