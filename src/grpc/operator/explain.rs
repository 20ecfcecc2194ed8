//! `Explain`, as the wire spells it.

use crate::app::App;
use crate::app::operator::{Explanation, SlotHolder};
use crate::domain::status::Observed;
use crate::domain::status::next::{NextKind, NextStep};
use crate::grpc::encode::{opt_id, timestamp};
use crate::grpc::{encode_status, encode_timeline, threads};
use crate::proto::v1;

/// The whole story. Status, thread and timeline of one handoff take 2 MiB at most, and the 32 handoffs it
/// may wait for 10 KiB each, so it fits an answer.
pub(super) fn encode(app: &App, story: Explanation) -> v1::Explanation {
    let handoff = &story.observed.facts.handoff;
    let stuck = story.stuck.as_ref().map(|stuck| v1::StuckItem {
        handoff_id: handoff.handoff_id.to_string(),
        thread_id: opt_id(handoff.child_thread_id.as_ref()),
        agent_id: handoff.agent_id.0.clone(),
        title: handoff.title.clone(),
        ..super::stuck::of(stuck, Some(story.observed.now))
    });
    v1::Explanation {
        snapshot: Some(snapshot(app, &story.observed)),
        stuck,
        next_steps: story.next.iter().map(next_step).collect(),
        thread: story.thread.map(threads::encode),
        waits_for: story.chain.iter().map(|it| snapshot(app, it)).collect(),
        slot_holders: story.slot_holders.iter().map(slot_holder).collect(),
        entries: story.entries.iter().map(encode_timeline::entry).collect(),
        has_earlier_entries: story.has_earlier,
    }
}

fn snapshot(app: &App, observed: &Observed) -> v1::HandoffSnapshot {
    encode_status::snapshot(observed, &app.assess(observed), app.rules())
}

fn next_step(step: &NextStep) -> v1::NextStep {
    let kind = match step.kind {
        NextKind::LeaseEnd => v1::NextStepKind::LeaseEnd,
        NextKind::Wake => v1::NextStepKind::Wake,
        NextKind::Stalled => v1::NextStepKind::Stalled,
        NextKind::Reminder => v1::NextStepKind::Reminder,
        NextKind::Abandonment => v1::NextStepKind::Abandonment,
        NextKind::Look => v1::NextStepKind::Look,
        NextKind::WatchEnd => v1::NextStepKind::WatchEnd,
        NextKind::Deadline => v1::NextStepKind::Deadline,
        NextKind::CollectionEnd => v1::NextStepKind::CollectionEnd,
    };
    v1::NextStep {
        kind: kind.into(),
        time: Some(timestamp(step.time)),
    }
}

fn slot_holder(holder: &SlotHolder) -> v1::SlotHolder {
    v1::SlotHolder {
        turn_id: holder.turn_id.to_string(),
        thread_id: holder.thread_id.to_string(),
        handoff_id: opt_id(holder.handoff_id.as_ref()),
        runtime_id: holder.runtime_id.clone(),
        running: holder.running,
        claim_time: Some(timestamp(holder.claim_time)),
        lease_expire_time: Some(timestamp(holder.lease_expire_time)),
    }
}
