//! `BatchGetHandoffStatus`: what is asked, and what is told of each.

use prost::Message;

use crate::app::App;
use crate::app::status::batch::ObservedBatch;
use crate::domain::ids::HandoffId;
use crate::domain::limits;
use crate::domain::refusal::Refusal;
use crate::domain::status::Observed;
use crate::grpc::check::Check;
use crate::grpc::encode_status;
use crate::proto::v1;

/// The ids of a request.
pub(super) fn ids(check: &mut Check, asked: &[String]) -> Vec<HandoffId> {
    check.at_most("handoff_ids", asked.len(), limits::HANDOFFS_PER_BATCH);
    let asked = asked.iter().take(limits::HANDOFFS_PER_BATCH).enumerate();
    asked
        .map(|(at, id)| check.id(&format!("handoff_ids[{at}]"), id))
        .collect()
}

/// The answer, in the order of asking. An id that is named again and again may still fill it.
pub(super) fn answer(
    app: &App,
    asked: &[HandoffId],
    batch: &ObservedBatch,
) -> v1::BatchGetHandoffStatusResponse {
    let mut answer = v1::BatchGetHandoffStatusResponse::default();
    let mut size = 0;
    for id in asked {
        let item = match batch.found.get(id) {
            Some(observed) => Some(known(app, *id, observed)),
            None if batch.cut => None,
            None => Some(unknown(*id)),
        };
        let item = item.filter(|item| {
            let fits = size == 0 || size + item.encoded_len() <= limits::PAGE_BYTES;
            size += if fits { item.encoded_len() } else { 0 };
            fits
        });
        match item {
            Some(item) => answer.items.push(item),
            None => answer.remaining_handoff_ids.push(id.to_string()),
        }
    }
    answer
}

fn known(app: &App, id: HandoffId, observed: &Observed) -> v1::HandoffStatusItem {
    v1::HandoffStatusItem {
        handoff_id: id.to_string(),
        snapshot: Some(encode_status::snapshot(
            observed,
            &app.assess(observed),
            app.rules(),
        )),
        ..v1::HandoffStatusItem::default()
    }
}

fn unknown(id: HandoffId) -> v1::HandoffStatusItem {
    v1::HandoffStatusItem {
        handoff_id: id.to_string(),
        snapshot: None,
        error_reason: v1::ErrorReason::HandoffNotFound.into(),
        error_message: Refusal::HandoffNotFound(id).to_string(),
    }
}
