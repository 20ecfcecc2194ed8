//! Threads, with what they do now.

use sqlx::PgPool;
use sqlx::types::JsonValue;

use crate::domain::handoffs::Assignment;
use crate::domain::ids::{AgentId, HandoffId, Namespace, ThreadId, TurnId};
use crate::domain::threads::{Drive, Owner, Thread};
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::codec::{Spelled, big, count, small};

/// A thread and its hot part.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadView {
    /// What never changes.
    pub thread: Thread,
    /// The live turn.
    pub turn_id: Option<TurnId>,
    /// A wake stands that a runtime may claim now.
    pub claimable: bool,
    /// The handoff it works on.
    pub unfinished_handoff: Option<HandoffId>,
    /// Mail that was neither given nor consumed.
    pub unread: u64,
    /// What the live turn was given.
    pub given_through: u64,
    /// What is done with.
    pub consumed_through: u64,
    /// Last number of its history.
    pub event_number: u64,
    /// When it last did something.
    pub last_activity_time: Timestamp,
    /// When it last changed.
    pub update_time: Timestamp,
    /// When it was deleted.
    pub delete_time: Option<Timestamp>,
    /// What it was given to do; only where the bulky part was asked for.
    pub assignment: Option<Assignment>,
    /// The newest response of a finished turn; only where the bulky part was asked for.
    pub latest_response: Option<String>,
}

#[expect(clippy::struct_excessive_bools, reason = "the columns of a statement")]
struct Row {
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
    turn_id: Option<TurnId>,
    handoff_id: Option<HandoffId>,
    handoff_unfinished: bool,
    mail_number: i64,
    given_through: i64,
    consumed_through: i64,
    event_number: i64,
    last_activity_time: Timestamp,
    update_time: Timestamp,
    delete_time: Option<Timestamp>,
    excepted: i64,
    claimable: bool,
    task: Option<String>,
    context_data: Option<JsonValue>,
    response: Option<String>,
}

impl TryFrom<Row> for ThreadView {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let email = row.owner_email;
        let context_data = row.context_data;
        let given = row.handoff_id.zip(row.task);
        Ok(Self {
            thread: Thread {
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
            },
            turn_id: row.turn_id,
            claimable: row.claimable,
            unfinished_handoff: row.handoff_id.filter(|_| row.handoff_unfinished),
            unread: count(row.mail_number - row.given_through - row.excepted),
            given_through: count(row.given_through),
            consumed_through: count(row.consumed_through),
            event_number: count(row.event_number),
            last_activity_time: row.last_activity_time,
            update_time: row.update_time,
            delete_time: row.delete_time,
            assignment: given.map(|(handoff_id, task)| Assignment {
                handoff_id,
                task,
                context_data,
            }),
            latest_response: row.response,
        })
    }
}

/// Reads threads by id, those that exist, in the order of their ids. `bulky` also reads assignments
/// and responses.
///
/// # Errors
/// The database is away.
pub async fn get(
    pool: &PgPool,
    namespace: &Namespace,
    ids: &[ThreadId],
    bulky: bool,
) -> Result<Vec<ThreadView>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/sql/reads/get_threads.sql",
        namespace.0,
        ids as _,
        bulky
    )
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(ThreadView::try_from).collect()
}

/// Which threads a list is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadsOf {
    /// All of the namespace.
    Everybody,
    /// Those of an agent.
    Agent(AgentId),
    /// Direct children of a thread.
    Parent(ThreadId),
}

/// What a list of threads filters by, without its hot part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which.
    pub thread_id: ThreadId,
    /// Whose.
    pub agent_id: AgentId,
    /// Off every normal surface.
    pub hidden: bool,
    /// On the default list.
    pub listed: bool,
}

/// At most `limit` threads after one, by id. One statement a leading filter: a plan that serves all
/// of them serves none.
///
/// # Errors
/// The database is away.
pub async fn list(
    pool: &PgPool,
    namespace: &Namespace,
    of: &ThreadsOf,
    after: Option<ThreadId>,
    limit: usize,
) -> Result<Vec<Candidate>, StoreError> {
    let after = after.unwrap_or_else(|| ThreadId::from(uuid::Uuid::nil()));
    let limit = big(limit as u64);
    let candidates = match of {
        ThreadsOf::Everybody => {
            sqlx::query_file_as!(
                Candidate,
                "src/store/sql/reads/list_threads.sql",
                namespace.0,
                after as ThreadId,
                limit,
            )
            .fetch_all(pool)
            .await?
        }
        ThreadsOf::Agent(agent) => {
            sqlx::query_file_as!(
                Candidate,
                "src/store/sql/reads/list_threads_of_agent.sql",
                namespace.0,
                after as ThreadId,
                limit,
                agent.0,
            )
            .fetch_all(pool)
            .await?
        }
        ThreadsOf::Parent(parent) => {
            sqlx::query_file_as!(
                Candidate,
                "src/store/sql/reads/list_threads_of_parent.sql",
                namespace.0,
                after as ThreadId,
                limit,
                *parent as ThreadId,
            )
            .fetch_all(pool)
            .await?
        }
    };
    Ok(candidates)
}
