//! `GetLineage`: what is told of a tree.

use crate::app::App;
use crate::app::status::lineage::{Kin, Lineage};
use crate::grpc::encode::opt_id;
use crate::grpc::encode_status;
use crate::proto::v1;

/// The answer. A node has some 4 KiB at most, so a page fits it.
pub(super) fn answer(app: &App, tree: &Lineage, next_page_token: String) -> v1::GetLineageResponse {
    let nodes = |kin: &[Kin]| kin.iter().map(|kin| node(app, kin)).collect();
    v1::GetLineageResponse {
        ancestors: nodes(&tree.ancestors),
        nodes: nodes(&tree.kin),
        next_page_token,
    }
}

fn node(app: &App, kin: &Kin) -> v1::LineageNode {
    let handoff = kin.handoff.as_ref();
    let summary = handoff.map(|(facts, now)| encode_status::summary(facts, *now, app.rules()));
    let attempt = handoff.map_or(0, |(facts, _)| facts.handoff.attempt);
    let Some(node) = &kin.node else {
        let summary_of = summary.clone().unwrap_or_default();
        return v1::LineageNode {
            parent_thread_id: summary_of.parent_thread_id,
            agent_id: summary_of.agent_id,
            title: summary_of.thread_title,
            handoff: summary,
            attempt,
            ..v1::LineageNode::default()
        };
    };
    let created_by = match node.by_operator {
        Some(true) => v1::TimelineActorKind::Operator,
        Some(false) => v1::TimelineActorKind::Thread,
        None => v1::TimelineActorKind::Unspecified,
    };
    v1::LineageNode {
        thread_id: node.thread_id.to_string(),
        parent_thread_id: opt_id(node.parent_thread_id.as_ref()),
        depth: node.depth,
        agent_id: node.agent_id.0.clone(),
        role: node.role.clone(),
        title: node.title.clone(),
        created_by: created_by.into(),
        handoff: summary,
        attempt,
    }
}
