//! What the children of handoffs produced, and what is there.

use futures_util::TryStreamExt;
use sqlx::postgres::PgPool;

use crate::domain::handoffs::Handoff;
use crate::domain::ids::{AgentId, HandoffId, MessageId, Namespace, ThreadId, TurnId};
use crate::domain::limits;
use crate::domain::status::ReportView;
use crate::domain::weight;

use super::status::{ReportMail, view};
use crate::store::StoreError;
use crate::store::codec::{big, count};
use crate::store::handoffs::ReportRow;

const REPORTS: &str = include_str!("../sql/list_reports.sql");
const OUTPUT: &str = include_str!("../sql/read_output.sql");
const IS_ANCESTOR: &str = include_str!("../sql/is_ancestor.sql");

/// The root of a thread's tree; none where there is no such thread.
///
/// # Errors
/// The database is away.
pub async fn root_of(
    pool: &PgPool,
    namespace: &Namespace,
    id: ThreadId,
) -> Result<Option<ThreadId>, StoreError> {
    let query = sqlx::query_scalar(include_str!("../sql/reads/get_root.sql"));
    let query = query.bind(&namespace.0).bind(id);
    Ok(query.fetch_optional(pool).await?)
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
    let query = sqlx::query_scalar(include_str!("../sql/reads/has_agent.sql"));
    let query = query.bind(&namespace.0).bind(id);
    let found: Option<i32> = query.fetch_optional(pool).await?;
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
    in_reading: Option<bool>,
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
    handoff: &Handoff,
    through: u64,
    bytes: usize,
) -> Result<Vec<ReportView>, StoreError> {
    let (id, parent) = (handoff.handoff_id, handoff.parent_thread_id);
    let mut rows = sqlx::query_as(REPORTS)
        .bind(&namespace.0)
        .bind(id)
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
            in_reading: row.in_reading == Some(true),
        };
        let report = view(
            row.report,
            mail,
            handoff.is_collected(),
            row.consumed.map(count),
        )?;
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
