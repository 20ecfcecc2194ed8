//! Reads of threads and their history.

use super::App;
use super::error::Error;
use crate::domain::ids::{AgentId, Namespace, ThreadId};
use crate::domain::limits;
use crate::domain::refusal::Refusal;
use crate::store::reads::threads::{Candidate, ThreadsOf};
use crate::store::reads::{events, threads};

pub use crate::store::reads::events::EventView;
pub use crate::store::reads::threads::ThreadView;

/// Threads that one page looks at, however few of them it shows.
const LOOKED_AT: usize = limits::PAGE_MAX;

/// What a list of threads shows. Filters are joined by AND.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFilter {
    /// Only threads of this agent.
    pub agent: Option<AgentId>,
    /// Only direct children of this thread.
    pub parent: Option<ThreadId>,
    /// Also threads that are not on the default list.
    pub unlisted: bool,
    /// Also hidden threads.
    pub hidden: bool,
}

/// A page of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadPage {
    /// The threads, by id.
    pub threads: Vec<ThreadView>,
    /// Where the next page goes on; none after the last.
    pub next: Option<ThreadId>,
}

/// A page of history.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPage {
    /// The entries, by number.
    pub events: Vec<EventView>,
    /// Last number of the whole history.
    pub last_number: u64,
}

impl ThreadFilter {
    fn shows(&self, thread: &Candidate) -> bool {
        (thread.listed || self.unlisted)
            && (!thread.hidden || self.hidden)
            && self
                .agent
                .as_ref()
                .is_none_or(|agent| *agent == thread.agent_id)
    }

    /// The filter that an index serves; the others are held against what it finds.
    fn leading(&self) -> ThreadsOf {
        match (self.parent, &self.agent) {
            (Some(parent), _) => ThreadsOf::Parent(parent),
            (None, Some(agent)) => ThreadsOf::Agent(agent.clone()),
            (None, None) => ThreadsOf::Everybody,
        }
    }
}

impl App {
    /// Reads a thread.
    ///
    /// # Errors
    /// There is none.
    pub async fn thread(&self, namespace: &Namespace, id: ThreadId) -> Result<ThreadView, Error> {
        let found = threads::get(&*self.pool.place().await?, namespace, &[id], true).await?;
        let thread = found.into_iter().next();
        thread.ok_or_else(|| Refusal::ThreadNotFound(id).into())
    }

    /// Reads a page of threads after an id.
    ///
    /// # Errors
    /// A filter names nothing.
    pub async fn threads(
        &self,
        namespace: &Namespace,
        filter: &ThreadFilter,
        after: Option<ThreadId>,
        limit: usize,
    ) -> Result<ThreadPage, Error> {
        let of = filter.leading();
        let found =
            threads::list(&*self.pool.place().await?, namespace, &of, after, LOOKED_AT).await?;
        if found.is_empty() && after.is_none() {
            self.names_something(namespace, filter).await?;
        }
        let mut shown = Vec::new();
        let mut looked_at = found.iter();
        let mut last = None;
        for candidate in looked_at.by_ref() {
            last = Some(candidate.thread_id);
            if filter.shows(candidate) {
                shown.push(candidate.thread_id);
            }
            if shown.len() == limit {
                break;
            }
        }
        let more = looked_at.next().is_some() || found.len() == LOOKED_AT;
        let mut threads =
            threads::get(&*self.pool.place().await?, namespace, &shown, false).await?;
        threads.retain(|thread| thread.delete_time.is_none());
        Ok(ThreadPage {
            threads,
            next: last.filter(|_| more),
        })
    }

    async fn names_something(
        &self,
        namespace: &Namespace,
        filter: &ThreadFilter,
    ) -> Result<(), Error> {
        if let Some(agent) = &filter.agent {
            self.agent(namespace, agent).await?;
        }
        if let Some(parent) = filter.parent {
            self.thread(namespace, parent).await?;
        }
        Ok(())
    }

    /// Reads at most `limit` entries of a thread's history above a number.
    ///
    /// # Errors
    /// There is no such thread.
    pub async fn events(
        &self,
        namespace: &Namespace,
        thread_id: ThreadId,
        after: u64,
        limit: usize,
    ) -> Result<EventPage, Error> {
        let known = events::last_number(&*self.pool.place().await?, namespace, thread_id).await?;
        let known = known.ok_or(Refusal::ThreadNotFound(thread_id))?;
        let events = events::list(
            &*self.pool.place().await?,
            namespace,
            thread_id,
            after,
            limit,
        )
        .await?;
        let read = events.last().map_or(0, |newest| newest.event.number);
        Ok(EventPage {
            events,
            last_number: known.max(read),
        })
    }
}
