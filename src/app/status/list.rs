//! `ListHandoffs`.

use uuid::Uuid;

use crate::app::App;
use crate::app::error::Error;
use crate::domain::ids::{HandoffId, Namespace};
use crate::domain::refusal::Refusal;
use crate::store::reads::handoffs;

pub use crate::store::reads::handoffs::{Filter, Page};

impl App {
    /// Lists handoffs by id, oldest first.
    ///
    /// # Errors
    /// A filter names nothing; the database is away.
    pub async fn list_handoffs(
        &self,
        namespace: &Namespace,
        filter: &Filter,
        after: Option<HandoffId>,
        size: usize,
    ) -> Result<Page, Error> {
        if size == 0 {
            let rows = Vec::new();
            return Ok(Page { rows, next: None });
        }
        let first = after.unwrap_or_else(|| HandoffId::from(Uuid::nil()));
        let page =
            handoffs::list(&*self.pool.place().await?, namespace, filter, first, size).await?;
        // Only an empty answer may come of a filter that names nothing.
        if page.rows.is_empty() && after.is_none() {
            self.check_filter(namespace, filter).await?;
        }
        Ok(page)
    }

    async fn check_filter(&self, namespace: &Namespace, filter: &Filter) -> Result<(), Error> {
        if let Some(parent) = filter.parent
            && !handoffs::has_thread(&*self.pool.place().await?, namespace, parent).await?
        {
            return Err(Refusal::ThreadNotFound(parent).into());
        }
        if let Some(agent) = &filter.agent
            && !handoffs::has_agent(&*self.pool.place().await?, namespace, agent).await?
        {
            return Err(Refusal::AgentNotFound(agent.0.clone()).into());
        }
        Ok(())
    }
}
