//! Trees of threads: what is above one and below it.

use sqlx::postgres::PgPool;

use crate::domain::ids::{AgentId, Namespace, ThreadId};
use crate::domain::status::Facts;
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::codec::{Unknown, small};
use crate::store::patience::answered;

use super::lists::StateRow;

const UP: &str = include_str!("../sql/list_lineage_up.sql");
const DOWN: &str = include_str!("../sql/list_lineage_down.sql");
const THREADS: &str = include_str!("../sql/list_lineage_threads.sql");
const NEWEST: &str = concat!(
    include_str!("../sql/list_newest_of_threads.sql"),
    include_str!("../sql/list_states.sql")
);

/// What never changes of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Which.
    pub thread_id: ThreadId,
    /// Who handed it work.
    pub parent_thread_id: Option<ThreadId>,
    /// How far below the root it is.
    pub depth: u32,
    /// Whose.
    pub agent_id: AgentId,
    /// What it is for.
    pub role: String,
    /// One line for people.
    pub title: String,
    /// An operator made its first handoff, and no thread; none where it was given no work.
    pub by_operator: Option<bool>,
}

/// A thread and the threads above it, from below; the thread alone where there is no such one.
///
/// # Errors
/// The database is away.
pub async fn up(
    pool: &PgPool,
    namespace: &Namespace,
    thread: ThreadId,
) -> Result<Vec<ThreadId>, StoreError> {
    let found = sqlx::query_scalar(UP).bind(&namespace.0).bind(thread);
    Ok(answered(found.fetch_all(pool)).await?)
}

/// At most `limit` children of some threads, in the order of the threads and then of their ids; of each
/// only those behind a given one. Each child comes with the place of its parent among those asked for.
///
/// # Errors
/// The database is away.
pub async fn down(
    pool: &PgPool,
    namespace: &Namespace,
    parents: &[(ThreadId, ThreadId)],
    limit: usize,
) -> Result<Vec<(usize, ThreadId)>, StoreError> {
    let (threads, after): (Vec<ThreadId>, Vec<ThreadId>) = parents.iter().copied().unzip();
    let found = sqlx::query_as(DOWN)
        .bind(&namespace.0)
        .bind(threads)
        .bind(after)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX));
    let found: Vec<(i64, ThreadId)> = answered(found.fetch_all(pool)).await?;
    let place = |place: i64| usize::try_from(place - 1).unwrap_or(0);
    Ok(found.into_iter().map(|(at, it)| (place(at), it)).collect())
}

type ThreadRow = (
    ThreadId,
    Option<ThreadId>,
    i32,
    AgentId,
    String,
    String,
    Option<String>,
);

/// What never changes of some threads, in their order.
///
/// # Errors
/// The database is away.
pub async fn nodes(
    pool: &PgPool,
    namespace: &Namespace,
    threads: &[ThreadId],
) -> Result<Vec<Node>, StoreError> {
    let found = sqlx::query_as(THREADS).bind(&namespace.0).bind(threads);
    let found: Vec<ThreadRow> = answered(found.fetch_all(pool)).await?;
    let nodes = found.into_iter().map(
        |(thread_id, parent_thread_id, depth, agent_id, role, title, actor)| Node {
            thread_id,
            parent_thread_id,
            depth: small(depth),
            agent_id,
            role,
            title,
            by_operator: actor.map(|actor| actor == "operator"),
        },
    );
    Ok(nodes.collect())
}

/// The newest handoff of each of some threads, with the time of the statement.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn newest(
    pool: &PgPool,
    namespace: &Namespace,
    threads: &[ThreadId],
) -> Result<Vec<(Facts, Timestamp)>, StoreError> {
    let found = sqlx::query_as(NEWEST).bind(&namespace.0).bind(threads);
    let found: Vec<StateRow> = answered(found.fetch_all(pool)).await?;
    let rows = found.into_iter().map(TryInto::try_into);
    Ok(rows.collect::<Result<_, Unknown>>()?)
}
