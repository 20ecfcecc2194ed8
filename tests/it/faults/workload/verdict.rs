//! Nothing lost, nothing doubled, nothing stuck: all that was acknowledged, held against what the
//! database and the runtimes' journals say once all is quiet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use handoffd::proto::v1::{HandoffStatus, HandoffSummary, TimelineReason};
use sqlx::PgPool;

use super::account::Part;
use super::{Handed, PAIR_LIMIT, PAIR_WINDOW, Work};
use crate::faults::agents::Task;
use crate::faults::agents::journal::{self, Line};
use crate::faults::verdict::{ends, handoffs, is_quiet, timeline};
use crate::support::{invariants, within};

/// How long what is left may take: turns lost again and again wait for 25 s each.
const QUIET: Duration = Duration::from_secs(150);

/// Timelines that are read at once.
const AT_ONCE: usize = 8;

/// Waits until nothing is left to do.
pub(in crate::faults) async fn quiet(work: &Work, pool: &PgPool) {
    let quiet = within(QUIET, async || is_quiet(pool).await).await;
    work.holds(quiet, || {
        "stuck: handoffs, turns or wakes are left".to_owned()
    });
}

/// Everything that must hold at the end. `journals` is where the runtimes wrote theirs.
pub(in crate::faults) async fn check(
    work: &Work,
    pool: &PgPool,
    journals: &Path,
    handed: &BTreeMap<String, Handed>,
) {
    quiet(work, pool).await;
    handoffs_ended(work, handed).await;
    mail_was_consumed_once(work, pool, journals, handed).await;
    histories_are_fenced(work, pool).await;
    pairs(work, pool).await;
    for row in invariants::found(pool).await.unwrap() {
        work.broken(row);
    }
    work.count(
        Part::Checks,
        "times that all invariants were checked at the end",
    );
}

/// Each handoff was asked for, is one, and ended once as it had to.
async fn handoffs_ended(work: &Work, handed: &BTreeMap<String, Handed>) {
    let found: BTreeMap<String, HandoffSummary> = handoffs(&work.link)
        .await
        .into_iter()
        .map(|it| (it.handoff_id.clone(), it))
        .collect();
    for (id, handed) in handed {
        match found.get(id) {
            None => work.broken(format!("lost: {id} was acknowledged")),
            Some(it) => work.holds(ended_right(handed, it.status()), || {
                format!("wrong end of `{}`: {it:?}", handed.task.text())
            }),
        }
    }
    for (id, seen) in work.watched.ends() {
        let status = found.get(&id).map(HandoffSummary::status);
        work.holds(status == Some(seen), || {
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
        work.holds(outer.remove(inner.parent_thread_id.as_str()), || {
            format!("doubled: nobody asked for {inner:?}")
        });
    }
    // What may answer, and fails nevertheless, fails for a loss.
    let may_answer = |id| handed.get(id).is_some_and(|it| it.answer().is_some());
    let timelines = stream::iter(found.keys())
        .map(async |id| (id, timeline(&work.link, id).await))
        .buffer_unordered(AT_ONCE);
    timelines
        .for_each(async |(id, entries)| {
            work.count(Part::Checks, "timelines held against what must be");
            let lost = entries
                .iter()
                .any(|it| it.reason() == TimelineReason::TurnLost);
            let failed = entries
                .last()
                .is_some_and(|it| it.to() == HandoffStatus::Error);
            work.holds(!(failed && may_answer(id)) || lost, || {
                format!("{id} failed without a loss")
            });
            work.holds(ends(&entries) == 1, || {
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

/// How each turn ended, by its id. A cancel aborts an assigned turn by itself: that never began, nobody
/// finished it, and its mail is given again.
async fn turns(pool: &PgPool) -> BTreeMap<String, String> {
    let turns = "SELECT 'trn_' || replace(turn_id::text, '-', ''),
            CASE WHEN outcome = 'aborted' AND finish_answer IS NULL THEN 'never begun'
                ELSE coalesce(outcome::text, 'live') END
        FROM turns";
    let turns: Vec<(String, String)> = sqlx::query_as(turns).fetch_all(pool).await.unwrap();
    turns.into_iter().collect()
}

/// A turn that finished is done with its mail; of all others the mail is given again.
async fn mail_was_consumed_once(
    work: &Work,
    pool: &PgPool,
    journals: &Path,
    handed: &BTreeMap<String, Handed>,
) {
    let turns = turns(pool).await;
    let mut takers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in journal::read(journals) {
        match line {
            Line::Given {
                turn_id,
                message_id,
            } => {
                takers.entry(message_id).or_default().insert(turn_id);
            }
            Line::Ended { turn_id, outcome } => {
                work.count(Part::Checks, "acknowledged ends of turns found again");
                work.holds(turns.get(&turn_id) == Some(&outcome), || {
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
    for mail in mail(pool).await {
        let takers = takers.get(&mail.message_id);
        let takers: Vec<_> = takers.into_iter().flatten().filter(finished).collect();
        let what = match (mail.exception.as_deref(), mail.consumed) {
            (None, true) => {
                work.holds(takers.len() == 1, || {
                    format!("consumed by {takers:?} instead of one turn: {mail:?}")
                });
                "messages consumed by one turn that finished"
            }
            (None, false) => {
                work.holds(!mail.wakes && takers.is_empty(), || {
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
                work.broken(format!("neither given again nor consumed: {mail:?}"));
                "messages that are nowhere"
            }
        };
        work.count(Part::Checks, what);
        work.found(&mail.message_id, &mail.body);
    }
    for (message_id, body) in work.missing() {
        work.broken(format!("lost: {message_id}, `{body}`, was acknowledged"));
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

/// All mail of threads that runtimes work.
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
async fn histories_are_fenced(work: &Work, pool: &PgPool) {
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
        let found: i64 = sqlx::query_scalar(query).fetch_one(pool).await.unwrap();
        work.holds(found == 0, || format!("{found} {what}"));
    }
}

/// The pair limit, at every moment of the whole run.
async fn pairs(work: &Work, pool: &PgPool) {
    let most = "SELECT coalesce(max(number), 0) FROM (
        SELECT count(*) OVER (PARTITION BY to_thread_id, from_thread_id ORDER BY create_time
            RANGE BETWEEN $1 * interval '1 second' - interval '1 microsecond' PRECEDING
            AND CURRENT ROW) AS number
        FROM messages WHERE rated) AS windows";
    let window = i32::try_from(PAIR_WINDOW.as_secs()).unwrap();
    let most: i64 = sqlx::query_scalar(most)
        .bind(window)
        .fetch_one(pool)
        .await
        .unwrap();
    work.holds(most <= PAIR_LIMIT, || {
        format!("{most} messages of one pair in a window that has room for {PAIR_LIMIT}")
    });
}

/// No server says that it met a defect: what comes from outside is no error.
pub(in crate::faults) fn server_is_well(work: &Work, log: &str) {
    let defects = |line: &&str| line.contains(" ERROR ") || line.contains("panicked");
    for line in log.lines().filter(defects) {
        work.broken(format!("a server says: {line}"));
    }
}
