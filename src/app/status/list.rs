//! `ListHandoffs`.
//!
//! The live state is not stored, so it filters what was read: a page then goes through the list in
//! steps, and ends when it is full or when it looked at as many rows as any page may.

use std::time::Duration;

use crate::app::App;
use crate::app::error::Error;
use crate::domain::handoffs::Status;
use crate::domain::ids::{AgentId, Namespace, ThreadId};
use crate::domain::refusal::{Refusal, Violation};
use crate::domain::status::{Facts, LiveState, assess};
use crate::domain::time::Timestamp;
use crate::store::reads::{clock, handoffs, lists};

pub use crate::store::reads::lists::{Cursor, Page};
use lists::{Extent, Leading};

/// Rows that a page looks at where no index serves its filter.
const SCAN: usize = 5_000;
/// The same where it looks into tasks, which may be long.
const TEXT_SCAN: usize = 1_000;
/// Rows whose live state is computed at once.
const STEP: usize = 500;

/// A live state without its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveKind {
    /// It goes on by itself.
    Running,
    /// Only its closing is due.
    Completed,
    /// Nothing moves.
    Stalled,
    /// The child is gone.
    ChildMissing,
}

impl From<LiveState> for LiveKind {
    fn from(state: LiveState) -> Self {
        match state {
            LiveState::Running => Self::Running,
            LiveState::Completed => Self::Completed,
            LiveState::Stalled(_) => Self::Stalled,
            LiveState::ChildMissing => Self::ChildMissing,
        }
    }
}

/// Which handoffs, joined by AND.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this parent thread.
    pub parent: Option<ThreadId>,
    /// In the tree of this root thread.
    pub root: Option<ThreadId>,
    /// To this agent.
    pub agent: Option<AgentId>,
    /// Closed ones too.
    pub include_closed: bool,
    /// In one of these statuses; empty: as `include_closed` says.
    pub statuses: Vec<Status>,
    /// In one of these live states; empty: in any.
    pub live: Vec<LiveKind>,
    /// At least so old.
    pub min_age: Option<Duration>,
    /// At most so old.
    pub max_age: Option<Duration>,
    /// Title or task contain it.
    pub text: Option<String>,
}

impl Filter {
    fn closed(&self) -> bool {
        let wanted = if self.statuses.is_empty() {
            self.include_closed
        } else {
            self.statuses
                .iter()
                .any(|it| matches!(it, Status::Closed(_)))
        };
        // What is closed has no live state.
        wanted && self.live.is_empty()
    }

    /// The filter that an index serves; the others are held against what it finds.
    fn leading(&self) -> Leading {
        match (self.parent, self.root, &self.agent) {
            (Some(parent), _, _) => Leading::OfParent(parent),
            (None, Some(root), _) => Leading::OfRoot(root),
            (None, None, Some(agent)) if !self.closed() => Leading::OpenOfAgent(agent.clone()),
            (None, None, None) if !self.closed() => Leading::Open,
            (None, None, _) => Leading::All,
        }
    }

    fn scan(&self) -> usize {
        if self.text.is_some() { TEXT_SCAN } else { SCAN }
    }
}

impl App {
    /// Lists handoffs, oldest first.
    ///
    /// # Errors
    /// A filter names nothing; the database is away.
    pub async fn list_handoffs(
        &self,
        namespace: &Namespace,
        filter: &Filter,
        after: Option<Cursor>,
        size: usize,
    ) -> Result<Page, Error> {
        if size == 0 {
            return Ok(Page::default());
        }
        let mut page = Page::default();
        if self.is_in_tree(namespace, filter).await? {
            page = self.read_page(namespace, filter, after, size).await?;
        }
        // Only an empty answer may come of a filter that names nothing.
        if page.rows.is_empty() && after.is_none() {
            self.check_filter(namespace, filter).await?;
        }
        Ok(page)
    }

    async fn read_page(
        &self,
        namespace: &Namespace,
        filter: &Filter,
        after: Option<Cursor>,
        size: usize,
    ) -> Result<Page, Error> {
        let rest = self.rest_of(filter).await?;
        let leading = filter.leading();
        let (scan, after) = (filter.scan(), after.unwrap_or_default());
        if filter.live.is_empty() {
            let extent = Extent { size, scan };
            let place = self.pool.place().await?;
            return Ok(lists::list(&place, namespace, &leading, &rest, after, extent).await?);
        }
        let mut page = Page {
            rows: Vec::new(),
            next: Some(after),
        };
        let extent = Extent {
            size: STEP,
            scan: STEP,
        };
        for _ in 0..scan / STEP {
            let Some(from) = page.next.take() else { break };
            let place = self.pool.place().await?;
            let read = lists::list(&place, namespace, &leading, &rest, from, extent).await?;
            page.next = read.next;
            for row in read.rows {
                if page.rows.len() == size {
                    let last = page.rows.last();
                    page.next = last.map(|(facts, _)| leading.behind(facts));
                    return Ok(page);
                }
                if self.is_live(filter, &row) {
                    page.rows.push(row);
                }
            }
        }
        Ok(page)
    }

    fn is_live(&self, filter: &Filter, (facts, now): &(Facts, Timestamp)) -> bool {
        let live = assess(facts, *now, &self.rules).live;
        live.is_some_and(|live| filter.live.contains(&live.state.into()))
    }

    /// What is left to filter, in the database's time.
    async fn rest_of(&self, filter: &Filter) -> Result<lists::Filter, Error> {
        let now = match (filter.min_age, filter.max_age) {
            (None, None) => None,
            _ => Some(clock::now(&*self.pool.place().await?).await?),
        };
        let ago = |age: Option<Duration>| now.zip(age).map(|(now, age)| now - age);
        Ok(lists::Filter {
            closed: filter.closed(),
            agent: filter.agent.clone(),
            statuses: filter.statuses.clone(),
            created_until: ago(filter.min_age),
            created_since: ago(filter.max_age),
            text: filter.text.clone(),
        })
    }

    /// A parent of another tree has no handoff of this one.
    async fn is_in_tree(&self, namespace: &Namespace, filter: &Filter) -> Result<bool, Error> {
        let (Some(parent), Some(root)) = (filter.parent, filter.root) else {
            return Ok(true);
        };
        let found = handoffs::root_of(&*self.pool.place().await?, namespace, parent).await?;
        Ok(found == Some(root))
    }

    async fn check_filter(&self, namespace: &Namespace, filter: &Filter) -> Result<(), Error> {
        for thread in [filter.parent, filter.root].into_iter().flatten() {
            let root = handoffs::root_of(&*self.pool.place().await?, namespace, thread).await?;
            let root = root.ok_or(Refusal::ThreadNotFound(thread))?;
            if Some(thread) == filter.root && root != thread {
                let wrong = format!("is no root thread; its root is `{root}`");
                let wrong = Violation::new("root_thread_id", wrong);
                return Err(Error::Invalid(vec![wrong]));
            }
        }
        if let Some(agent) = &filter.agent
            && !handoffs::has_agent(&*self.pool.place().await?, namespace, agent).await?
        {
            return Err(Refusal::AgentNotFound(agent.0.clone()).into());
        }
        Ok(())
    }
}
