//! `BulkCancel`: what is asked, and what is told of each handoff.

use tonic::Status;
use tonic_types::StatusExt;

use crate::app::App;
use crate::app::error::Error;
use crate::app::operator::bulk_cancel::{BulkCancel, BulkCancelled, BulkPage};
use crate::app::status::list::Filter;
use crate::domain::handoffs::Status as Stored;
use crate::domain::limits;
use crate::grpc::check::Check;
use crate::grpc::encode_status;
use crate::grpc::handoff_status::list;
use crate::grpc::page::Query;
use crate::grpc::request::Call;
use crate::proto::v1;

/// What a confirm token says instead of an id: it is about the filter alone.
const CONFIRMED: &str = "confirmed";

/// The filters of a request, as a list has them.
pub(super) fn listing(asked: &v1::BulkCancelRequest) -> v1::ListHandoffsRequest {
    v1::ListHandoffsRequest {
        parent_thread_id: asked.parent_thread_id.clone(),
        root_thread_id: asked.root_thread_id.clone(),
        agent_id: asked.agent_id.clone(),
        statuses: asked.statuses.clone(),
        live_states: asked.live_states.clone(),
        min_age: asked.min_age,
        max_age: asked.max_age,
        text: asked.text.clone(),
        ..v1::ListHandoffsRequest::default()
    }
}

/// The query that the token of a dry run belongs to.
pub(super) fn confirming(call: &Call, listing: &v1::ListHandoffsRequest) -> Query {
    list::query(call, "BulkCancel/confirm", listing)
}

/// The token of a dry run.
pub(super) fn confirm_token(query: &Query) -> String {
    query.token(CONFIRMED)
}

/// What is asked.
pub(super) fn command(check: &mut Check, call: &Call, asked: &v1::BulkCancelRequest) -> BulkCancel {
    let listing = listing(asked);
    let filter = list::filter(check, &listing);
    if is_everything(&listing) {
        check.wrong(
            "filters",
            "at least one filter must be given, or every open handoff would be cancelled",
        );
    }
    for (at, status) in filter.statuses.iter().enumerate() {
        if matches!(status, Stored::Closed(_)) {
            let wrong = "is a terminal status, and only open handoffs are cancelled";
            check.wrong(&format!("statuses[{at}]"), wrong);
        }
    }
    let dry_run = asked.confirm_token.is_empty();
    let read = |text: &str| (text == CONFIRMED).then_some(());
    if confirming(call, &listing)
        .after(&asked.confirm_token, read)
        .is_err()
    {
        check.wrong(
            "confirm_token",
            "must be what a dry run with the same filters answered",
        );
    }
    BulkCancel {
        filter: Filter {
            include_closed: false,
            ..filter
        },
        dry_run,
        reason: check.text("reason", asked.reason.clone(), limits::TEXT_CHARS),
        stop_child: asked.stop_child,
        wake_parent: asked.wake_parent,
    }
}

fn is_everything(listing: &v1::ListHandoffsRequest) -> bool {
    *listing == v1::ListHandoffsRequest::default()
}

/// What became of each handoff.
pub(super) fn items(app: &App, page: &BulkPage) -> Vec<v1::BulkCancelItem> {
    page.handoffs.iter().map(|it| item(app, it)).collect()
}

fn item(app: &App, found: &BulkCancelled) -> v1::BulkCancelItem {
    let mut item = v1::BulkCancelItem {
        handoff: Some(encode_status::summary(&found.facts, found.now, app.rules())),
        ..v1::BulkCancelItem::default()
    };
    match &found.result {
        None => {}
        Some(Ok(cancelled)) => {
            item.cancelled = !cancelled.already_ended;
            item.already_ended = cancelled.already_ended;
        }
        Some(Err(error)) => {
            let (reason, message) = told(error);
            item.error_reason = reason.into();
            item.error_message = message;
        }
    }
    item
}

/// Reason and sentence, as the call of the one handoff would have been told them.
fn told(error: &Error) -> (v1::ErrorReason, String) {
    let status = Status::from(error.clone());
    let details = status.get_error_details();
    let reason = details.error_info().map(|info| &info.reason);
    let name = reason.map(|reason| format!("ERROR_REASON_{reason}"));
    let reason = name.and_then(|name| v1::ErrorReason::from_str_name(&name));
    (reason.unwrap_or_default(), status.message().to_owned())
}
