//! `StatusService`: tells the truth about handoffs, and changes nothing.

mod batch;
mod lineage;
pub(super) mod list;
mod stats;

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::check::Check;
use super::page::Query;
use super::request::Call;
use super::{encode_status, encode_timeline};
use crate::app::App;
use crate::app::status::Texts;
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
            snapshot: Some(encode_status::snapshot(
                &observed,
                &assessment,
                self.app.rules(),
            )),
        }))
    }

    async fn batch_get_handoff_status(
        &self,
        request: Request<v1::BatchGetHandoffStatusRequest>,
    ) -> Result<Response<v1::BatchGetHandoffStatusResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let asked = batch::ids(&mut check, &message.handoff_ids);
        let asked = check.finish(asked)?;
        let found = self
            .app
            .observe_batch(&call.namespace, &asked, call.deadline)
            .await?;
        Ok(Response::new(batch::answer(&self.app, &asked, &found)))
    }

    async fn list_handoffs(
        &self,
        request: Request<v1::ListHandoffsRequest>,
    ) -> Result<Response<v1::ListHandoffsResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let filter = list::filter(&mut check, &message);
        let filter = check.finish(filter)?;
        let query = list::query(&call, "ListHandoffs", &message);
        let after = query.after(&message.page_token, |last| last.parse().ok())?;
        let size = list::size(message.page_size);
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

    async fn get_lineage(
        &self,
        request: Request<v1::GetLineageRequest>,
    ) -> Result<Response<v1::GetLineageResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let id = check.id("handoff_id", &message.handoff_id);
        let size = check.page_size(message.page_size);
        let (id, size) = check.finish((id, size))?;
        let query = Query::of("GetLineage", &[&call.namespace.0, &message.handoff_id]);
        let after = query.after(&message.page_token, |last| last.parse().ok())?;
        let tree = self.app.lineage(&call.namespace, id, after, size).await?;
        let next = tree.next.map(|last| query.token(&last.to_string()));
        Ok(Response::new(lineage::answer(
            &self.app,
            &tree,
            next.unwrap_or_default(),
        )))
    }

    async fn get_stats(
        &self,
        request: Request<v1::GetStatsRequest>,
    ) -> Result<Response<v1::GetStatsResponse>, Status> {
        let (call, _) = Call::open(request)?;
        let counted = self.app.stats(&call.namespace).await?;
        Ok(Response::new(v1::GetStatsResponse {
            stats: Some(stats::encode(counted)),
        }))
    }
}
