//! `handoffd status`: the state of handoffs, what to do about them, and what the answer rests on.

use clap::Args;

use super::client::Client;
use super::output::Sheet;
use super::show::{excerpt, hint, live, span, time, waiting, word};
use super::{CommonArgs, CtlError};
use crate::proto::v1::{
    BatchGetHandoffStatusRequest, BatchGetHandoffStatusResponse, Evidence, GetHandoffStatusRequest,
    Handoff, HandoffErrorCause, HandoffProgress, HandoffSnapshot, HandoffStatus, HandoffStatusItem,
    NotNotifiedKind, NotNotifiedReason, OnCompletion, Outcome, ReportDelivery,
};
use crate::redact;

/// Handoffs that are asked about at once.
const LARGEST_BATCH: usize = 500;

/// The characters of a text that status shows.
pub(super) const EXCERPT: usize = 1000;

/// What `status` takes.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The handoffs, `hnd_...`
    #[arg(required = true, value_name = "HANDOFF")]
    handoffs: Vec<String>,
}

pub(super) async fn status(args: StatusArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    if let [handoff] = args.handoffs.as_slice() {
        let request = GetHandoffStatusRequest {
            handoff_id: handoff.clone(),
        };
        let answer = client.status().get_handoff_status(request).await?;
        return output.answer(&answer.into_inner(), |answer| {
            sheet(answer.snapshot.as_ref())
        });
    }
    let items = of_many(&client, args.handoffs).await?;
    let unknown = items.iter().filter(|item| item.snapshot.is_none()).count();
    let document = BatchGetHandoffStatusResponse {
        items,
        remaining_handoff_ids: Vec::new(),
    };
    output.answer(&document, |document| {
        let sheets = document.items.iter().map(|item| match &item.snapshot {
            None => redact::line(&item.error_message),
            snapshot => sheet(snapshot.as_ref()),
        });
        sheets.collect::<Vec<_>>().join("\n\n")
    })?;
    if unknown > 0 {
        return Err(CtlError::Unknown(unknown));
    }
    Ok(())
}

/// The status of many handoffs, in the order they are named.
pub(super) async fn of_many(
    client: &Client,
    mut handoff_ids: Vec<String>,
) -> Result<Vec<HandoffStatusItem>, CtlError> {
    let mut items = Vec::with_capacity(handoff_ids.len());
    while !handoff_ids.is_empty() {
        let later = handoff_ids.split_off(handoff_ids.len().min(LARGEST_BATCH));
        let request = BatchGetHandoffStatusRequest { handoff_ids };
        let answer = client.status().batch_get_handoff_status(request).await?;
        let answer = answer.into_inner();
        items.extend(answer.items);
        handoff_ids = answer.remaining_handoff_ids;
        handoff_ids.extend(later);
    }
    Ok(items)
}

fn sheet(snapshot: Option<&HandoffSnapshot>) -> String {
    let mut sheet = Sheet::default();
    if let Some(snapshot) = snapshot {
        add_snapshot(&mut sheet, snapshot);
    }
    sheet.text()
}

/// What is stored and computed of a handoff.
pub(super) fn add_snapshot(sheet: &mut Sheet, snapshot: &HandoffSnapshot) {
    if let Some(handoff) = &snapshot.handoff {
        add_handoff(sheet, handoff);
    }
    sheet.add("elapsed", span(snapshot.elapsed));
    if let Some(progress) = &snapshot.progress {
        add_progress(sheet, progress);
    }
    if let Some(stop) = &snapshot.stop {
        let asked = time(stop.request_time);
        sheet.add(
            "stop",
            match stop.acknowledge_time {
                None => format!("asked {asked}; the child may still be writing"),
                ended => format!("asked {asked}, ended {}", time(ended)),
            },
        );
    }
    if snapshot.reminders_sent > 0 {
        sheet.add("reminders", snapshot.reminders_sent.to_string());
    }
    sheet.add("next reminder", time(snapshot.next_reminder_time));
    sheet.add("abandoned at", time(snapshot.abandon_time));
    sheet.add(
        "report",
        word(snapshot.report_delivery, ReportDelivery::as_str_name),
    );
    let untold = snapshot.not_notified_reason.as_ref();
    sheet.add_some("nobody told", untold.map(not_notified));
    let result = snapshot.result.as_ref();
    sheet.add_some("result", result.map(|it| excerpt(it, EXCERPT)));
    if let Some(evidence) = &snapshot.evidence {
        add_evidence(sheet, evidence);
    }
}

/// Why nobody has been told of the end.
fn not_notified(reason: &NotNotifiedReason) -> String {
    let span = span(reason.span);
    match NotNotifiedKind::try_from(reason.kind) {
        Ok(NotNotifiedKind::FinishedAgo) => {
            format!("it finished {span} ago, and nobody collected the result")
        }
        Ok(NotNotifiedKind::ParentIdle) => {
            format!("the parent has had no turn for {span} since the end was mailed")
        }
        Ok(NotNotifiedKind::SubmitFailed) => {
            "every turn of the parent that was given the mail was lost".to_owned()
        }
        Ok(NotNotifiedKind::Unspecified) | Err(_) => {
            word(reason.kind, NotNotifiedKind::as_str_name)
        }
    }
}

/// What is stored of a handoff.
pub(super) fn add_handoff(sheet: &mut Sheet, handoff: &Handoff) {
    sheet.add("handoff", handoff.handoff_id.clone());
    sheet.add("title", redact::line(&handoff.thread_title));
    let status = word(handoff.status, HandoffStatus::as_str_name);
    sheet.add(
        "status",
        match handoff.outcome {
            None => status,
            Some(outcome) => format!("{status}, {}", word(outcome, Outcome::as_str_name)),
        },
    );
    if let Some(error) = &handoff.error {
        let cause = word(error.cause, HandoffErrorCause::as_str_name);
        sheet.add(
            "error",
            format!("{cause}: {}", redact::line(&error.summary)),
        );
        sheet.add("advice", redact::line(&error.advice));
    }
    sheet.add("child", at(&handoff.agent_id, &handoff.thread_id));
    sheet.add(
        "parent",
        at(&handoff.parent_agent_id, &handoff.parent_thread_id),
    );
    let on_completion = word(handoff.on_completion, OnCompletion::as_str_name);
    sheet.add("on completion", on_completion);
    sheet.add("attempt", handoff.attempt.to_string());
    sheet.add("created", time(handoff.create_time));
    sheet.add("first turn", time(handoff.first_turn_time));
    sheet.add("watched until", time(handoff.watch_time));
    sheet.add("deadline", deadline(handoff));
    sheet.add("finished", time(handoff.finish_time));
}

/// How long it may run, and until when; empty without a limit.
fn deadline(handoff: &Handoff) -> String {
    let limit = span(handoff.deadline);
    match handoff.deadline_time {
        _ if handoff.deadline.is_none() => String::new(),
        None => format!(
            "{limit} from the first turn (version {})",
            handoff.deadline_version
        ),
        until => format!("{} (version {})", time(until), handoff.deadline_version),
    }
}

/// An agent and its thread; empty where there is no thread.
fn at(agent: &str, thread: &str) -> String {
    if thread.is_empty() {
        return redact::line(agent);
    }
    format!("{} on {thread}", redact::line(agent))
}

/// How far the child of a handoff is.
pub(super) fn add_progress(sheet: &mut Sheet, progress: &HandoffProgress) {
    sheet.add("live state", live(progress));
    // Of a closed handoff it is the time of its status, and there is no live state above it.
    let since = if progress.live_state.is_some() {
        "live state since"
    } else {
        "closed"
    };
    sheet.add(since, time(progress.since));
    sheet.add_some("hint", progress.hint.as_ref().map(hint));
    sheet.add_some("waits for", progress.waiting_on.as_ref().map(waiting));
    sheet.add("idle", span(progress.idle));
    sheet.add_some(
        "tool calls",
        progress.tool_call_count.map(|count| count.to_string()),
    );
    sheet.add_some(
        "last tool call",
        progress
            .last_tool_call
            .as_ref()
            .map(|call| format!("{} {}", redact::line(&call.name), time(call.time))),
    );
    let latest = progress.latest_progress.as_ref();
    sheet.add_some("progress", latest.map(|it| excerpt(it, EXCERPT)));
    let partial = progress.partial_text.as_ref();
    sheet.add_some("partial text", partial.map(|it| excerpt(it, EXCERPT)));
}

fn add_evidence(sheet: &mut Sheet, evidence: &Evidence) {
    sheet.add("turn", evidence.turn_id.clone());
    sheet.add("runtime", redact::line(&evidence.runtime_id));
    sheet.add("lease ends", time(evidence.lease_expire_time));
    sheet.add("wake since", time(evidence.wake_time));
    sheet.add("last sign of life", time(evidence.last_heartbeat_time));
    sheet.add("last poll", time(evidence.last_poll_time));
    sheet.add("last event", time(evidence.last_event_time));
    sheet.add("last delivery", time(evidence.last_delivery_time));
    sheet.add("observed", time(evidence.observe_time));
}
