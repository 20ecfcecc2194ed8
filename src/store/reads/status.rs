//! The facts that status rests on, for many handoffs at once.

use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnection, PgPool};

use crate::domain::handoffs::{Handoff, Report};
use crate::domain::ids::{AgentId, HandoffId, MessageId, Namespace};
use crate::domain::mailbox::MailException;
use crate::domain::status::{Delivery, Evidence, Facts, Mailed, Observed, ReportView, Stop, Texts};
use crate::domain::time::Timestamp;

use crate::store::StoreError;
use crate::store::agents::SlotsRow;
use crate::store::codec::{Unknown, count, read_opt};
use crate::store::handoffs::{HandoffRow, ReportRow};
use crate::store::heads::HeadRow;
use crate::store::patience::answered;
use crate::store::turns::TurnRow;

const READ: &str = include_str!("../sql/read_status.sql");

#[derive(sqlx::FromRow)]
struct Row {
    namespace: String,
    now: Timestamp,
    handoff: HandoffRow,
    head: Option<HeadRow>,
    slots: Option<SlotsRow>,
    turn: Option<TurnRow>,
    children: Vec<HandoffId>,
    parent_agent_id: Option<AgentId>,
    parent_consumed_through: Option<i64>,
    parent_in_turn: bool,
    parent_active_time: Option<Timestamp>,
    last_heartbeat_time: Option<Timestamp>,
    last_poll_time: Option<Timestamp>,
    last_event_time: Option<Timestamp>,
    last_delivery_time: Option<Timestamp>,
    report_mail_number: Option<i64>,
    report_deliver_time: Option<Timestamp>,
    report_create_time: Option<Timestamp>,
    report_in_reading: Option<bool>,
    report_exception: Option<String>,
    newest_report: Option<ReportRow>,
    report_message_id: Option<MessageId>,
    report_subject: Option<String>,
    report_body: Option<String>,
    result: Option<String>,
    latest_progress: Option<String>,
    stop_request_time: Option<Timestamp>,
    stop_acknowledge_time: Option<Timestamp>,
}

/// Reads handoffs of any tenants in one statement, each with the texts that are wanted of it; those
/// that do not exist are left out.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn read(
    connection: &mut PgConnection,
    asked: &[(Namespace, HandoffId, Texts)],
) -> Result<Vec<(Namespace, Observed)>, StoreError> {
    let wanted = |text: fn(&Texts) -> bool| -> Vec<bool> {
        asked.iter().map(|(_, _, texts)| text(texts)).collect()
    };
    let (namespaces, ids): (Vec<&str>, Vec<HandoffId>) = asked
        .iter()
        .map(|(namespace, id, _)| (namespace.0.as_str(), *id))
        .unzip();
    let query = sqlx::query_as(READ)
        .bind(namespaces)
        .bind(ids)
        .bind(wanted(|texts| texts.progress))
        .bind(wanted(|texts| texts.result))
        .bind(wanted(|texts| texts.report));
    let rows: Vec<Row> = answered(query.fetch_all(connection)).await?;
    rows.into_iter()
        .map(|mut row| {
            let namespace = Namespace(std::mem::take(&mut row.namespace));
            Ok((namespace, Observed::try_from(row)?))
        })
        .collect()
}

/// What was read of many handoffs of one tenant.
#[derive(Debug)]
pub struct Batch {
    /// Each that was read.
    pub observed: Vec<Observed>,
    /// Not all were read: nothing is known of those that are missing.
    pub cut: bool,
}

/// Reads handoffs of a tenant in one statement, each with these texts, until some `bytes` are read; one
/// is read whatever its size.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn read_within(
    pool: &PgPool,
    namespace: &Namespace,
    ids: &[HandoffId],
    texts: Texts,
    bytes: usize,
) -> Result<Batch, StoreError> {
    let all = |wanted| vec![wanted; ids.len()];
    let query = sqlx::query_as(READ)
        .bind(vec![namespace.0.as_str(); ids.len()])
        .bind(ids)
        .bind(all(texts.progress))
        .bind(all(texts.result))
        .bind(all(texts.report));
    let read = async {
        let mut found = query.fetch(pool);
        let (mut observed, mut left) = (Vec::new(), bytes);
        while let Some(row) = found.try_next().await? {
            let row: Row = row;
            let read = match Observed::try_from(row) {
                Ok(read) => read,
                Err(unknown) => return Ok(Err(unknown)),
            };
            match left.checked_sub(weight(&read)) {
                None if !observed.is_empty() => return Ok(Ok((observed, true))),
                rest => left = rest.unwrap_or(0),
            }
            observed.push(read);
        }
        Ok(Ok((observed, false)))
    };
    let (observed, cut) = answered(read).await??;
    Ok(Batch { observed, cut })
}

/// Bytes that the status of a handoff takes in an answer, roughly and not less.
fn weight(read: &Observed) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let handoff = &read.facts.handoff;
    let error = handoff.error.as_ref();
    let error = error.map_or(0, |error| error.summary.len() + error.advice.len());
    let turn = read.facts.turn.as_ref();
    let partial = turn.map_or(0, |turn| text(&turn.partial_text));
    let texts = text(&read.result) + text(&read.latest_progress) + partial;
    4096 + texts + error + text(&handoff.idempotency_key)
}

impl TryFrom<Row> for Observed {
    type Error = Unknown;

    fn try_from(row: Row) -> Result<Self, Unknown> {
        let exception: Option<MailException> = read_opt(row.report_exception.as_deref())?;
        let mailed = mailed(&row, exception);
        let facts = Facts {
            handoff: Handoff::try_from(row.handoff)?,
            head: row.head.map(TryInto::try_into).transpose()?,
            slots: row.slots.map(TryInto::try_into).transpose()?,
            turn: row.turn.map(TryInto::try_into).transpose()?,
            children: row.children,
        };
        let evidence = Evidence {
            last_heartbeat_time: row.last_heartbeat_time,
            last_poll_time: row.last_poll_time,
            last_event_time: row.last_event_time,
            last_delivery_time: row.last_delivery_time,
            turn_id: facts.turn.as_ref().map(|turn| turn.turn_id),
            runtime_id: facts.turn.as_ref().map(|turn| turn.runtime_id.clone()),
            lease_expire_time: facts.turn.as_ref().map(|turn| turn.lease_expire_time),
            wake_time: facts.head.as_ref().and_then(|head| head.wake_time),
        };
        let consumed = row.parent_consumed_through.map(count);
        let mail_number = row.report_mail_number.map(count);
        let acknowledged = row.report_deliver_time.is_some();
        let collected = facts.handoff.is_collected() && row.report_create_time.is_some();
        let reached = Reached {
            collected,
            acknowledged,
            in_reading: row.report_in_reading == Some(true),
            exception,
            consumed,
        };
        let report_delivery = reached.delivery(mail_number);
        let mail = ReportMail {
            message_id: row.report_message_id,
            subject: row.report_subject,
            body: row.report_body,
            exception: row.report_exception,
            in_reading: row.report_in_reading == Some(true),
        };
        let newest_report = row
            .newest_report
            .map(|report| view(report, mail, collected, consumed))
            .transpose()?;
        Ok(Self {
            now: row.now,
            facts,
            parent_agent_id: row.parent_agent_id,
            report_delivery,
            mailed,
            newest_report,
            result: row.result,
            latest_progress: row.latest_progress,
            stop: row.stop_request_time.map(|request_time| Stop {
                request_time,
                acknowledge_time: row.stop_acknowledge_time,
            }),
            evidence,
        })
    }
}

/// The mail of the newest report, and the thread it was sent to.
fn mailed(row: &Row, exception: Option<MailException>) -> Option<Mailed> {
    row.report_mail_number?;
    Some(Mailed {
        create_time: row.report_create_time?,
        set_aside: exception == Some(MailException::SetAside),
        in_turn: row.parent_in_turn,
        active_time: row.parent_active_time?,
    })
}

/// The mail that carried a report.
pub(super) struct ReportMail {
    pub(super) message_id: Option<MessageId>,
    pub(super) subject: Option<String>,
    pub(super) body: Option<String>,
    pub(super) exception: Option<String>,
    /// A live turn of the parent read it by the answer of its own call.
    pub(super) in_reading: bool,
}

/// Joins a report with its mail; `collected` says that the parent is to collect it, `consumed` is the
/// parent's mark.
pub(super) fn view(
    row: ReportRow,
    mail: ReportMail,
    collected: bool,
    consumed: Option<u64>,
) -> Result<ReportView, Unknown> {
    let report = Report::try_from(row)?;
    let exception = read_opt(mail.exception.as_deref())?;
    let reached = Reached {
        collected,
        acknowledged: report.deliver_time.is_some(),
        in_reading: mail.in_reading,
        exception,
        consumed,
    };
    let delivery = reached.delivery(report.mail_number);
    Ok(ReportView {
        version: report.version,
        kind: report.kind,
        outcome: report.outcome,
        subject: mail.subject.unwrap_or_default(),
        body: report.body.or(mail.body).unwrap_or_default(),
        data: report.data,
        artifacts: report.artifacts,
        message_id: mail.message_id,
        create_time: report.create_time,
        deliver_time: report.deliver_time,
        delivery,
    })
}

/// What tells whether a report reached the parent: what was acknowledged, the parent's mark, and what the
/// mark does not tell of its mail. Each of them only ever goes forward.
struct Reached {
    /// The parent is to collect it.
    collected: bool,
    acknowledged: bool,
    /// A live turn of the parent read it by the answer of its own call: it may yet be lost.
    in_reading: bool,
    exception: Option<MailException>,
    consumed: Option<u64>,
}

impl Reached {
    fn delivery(&self, mail_number: Option<u64>) -> Delivery {
        let passed = mail_number
            .zip(self.consumed)
            .is_some_and(|(at, mark)| at <= mark);
        match (mail_number, self.exception) {
            _ if self.acknowledged => Delivery::Delivered,
            (None, _) if self.collected => Delivery::Pending,
            (None, _) => Delivery::None,
            _ if self.in_reading => Delivery::Pending,
            (Some(_), Some(MailException::Consumed)) => Delivery::Delivered,
            (Some(_), None) if passed => Delivery::Delivered,
            (Some(_), None | Some(MailException::SetAside | MailException::Withdrawn)) => {
                Delivery::Pending
            }
        }
    }
}
