//! Lists of handoffs, and what their children produced.

use futures_util::TryStreamExt;
use sqlx::postgres::PgPool;

use crate::domain::ids::{AgentId, HandoffId, MessageId, Namespace, ThreadId, TurnId};
use crate::domain::limits;
use crate::domain::status::{Facts, ReportView};
use crate::domain::time::Timestamp;
use crate::domain::weight;

use super::status::{ReportMail, view};
use crate::store::StoreError;
use crate::store::agents::SlotsRow;
use crate::store::codec::{Unknown, big, count};
use crate::store::handoffs::{HandoffRow, ReportRow};
use crate::store::heads::HeadRow;
use crate::store::turns::TurnRow;

const OPEN: &str = concat!(
    include_str!("../sql/list_open.sql"),
    include_str!("../sql/list_states.sql")
);
const OPEN_OF_AGENT: &str = concat!(
    include_str!("../sql/list_open_of_agent.sql"),
    include_str!("../sql/list_states.sql")
);
const OF_PARENT: &str = concat!(
    include_str!("../sql/list_of_parent.sql"),
    include_str!("../sql/list_states.sql")
);
const ALL: &str = concat!(
    include_str!("../sql/list_all.sql"),
    include_str!("../sql/list_states.sql")
);
const SCAN_END_OF_PARENT: &str = include_str!("../sql/scan_end_of_parent.sql");
const SCAN_END_OF_ALL: &str = include_str!("../sql/scan_end_of_all.sql");
const REPORTS: &str = include_str!("../sql/list_reports.sql");
const OUTPUT: &str = include_str!("../sql/read_output.sql");
const IS_ANCESTOR: &str = include_str!("../sql/is_ancestor.sql");

/// Rows that a page looks at where no index serves its filter.
const SCAN: i64 = 5_000;

/// Which handoffs, joined by AND.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this parent thread.
    pub parent: Option<ThreadId>,
    /// To this agent.
    pub agent: Option<AgentId>,
    /// Closed ones too.
    pub include_closed: bool,
}

/// A page of handoffs.
#[derive(Debug)]
pub struct Page {
    /// Each with the time of the statement.
    pub rows: Vec<(Facts, Timestamp)>,
    /// The id after which the next page begins; none where this is the last.
    pub next: Option<HandoffId>,
}

#[derive(sqlx::FromRow)]
struct StateRow {
    now: Timestamp,
    handoff: HandoffRow,
    head: Option<HeadRow>,
    slots: Option<SlotsRow>,
    turn: Option<TurnRow>,
}

impl TryFrom<StateRow> for (Facts, Timestamp) {
    type Error = Unknown;

    fn try_from(row: StateRow) -> Result<Self, Unknown> {
        let facts = Facts {
            handoff: row.handoff.try_into()?,
            head: row.head.map(TryInto::try_into).transpose()?,
            slots: row.slots.map(TryInto::try_into).transpose()?,
            turn: row.turn.map(TryInto::try_into).transpose()?,
            children: Vec::new(),
        };
        Ok((facts, row.now))
    }
}

/// Lists handoffs by id, oldest first. A page may be short and still have a next one.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn list(
    pool: &PgPool,
    namespace: &Namespace,
    filter: &Filter,
    after: HandoffId,
    size: usize,
) -> Result<Page, StoreError> {
    // One more than asked for tells whether there is a next page.
    let limit = i64::try_from(size.saturating_add(1)).unwrap_or(i64::MAX);
    let listed = match (filter.parent, &filter.agent, filter.include_closed) {
        (Some(parent), agent, include_closed) => sqlx::query_as(OF_PARENT)
            .bind(&namespace.0)
            .bind(after)
            .bind(limit)
            .bind(parent)
            .bind(SCAN)
            .bind(include_closed)
            .bind(agent),
        (None, agent, true) => sqlx::query_as(ALL)
            .bind(&namespace.0)
            .bind(after)
            .bind(limit)
            .bind(SCAN)
            .bind(agent),
        (None, Some(agent), false) => sqlx::query_as(OPEN_OF_AGENT)
            .bind(&namespace.0)
            .bind(after)
            .bind(limit)
            .bind(agent),
        (None, None, false) => sqlx::query_as(OPEN)
            .bind(&namespace.0)
            .bind(after)
            .bind(limit),
    };
    let found: Vec<StateRow> = listed.fetch_all(pool).await?;
    let mut rows: Vec<(Facts, Timestamp)> = found
        .into_iter()
        .map(TryInto::try_into)
        .collect::<Result<_, Unknown>>()?;
    let next = if rows.len() > size {
        rows.truncate(size);
        rows.last().map(|(facts, _)| facts.handoff.handoff_id)
    } else {
        scan_end(pool, namespace, filter, after).await?
    };
    Ok(Page { rows, next })
}

/// Where a bounded scan that did not fill its page ended, if it was cut.
async fn scan_end(
    pool: &PgPool,
    namespace: &Namespace,
    filter: &Filter,
    after: HandoffId,
) -> Result<Option<HandoffId>, StoreError> {
    let end = match (filter.parent, &filter.agent, filter.include_closed) {
        (None, _, false) | (None, None, true) => return Ok(None),
        (Some(parent), _, _) => sqlx::query_scalar(SCAN_END_OF_PARENT)
            .bind(&namespace.0)
            .bind(after)
            .bind(parent)
            .bind(SCAN),
        (None, Some(_), true) => sqlx::query_scalar(SCAN_END_OF_ALL)
            .bind(&namespace.0)
            .bind(after)
            .bind(SCAN),
    };
    Ok(end.fetch_optional(pool).await?)
}

/// Whether a thread is there.
///
/// # Errors
/// The database is away.
pub async fn has_thread(
    pool: &PgPool,
    namespace: &Namespace,
    id: ThreadId,
) -> Result<bool, StoreError> {
    let found: Option<i32> =
        sqlx::query_scalar("SELECT 1 FROM threads WHERE namespace = $1 AND thread_id = $2")
            .bind(&namespace.0)
            .bind(id)
            .fetch_optional(pool)
            .await?;
    Ok(found.is_some())
}

/// Whether an agent is there.
///
/// # Errors
/// The database is away.
pub async fn has_agent(
    pool: &PgPool,
    namespace: &Namespace,
    id: &AgentId,
) -> Result<bool, StoreError> {
    let found: Option<i32> =
        sqlx::query_scalar("SELECT 1 FROM agents WHERE namespace = $1 AND agent_id = $2")
            .bind(&namespace.0)
            .bind(id)
            .fetch_optional(pool)
            .await?;
    Ok(found.is_some())
}

/// Whether the thread of `turn` is above the thread that works on `handoff`.
///
/// # Errors
/// The database is away.
pub async fn is_ancestor(
    pool: &PgPool,
    namespace: &Namespace,
    turn: TurnId,
    handoff: HandoffId,
) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar(IS_ANCESTOR)
        .bind(&namespace.0)
        .bind(handoff)
        .bind(turn)
        .fetch_one(pool)
        .await?;
    Ok(found)
}

#[derive(sqlx::FromRow)]
struct ListedReport {
    report: ReportRow,
    message_id: Option<MessageId>,
    subject: Option<String>,
    body: Option<String>,
    exception: Option<String>,
    /// The parent's mark.
    consumed: Option<i64>,
}

/// Reports of a handoff through a version, newest first, as many as fit `bytes`.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn reports(
    pool: &PgPool,
    namespace: &Namespace,
    handoff: HandoffId,
    parent: Option<ThreadId>,
    through: u64,
    bytes: usize,
) -> Result<Vec<ReportView>, StoreError> {
    let mut rows = sqlx::query_as(REPORTS)
        .bind(&namespace.0)
        .bind(handoff)
        .bind(parent)
        .bind(big(through))
        .bind(limits::REPORTS_PER_RESULT)
        .fetch(pool);
    let (mut reports, mut left) = (Vec::new(), bytes);
    while let Some(row) = rows.try_next().await? {
        let row: ListedReport = row;
        let mail = ReportMail {
            message_id: row.message_id,
            subject: row.subject,
            body: row.body,
            exception: row.exception,
        };
        let report = view(row.report, mail, row.consumed.map(count))?;
        match left.checked_sub(bytes_of(&report)) {
            Some(rest) => left = rest,
            None => break,
        }
        reports.push(report);
    }
    Ok(reports)
}

/// Bytes that a report takes in an answer, roughly and not less.
fn bytes_of(report: &ReportView) -> usize {
    let data = report.data.as_ref().map_or(0, weight::json);
    let artifacts: usize = report.artifacts.iter().map(|it| it.len() + 8).sum();
    256 + report.subject.len() + report.body.len() + data + artifacts
}

/// What a child said last, and how many of its turns began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The final response of its newest turn that gave one.
    pub response: Option<String>,
    /// Turns that began.
    pub turns: u64,
}

/// Reads that; `response_number` is the head's.
///
/// # Errors
/// The database is away.
pub async fn output(
    pool: &PgPool,
    namespace: &Namespace,
    child: ThreadId,
    response_number: Option<u64>,
) -> Result<Output, StoreError> {
    let (response, turns): (Option<String>, i64) = sqlx::query_as(OUTPUT)
        .bind(&namespace.0)
        .bind(child)
        .bind(response_number.map(big))
        .fetch_one(pool)
        .await?;
    Ok(Output {
        response,
        turns: count(turns),
    })
}
