//! Reads of agents.

use super::App;
use super::error::Error;
use crate::domain::ids::{AgentId, Namespace};
use crate::domain::refusal::Refusal;
use crate::store::reads::agents;

pub use crate::store::reads::agents::AgentView;

impl App {
    /// Reads an agent.
    ///
    /// # Errors
    /// There is none.
    pub async fn agent(&self, namespace: &Namespace, id: &AgentId) -> Result<AgentView, Error> {
        let found = agents::get(
            &*self.pool.place().await?,
            namespace,
            std::slice::from_ref(&id.0),
        )
        .await?;
        let agent = found.into_iter().next();
        agent.ok_or_else(|| Refusal::AgentNotFound(id.0.clone()).into())
    }

    /// Reads at most `limit` agents after an id, by the bytes of their ids, and whether more follow.
    ///
    /// # Errors
    /// The database is away.
    pub async fn agents(
        &self,
        namespace: &Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<AgentView>, bool), Error> {
        let after = after.unwrap_or_default();
        let mut ids =
            agents::list_ids(&*self.pool.place().await?, namespace, after, limit + 1).await?;
        let more = ids.len() > limit;
        ids.truncate(limit);
        Ok((
            agents::get(&*self.pool.place().await?, namespace, &ids).await?,
            more,
        ))
    }
}
