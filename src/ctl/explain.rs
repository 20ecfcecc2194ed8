//! `handoffd explain`: the whole story of one handoff.

use clap::Args;

use super::output::{Sheet, table};
use super::show::{hint, live, time, waiting, word};
use super::{CommonArgs, CtlError, status, timeline};
use crate::proto::v1::{
    ExplainRequest, ExplainResponse, Explanation, GetHandoffTimelineResponse, HandoffSnapshot,
    NextStepKind, SlotHolder, StuckKind, Thread, ThreadState,
};
use crate::redact;

/// What `explain` takes.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The handoff, `hnd_...`
    handoff: String,
}

pub(super) async fn explain(args: ExplainArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let request = ExplainRequest {
        handoff_id: args.handoff,
    };
    let answer = client.operators().explain(request).await?;
    output.answer(&answer.into_inner(), text)
}

fn text(answer: &ExplainResponse) -> String {
    let story = answer.explanation.clone().unwrap_or_default();
    let mut parts = vec![summary(&story)];
    if !story.waits_for.is_empty() {
        let header = ["IT WAITS FOR", "AGENT", "STATE", "WHICH WAITS FOR"];
        let rows = story.waits_for.iter().map(waited_for);
        parts.push(table(header, rows.collect()));
    }
    if !story.slot_holders.is_empty() {
        let header = [
            "SLOTS ARE HELD BY",
            "HANDOFF",
            "RUNTIME",
            "SINCE",
            "LEASE ENDS",
        ];
        let rows = story.slot_holders.iter().map(holder);
        parts.push(table(header, rows.collect()));
    }
    if story.has_earlier_entries {
        parts.push("the newest entries; `handoffd timeline` has the older ones".to_owned());
    }
    parts.push(timeline::text(&GetHandoffTimelineResponse {
        entries: story.entries,
        has_more: false,
    }));
    parts.join("\n\n")
}

fn summary(story: &Explanation) -> String {
    let mut sheet = Sheet::default();
    if let Some(stuck) = &story.stuck {
        sheet.add("stuck", word(stuck.kind, StuckKind::as_str_name));
        sheet.add_some("what to do", stuck.remedy.as_ref().map(hint));
    }
    if let Some(snapshot) = &story.snapshot {
        status::add_snapshot(&mut sheet, snapshot);
    }
    for step in &story.next_steps {
        let kind = word(step.kind, NextStepKind::as_str_name);
        sheet.add(&format!("next: {kind}"), time(step.time));
    }
    if let Some(thread) = &story.thread {
        add_thread(&mut sheet, thread);
    }
    sheet.text()
}

fn add_thread(sheet: &mut Sheet, thread: &Thread) {
    sheet.add("thread is", word(thread.state, ThreadState::as_str_name));
    sheet.add("unread mail", thread.unread_count.to_string());
    if let Some(assignment) = &thread.assignment {
        sheet.add(
            "task",
            super::show::excerpt(&assignment.task, status::EXCERPT),
        );
    }
}

fn waited_for(snapshot: &HandoffSnapshot) -> [String; 4] {
    let handoff = snapshot.handoff.clone().unwrap_or_default();
    let progress = snapshot.progress.clone().unwrap_or_default();
    let waits = progress.waiting_on.as_ref().map(waiting);
    [
        handoff.handoff_id,
        redact::line(&handoff.agent_id),
        live(&progress),
        waits.unwrap_or_default(),
    ]
}

fn holder(holder: &SlotHolder) -> [String; 5] {
    [
        holder.turn_id.clone(),
        holder.handoff_id.clone(),
        redact::line(&holder.runtime_id),
        time(holder.claim_time),
        time(holder.lease_expire_time),
    ]
}
