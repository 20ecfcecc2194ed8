//! Heads of threads: the row every change of a thread locks.

use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::threads::{Drive, Head};
use crate::domain::time::Timestamp;
use crate::domain::world::Stored;

use super::codec::{Address, Spelled, Unknown, big, count, int, small, spelled};

pub(super) const INSERT: &str = include_str!("sql/insert_heads.sql");
pub(super) const UPDATE: &str = include_str!("sql/update_heads.sql");

spelled!(Drive, "drive of a thread", {
    Drive::Runtime => "runtime" = Drive::Runtime,
    Drive::Pull => "pull" = Drive::Pull,
});

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "head_row")]
pub(super) struct HeadRow {
    address: Option<Address>,
    version: i64,
    pub(super) thread_id: ThreadId,
    agent_id: AgentId,
    parent_thread_id: Option<ThreadId>,
    drive: String,
    turn_id: Option<TurnId>,
    turn_number: i64,
    turn_running: bool,
    event_number: i64,
    mail_number: i64,
    given_through: i64,
    consumed_through: i64,
    waking_unread: i64,
    wake_time: Option<Timestamp>,
    wake_count: i64,
    handoff_id: Option<HandoffId>,
    handoff_unfinished: bool,
    lost_turns: i32,
    lost_given_through: Option<i64>,
    awaited_children: i64,
    live_children: i64,
    tool_calls: i64,
    last_tool: Option<String>,
    last_tool_time: Option<Timestamp>,
    input_tokens: i64,
    output_tokens: i64,
    response_number: Option<i64>,
    last_activity_time: Timestamp,
    due_time: Option<Timestamp>,
    waited_time: Option<Timestamp>,
    delete_time: Option<Timestamp>,
    update_time: Timestamp,
}

impl HeadRow {
    pub(super) fn new(head: &Head, stored: Option<Stored>) -> Self {
        Self {
            address: stored.map(|stored| Address(stored.address)),
            version: stored.map_or(1, |stored| stored.version),
            thread_id: head.thread_id,
            agent_id: head.agent_id.clone(),
            parent_thread_id: head.parent_thread_id,
            drive: head.drive.spell().to_owned(),
            turn_id: head.turn_id,
            turn_number: big(head.turn_number),
            turn_running: head.turn_running,
            event_number: big(head.event_number),
            mail_number: big(head.mail_number),
            given_through: big(head.given_through),
            consumed_through: big(head.consumed_through),
            waking_unread: big(head.waking_unread),
            wake_time: head.wake_time,
            wake_count: big(head.wake_count),
            handoff_id: head.handoff_id,
            handoff_unfinished: head.handoff_unfinished,
            lost_turns: int(head.lost_turns),
            lost_given_through: head.lost_given_through.map(big),
            awaited_children: big(head.awaited_children),
            live_children: big(head.live_children),
            tool_calls: big(head.tool_calls),
            last_tool: head.last_tool.clone(),
            last_tool_time: head.last_tool_time,
            input_tokens: big(head.input_tokens),
            output_tokens: big(head.output_tokens),
            response_number: head.response_number.map(big),
            last_activity_time: head.last_activity_time,
            due_time: head.due_time,
            waited_time: head.waited_time,
            delete_time: head.delete_time,
            update_time: head.update_time,
        }
    }

    pub(super) fn stored(&self) -> Stored {
        Stored {
            address: self.address.map_or(0, |address| address.0),
            version: self.version,
        }
    }
}

impl TryFrom<HeadRow> for Head {
    type Error = Unknown;

    fn try_from(row: HeadRow) -> Result<Self, Unknown> {
        Ok(Self {
            thread_id: row.thread_id,
            agent_id: row.agent_id,
            parent_thread_id: row.parent_thread_id,
            drive: Drive::read(&row.drive)?,
            turn_id: row.turn_id,
            turn_number: count(row.turn_number),
            turn_running: row.turn_running,
            event_number: count(row.event_number),
            mail_number: count(row.mail_number),
            given_through: count(row.given_through),
            consumed_through: count(row.consumed_through),
            waking_unread: count(row.waking_unread),
            wake_time: row.wake_time,
            wake_count: count(row.wake_count),
            handoff_id: row.handoff_id,
            handoff_unfinished: row.handoff_unfinished,
            lost_turns: small(row.lost_turns),
            lost_given_through: row.lost_given_through.map(count),
            awaited_children: count(row.awaited_children),
            live_children: count(row.live_children),
            tool_calls: count(row.tool_calls),
            last_tool: row.last_tool,
            last_tool_time: row.last_tool_time,
            input_tokens: count(row.input_tokens),
            output_tokens: count(row.output_tokens),
            response_number: row.response_number.map(count),
            last_activity_time: row.last_activity_time,
            due_time: row.due_time,
            waited_time: row.waited_time,
            delete_time: row.delete_time,
            update_time: row.update_time,
        })
    }
}
