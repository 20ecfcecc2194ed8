//! `StatusService`: tells the truth about handoffs, and changes nothing.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::check::Check;
use super::page::Query;
use super::request::Call;
use super::{encode_status, encode_timeline};
use crate::app::App;
use crate::app::status::Texts;
use crate::app::status::list::Filter;
use crate::domain::limits;
use crate::proto::v1;
use crate::proto::v1::status_service_server::StatusService;

/// See the module.
#[derive(Debug)]
pub struct HandoffStatuses {
    app: Arc<App>,
}

impl HandoffStatuses {
    /// The service over `app`.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl StatusService for HandoffStatuses {
    async fn get_handoff_status(
        &self,
        request: Request<v1::GetHandoffStatusRequest>,
    ) -> Result<Response<v1::GetHandoffStatusResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let id = check.id("handoff_id", &message.handoff_id);
        let id = check.finish(id)?;
        let observed = self
            .app
            .observe(&call.namespace, id, Texts::OF_STATUS, call.deadline)
            .await?;
        let assessment = self.app.assess(&observed);
        Ok(Response::new(v1::GetHandoffStatusResponse {
            snapshot: Some(encode_status::snapshot(&observed, &assessment)),
        }))
    }

    async fn list_handoffs(
        &self,
        request: Request<v1::ListHandoffsRequest>,
    ) -> Result<Response<v1::ListHandoffsResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let filter = Filter {
            parent: check.opt_id("parent_thread_id", &message.parent_thread_id),
            agent: check.opt_agent_id("agent_id", message.agent_id.clone()),
            include_closed: message.include_closed,
        };
        let filter = check.finish(filter)?;
        let closed = if filter.include_closed { "all" } else { "open" };
        let query = Query::of(
            "ListHandoffs",
            &[
                &call.namespace.0,
                &message.parent_thread_id,
                &message.agent_id,
                closed,
            ],
        );
        let after = query.after(&message.page_token, |last| last.parse().ok())?;
        let size = list_size(message.page_size);
        let page = self
            .app
            .list_handoffs(&call.namespace, &filter, after, size)
            .await?;
        let rules = self.app.rules();
        // The largest page fits an answer, see the test.
        let rows = page
            .rows
            .iter()
            .map(|(facts, now)| encode_status::summary(facts, *now, rules));
        Ok(Response::new(v1::ListHandoffsResponse {
            handoffs: rows.collect(),
            next_page_token: page
                .next
                .map(|last| query.token(&last.to_string()))
                .unwrap_or_default(),
        }))
    }

    async fn get_handoff_timeline(
        &self,
        request: Request<v1::GetHandoffTimelineRequest>,
    ) -> Result<Response<v1::GetHandoffTimelineResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let id = check.id("handoff_id", &message.handoff_id);
        let size = check.page_size(message.page_size);
        let (id, size) = check.finish((id, size))?;
        let timeline = self
            .app
            .timeline(&call.namespace, id, message.after_number, size)
            .await?;
        Ok(Response::new(v1::GetHandoffTimelineResponse {
            entries: timeline
                .entries
                .iter()
                .map(encode_timeline::entry)
                .collect(),
            has_more: timeline.has_more,
        }))
    }
}

/// This list alone answers an empty page for nothing asked.
fn list_size(size: Option<i32>) -> usize {
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
