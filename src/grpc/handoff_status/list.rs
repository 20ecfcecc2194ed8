//! `ListHandoffs`: what is asked for.

use std::time::Duration;

use crate::app::status::list::{Filter, LiveKind};
use crate::domain::handoffs::Status;
use crate::domain::limits;
use crate::grpc::check::Check;
use crate::grpc::page::Query;
use crate::grpc::request::Call;
use crate::proto::v1;

/// A filter by age is no older than this.
const AGE_MAX: Duration = Duration::from_hours(36_500 * 24);
/// Values of an enum that one filter may give: each several times would gain nothing.
const VALUES: usize = 32;

/// The filters of a request.
pub(in crate::grpc) fn filter(check: &mut Check, asked: &v1::ListHandoffsRequest) -> Filter {
    check.at_most("statuses", asked.statuses.len(), VALUES);
    check.at_most("live_states", asked.live_states.len(), VALUES);
    let text = check.text("text", asked.text.clone(), limits::LINE_CHARS);
    let mut age = |field: &str, age: Option<prost_types::Duration>| {
        age.map(|age| check.duration(field, age, AGE_MAX))
    };
    let (min_age, max_age) = (age("min_age", asked.min_age), age("max_age", asked.max_age));
    Filter {
        parent: check.opt_id("parent_thread_id", &asked.parent_thread_id),
        root: check.opt_id("root_thread_id", &asked.root_thread_id),
        agent: check.opt_agent_id("agent_id", asked.agent_id.clone()),
        include_closed: asked.include_closed,
        statuses: statuses(check, &asked.statuses),
        live: live(check, &asked.live_states),
        min_age,
        max_age,
        text: (!text.is_empty()).then_some(text),
    }
}

fn statuses(check: &mut Check, asked: &[i32]) -> Vec<Status> {
    let asked = asked.iter().take(VALUES).enumerate();
    asked
        .map(|(at, value)| {
            check.required_choice(&format!("statuses[{at}]"), *value, Status::Started)
        })
        .collect()
}

fn live(check: &mut Check, asked: &[i32]) -> Vec<LiveKind> {
    let mut kinds = Vec::new();
    for (at, value) in asked.iter().take(VALUES).enumerate() {
        match v1::LiveState::try_from(*value) {
            Ok(v1::LiveState::Running) => kinds.push(LiveKind::Running),
            Ok(v1::LiveState::Completed) => kinds.push(LiveKind::Completed),
            Ok(v1::LiveState::Stalled) => kinds.push(LiveKind::Stalled),
            Ok(v1::LiveState::ChildMissing) => kinds.push(LiveKind::ChildMissing),
            Ok(v1::LiveState::Unspecified) | Err(_) => check.wrong(
                &format!("live_states[{at}]"),
                "must be a value of the enum other than UNSPECIFIED",
            ),
        }
    }
    kinds
}

/// The query of a method that a token belongs to.
pub(in crate::grpc) fn query(call: &Call, method: &str, asked: &v1::ListHandoffsRequest) -> Query {
    let closed = if asked.include_closed { "all" } else { "open" };
    let values = |values: &[i32]| {
        let values = values.iter().map(ToString::to_string);
        values.collect::<Vec<_>>().join(",")
    };
    let age = |age: Option<prost_types::Duration>| {
        age.map_or_else(String::new, |age| format!("{}.{}", age.seconds, age.nanos))
    };
    Query::of(
        method,
        &[
            &call.namespace.0,
            &asked.parent_thread_id,
            &asked.root_thread_id,
            &asked.agent_id,
            closed,
            &values(&asked.statuses),
            &values(&asked.live_states),
            &age(asked.min_age),
            &age(asked.max_age),
            &asked.text,
        ],
    )
}

/// This list alone answers an empty page for nothing asked.
pub(super) fn size(size: Option<i32>) -> usize {
    size.map_or(limits::PAGE_DEFAULT, |size| {
        usize::try_from(size).unwrap_or(0).min(limits::PAGE_MAX)
    })
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn the_largest_page_of_handoffs_fits_an_answer() {
        let text = |characters| "\u{1f600}".repeat(characters);
        let id = || format!("hnd_{:032x}", 0);
        let time = prost_types::Timestamp {
            seconds: i64::MAX,
            nanos: i32::MAX,
        };
        let row = v1::HandoffSummary {
            handoff_id: id(),
            status: v1::HandoffStatus::MaterializeFailed.into(),
            live_state: Some(v1::LiveState::ChildMissing.into()),
            age: Some(prost_types::Duration {
                seconds: time.seconds,
                nanos: time.nanos,
            }),
            thread_id: id(),
            parent_thread_id: id(),
            agent_id: text(limits::NAME_CHARS),
            thread_title: text(limits::LINE_CHARS),
            reminders_sent: u32::MAX,
            outcome: Some(v1::Outcome::Abandoned.into()),
            create_time: Some(time),
        };
        assert!(row.encoded_len() * limits::PAGE_MAX <= limits::PAGE_BYTES);
    }
}
