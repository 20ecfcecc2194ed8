//! Messages as the wire spells them.

use super::encode::{self, Wire};
use crate::domain::ids::AgentId;
use crate::domain::mailbox::{Marks, Message, MessageKind, MessageState};
use crate::domain::time::Timestamp;
use crate::proto::v1;

/// A message of a mailbox with these marks, in an answer given at `now`.
pub(crate) fn message(
    message: &Message,
    to_agent: &AgentId,
    marks: Marks,
    now: Timestamp,
) -> v1::Message {
    let from_agent = message.from_agent_id.as_ref();
    v1::Message {
        message_id: message.message_id.to_string(),
        mail_number: message.mail_number,
        from_thread_id: encode::opt_id(message.from_thread_id.as_ref()),
        from_agent_id: from_agent.map(|id| id.0.clone()).unwrap_or_default(),
        to_thread_id: message.to_thread_id.to_string(),
        to_agent_id: to_agent.0.clone(),
        kind: message.kind.wire(),
        subject: message.subject.clone(),
        body: message.body.clone(),
        data: message.data.as_ref().map(encode::json),
        artifacts: message.artifacts.clone(),
        outcome: message.outcome.map(Wire::wire),
        in_reply_to: encode::opt_id(message.in_reply_to.as_ref()),
        handoff_id: encode::opt_id(message.handoff_id.as_ref()),
        report_version: message.report_version,
        create_time: Some(encode::timestamp(message.create_time)),
        age: Some(encode::duration(now.since(message.create_time))),
        state: marks.state(message).wire(),
        late: message.late,
        quiet: message.quiet,
        // The server writes reminders and notices, and nothing else.
        from_operator: message.from_thread_id.is_none() && message.kind == MessageKind::Note,
    }
}

impl Wire for MessageState {
    type Proto = v1::MessageState;

    fn wire(self) -> i32 {
        let state = match self {
            Self::Unread => v1::MessageState::Unread,
            Self::Given => v1::MessageState::Given,
            Self::Consumed => v1::MessageState::Consumed,
            Self::SetAside => v1::MessageState::SetAside,
            Self::Withdrawn => v1::MessageState::Withdrawn,
        };
        state as i32
    }

    fn read(proto: v1::MessageState) -> Option<Self> {
        Some(match proto {
            v1::MessageState::Unspecified => return None,
            v1::MessageState::Unread => Self::Unread,
            v1::MessageState::Given => Self::Given,
            v1::MessageState::Consumed => Self::Consumed,
            v1::MessageState::SetAside => Self::SetAside,
            v1::MessageState::Withdrawn => Self::Withdrawn,
        })
    }
}
