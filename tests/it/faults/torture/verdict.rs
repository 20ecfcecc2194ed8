//! Nothing lost, nothing doubled, nothing stuck: all that was acknowledged, held against what the
//! database and the runtimes' journals say once all is quiet.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use handoffd::proto::v1::{HandoffStatus, HandoffSummary, TimelineReason};
use sqlx::PgPool;

use super::Run;
use super::account::Part;
use super::limits;
use super::parents::Handed;
use crate::faults::agents::Task;
use crate::faults::agents::journal::{self, Line};
use crate::faults::verdict::{ends, handoffs, is_quiet, timeline};
use crate::support::{invariants, within};

/// How long what is left may take: turns lost again and again wait for 25 s each.
const QUIET: Duration = Duration::from_secs(150);

/// Timelines that are read at once.
const AT_ONCE: usize = 8;

/// Waits until nothing is left to do.
pub(super) async fn quiet(run: &Run<'_>) {
    let quiet = within(QUIET, async || is_quiet(&run.stand.pool).await).await;
    run.holds(quiet, || {
        "stuck: handoffs, turns or wakes are left".to_owned()
    });
}

/// Everything that must hold at the end.
pub(super) async fn check(run: &Run<'_>, handed: &BTreeMap<String, Handed>) {
    let pool = &run.stand.pool;
    let quiet = within(QUIET, async || is_quiet(pool).await).await;
    run.holds(quiet, || {
        "stuck: handoffs, turns or wakes are left".to_owned()
    });
    handoffs_ended(run, handed).await;
    let turns = turns(pool).await;
    mail_was_consumed_once(run, &turns, handed).await;
    histories_are_fenced(run).await;
    limits::pairs(run).await;
    for row in invariants::found(pool).await.unwrap() {
        run.broken(row);
    }
    run.count(
        Part::Checks,
        "times that all invariants were checked at the end",
    );
}

/// Each handoff was asked for, is one, and ended once as it had to.
async fn handoffs_ended(run: &Run<'_>, handed: &BTreeMap<String, Handed>) {
    let found: BTreeMap<String, HandoffSummary> = handoffs(&run.link)
        .await
        .into_iter()
        .map(|it| (it.handoff_id.clone(), it))
        .collect();
    for (id, handed) in handed {
        match found.get(id) {
            None => run.broken(format!("lost: {id} was acknowledged")),
            Some(it) => run.holds(ended_right(handed, it.status()), || {
                format!("wrong end of `{}`: {it:?}", handed.task.text())
            }),
        }
    }
    for (id, seen) in run.watched.ends() {
        let status = found.get(&id).map(HandoffSummary::status);
        run.holds(status == Some(seen), || {
            format!("a wait told that {id} ended as {seen:?}, and it is {status:?}")
        });
    }
    let outer = handed
        .values()
        .filter(|it| matches!(it.task, Task::Nest(_)));
    let mut outer: BTreeSet<&str> = outer.map(|it| it.child.as_str()).collect();
    for inner in found
        .values()
        .filter(|it| !handed.contains_key(&it.handoff_id))
    {
        // Each nested piece of work hands on once, whoever carried it out.
        run.holds(outer.remove(inner.parent_thread_id.as_str()), || {
            format!("doubled: nobody asked for {inner:?}")
        });
    }
    // What may answer, and fails nevertheless, fails for a loss.
    let may_answer = |id| handed.get(id).is_some_and(|it| it.answer().is_some());
    let timelines = stream::iter(found.keys())
        .map(async |id| (id, timeline(&run.link, id).await))
        .buffer_unordered(AT_ONCE);
    timelines
        .for_each(async |(id, entries)| {
            run.count(Part::Checks, "timelines held against what must be");
            let lost = entries
                .iter()
                .any(|it| it.reason() == TimelineReason::TurnLost);
            let failed = entries
                .last()
                .is_some_and(|it| it.to() == HandoffStatus::Error);
            run.holds(!(failed && may_answer(id)) || lost, || {
                format!("{id} failed without a loss")
            });
            run.holds(ends(&entries) == 1, || {
                format!("{id} ended other than once: {entries:?}")
            });
        })
        .await;
}

fn ended_right(handed: &Handed, status: HandoffStatus) -> bool {
    match status {
        HandoffStatus::Completed => handed.answer().is_some() && handed.cancelled != Some(false),
        HandoffStatus::Error => {
            (handed.answer().is_none() || handed.frail) && handed.cancelled != Some(false)
        }
        HandoffStatus::Cancelled => handed.cancelled == Some(false),
        _ => false,
    }
}

/// How each turn ended, by its id.
async fn turns(pool: &PgPool) -> BTreeMap<String, String> {
    let turns = "SELECT 'trn_' || replace(turn_id::text, '-', ''), coalesce(outcome::text, 'live')
        FROM turns";
    let turns: Vec<(String, String)> = sqlx::query_as(turns).fetch_all(pool).await.unwrap();
    turns.into_iter().collect()
}

/// A turn that finished is done with its mail; of all others the mail is given again.
async fn mail_was_consumed_once(
    run: &Run<'_>,
    turns: &BTreeMap<String, String>,
    handed: &BTreeMap<String, Handed>,
) {
    let mut takers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in journal::read(&run.stand.journals()) {
        match line {
            Line::Given {
                turn_id,
                message_id,
            } => {
                takers.entry(message_id).or_default().insert(turn_id);
            }
            Line::Ended { turn_id, outcome } => {
                run.count(Part::Checks, "acknowledged ends of turns found again");
                run.holds(turns.get(&turn_id) == Some(&outcome), || {
                    format!("lost: the end of {turn_id}, {outcome}, was acknowledged")
                });
            }
        }
    }
    let finished = |turn_id: &&String| {
        let outcome = turns.get(*turn_id).map_or("", String::as_str);
        matches!(outcome, "done" | "failed" | "aborted" | "interrupted")
    };
    let frail = handed.values().filter(|it| it.frail);
    let frail: BTreeSet<&str> = frail.map(|it| it.child.as_str()).collect();
    for mail in mail(&run.stand.pool).await {
        let takers = takers.get(&mail.message_id);
        let takers: Vec<_> = takers.into_iter().flatten().filter(finished).collect();
        let what = match (mail.exception.as_deref(), mail.consumed) {
            (None, true) => {
                run.holds(takers.len() == 1, || {
                    format!("consumed by {takers:?} instead of one turn: {mail:?}")
                });
                "messages consumed by one turn that finished"
            }
            (None, false) => {
                run.holds(!mail.wakes && takers.is_empty(), || {
                    format!("lost: unread: {mail:?}")
                });
                "messages that wake nobody, unread at the end"
            }
            (Some("withdrawn"), _) => "messages withdrawn",
            // With the loss that ended the work: who was given it may have acted on it.
            (Some("set_aside"), _) if frail.contains(mail.thread_id.as_str()) => {
                "messages set aside with frail work"
            }
            (Some(_), _) => {
                run.broken(format!("neither given again nor consumed: {mail:?}"));
                "messages that are nowhere"
            }
        };
        run.count(Part::Checks, what);
        run.found(&mail.message_id, &mail.body);
    }
    for (message_id, body) in run.missing() {
        run.broken(format!("lost: {message_id}, `{body}`, was acknowledged"));
    }
}

#[derive(Debug, sqlx::FromRow)]
struct Mail {
    message_id: String,
    thread_id: String,
    body: String,
    consumed: bool,
    wakes: bool,
    exception: Option<String>,
}

/// All mail of threads that runtimes run.
async fn mail(pool: &PgPool) -> Vec<Mail> {
    let mail = "SELECT 'msg_' || replace(m.message_id::text, '-', '') AS message_id, m.body,
            'thr_' || replace(m.to_thread_id::text, '-', '') AS thread_id,
            m.mail_number <= h.consumed_through AS consumed, m.wakes,
            m.exception::text AS exception
        FROM messages AS m
        JOIN thread_heads AS h ON h.namespace = m.namespace AND h.thread_id = m.to_thread_id
        WHERE h.drive = 'runtime'";
    sqlx::query_as(mail).fetch_all(pool).await.unwrap()
}

/// What a turn wrote lies between its begin and its end, and turns of a thread do not overlap.
async fn histories_are_fenced(run: &Run<'_>) {
    let outside = "SELECT count(*) FROM (
        SELECT kind, number,
            max(number) FILTER (WHERE kind = 'turn_ended') OVER turn AS ended,
            min(number) FILTER (WHERE kind = 'turn_started') OVER turn AS began
        FROM thread_events WHERE turn_id IS NOT NULL
        WINDOW turn AS (PARTITION BY namespace, thread_id, turn_id)) AS event
        WHERE kind IN ('tool_call', 'report')
            AND (number > ended OR number < began OR began IS NULL OR ended IS NULL)";
    let overlaps = "SELECT count(*) FROM (
        SELECT kind, lag(kind, 1, 'turn_ended') OVER thread AS before
        FROM thread_events WHERE kind IN ('turn_started', 'turn_ended')
        WINDOW thread AS (PARTITION BY namespace, thread_id ORDER BY number)) AS event
        WHERE kind = before";
    for (query, what) in [
        (outside, "writings of closed turns"),
        (overlaps, "overlapping turns"),
    ] {
        let pool = &run.stand.pool;
        let found: i64 = sqlx::query_scalar(query).fetch_one(pool).await.unwrap();
        run.holds(found == 0, || format!("{found} {what}"));
    }
}
