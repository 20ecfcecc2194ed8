//! Threads: the cold rows, and their history.

use sqlx::types::JsonValue;

use crate::domain::history::{EventKind, ThreadEvent};
use crate::domain::ids::{AgentId, ThreadId, TurnId};
use crate::domain::threads::{Drive, Owner, Thread};
use crate::domain::time::Timestamp;

use super::codec::{Spelled, Unknown, big, int, small};

pub(super) const INSERT: &str = include_str!("sql/insert_threads.sql");
pub(super) const INSERT_EVENTS: &str = include_str!("sql/insert_thread_events.sql");

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "thread_row")]
pub(super) struct ThreadRow {
    thread_id: ThreadId,
    agent_id: AgentId,
    parent_thread_id: Option<ThreadId>,
    root_thread_id: ThreadId,
    depth: i32,
    role: String,
    drive: String,
    title: String,
    hidden: bool,
    listed: bool,
    owner_subject: Option<String>,
    owner_email: Option<String>,
    create_time: Timestamp,
}

impl From<&Thread> for ThreadRow {
    fn from(thread: &Thread) -> Self {
        Self {
            thread_id: thread.thread_id,
            agent_id: thread.agent_id.clone(),
            parent_thread_id: thread.parent_thread_id,
            root_thread_id: thread.root_thread_id,
            depth: int(thread.depth),
            role: thread.role.clone(),
            drive: thread.drive.spell().to_owned(),
            title: thread.title.clone(),
            hidden: thread.hidden,
            listed: thread.listed,
            owner_subject: thread.owner.as_ref().map(|owner| owner.subject.clone()),
            owner_email: thread.owner.as_ref().and_then(|owner| owner.email.clone()),
            create_time: thread.create_time,
        }
    }
}

impl TryFrom<ThreadRow> for Thread {
    type Error = Unknown;

    fn try_from(row: ThreadRow) -> Result<Self, Unknown> {
        let email = row.owner_email;
        Ok(Self {
            thread_id: row.thread_id,
            agent_id: row.agent_id,
            parent_thread_id: row.parent_thread_id,
            root_thread_id: row.root_thread_id,
            depth: small(row.depth),
            role: row.role,
            drive: Drive::read(&row.drive)?,
            title: row.title,
            hidden: row.hidden,
            listed: row.listed,
            owner: row.owner_subject.map(|subject| Owner { subject, email }),
            create_time: row.create_time,
        })
    }
}

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "thread_event_row")]
pub(super) struct ThreadEventRow {
    thread_id: ThreadId,
    number: i64,
    time: Timestamp,
    kind: String,
    late: bool,
    turn_id: Option<TurnId>,
    content: JsonValue,
}

impl TryFrom<&ThreadEvent> for ThreadEventRow {
    type Error = serde_json::Error;

    fn try_from(event: &ThreadEvent) -> Result<Self, serde_json::Error> {
        Ok(Self {
            thread_id: event.thread_id,
            number: big(event.number),
            time: event.time,
            kind: kind_name(&event.kind).to_owned(),
            late: event.late,
            turn_id: event.turn_id,
            content: serde_json::to_value(&event.kind)?,
        })
    }
}

/// The word for what happened, as the database and serde spell it.
fn kind_name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::UserMessage { .. } => "user_message",
        EventKind::AssistantMessage { .. } => "assistant_message",
        EventKind::ToolCall { .. } => "tool_call",
        EventKind::ToolResult { .. } => "tool_result",
        EventKind::Checkpoint { .. } => "checkpoint",
        EventKind::Assignment { .. } => "assignment",
        EventKind::ThreadSpawned { .. } => "thread_spawned",
        EventKind::Mail { .. } => "mail",
        EventKind::Report { .. } => "report",
        EventKind::TurnStarted { .. } => "turn_started",
        EventKind::TurnEnded { .. } => "turn_ended",
    }
}
