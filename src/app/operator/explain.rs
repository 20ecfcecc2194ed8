//! `Explain`: the whole story of one handoff.

use std::sync::Arc;

use crate::app::App;
use crate::app::error::Error;
use crate::domain::handoffs::HandoffEvent;
use crate::domain::ids::{HandoffId, Namespace, ThreadId};
use crate::domain::refusal::Refusal;
use crate::domain::status::next::{NextStep, next_steps};
use crate::domain::status::stuck::{Stuck, stuck};
use crate::domain::status::{Observed, Texts, WaitingOn, assess};
use crate::store::reads::{status, stuck as reads, threads, timeline};

pub use crate::store::reads::stuck::SlotHolder;
pub use crate::store::reads::threads::ThreadView;

/// Newest entries of the timeline that are told.
const ENTRIES: u64 = 50;
/// Slot holders that are told.
const HOLDERS: i64 = 20;
/// What waits for what is followed so far down.
const STEPS: usize = 32;
/// Bytes that the handoffs on the way may take.
const BYTES: usize = 512 * 1024;

/// The story of a handoff.
#[derive(Debug)]
pub struct Explanation {
    /// Its status.
    pub observed: Arc<Observed>,
    /// Why a person should look at it.
    pub stuck: Option<Stuck>,
    /// What comes next if nobody touches it.
    pub next: Vec<NextStep>,
    /// Its child thread: mailbox, assignment, latest response.
    pub thread: Option<ThreadView>,
    /// What it waits for by way of its own children: each handoff waits for the one behind it, the oldest
    /// of those it waits for.
    pub chain: Vec<Observed>,
    /// Who holds the slots it waits for.
    pub slot_holders: Vec<SlotHolder>,
    /// The newest entries of its timeline, by number.
    pub entries: Vec<HandoffEvent>,
    /// Older entries exist.
    pub has_earlier: bool,
}

impl App {
    /// Tells everything that is known of a handoff.
    ///
    /// # Errors
    /// There is no such one; the database is away.
    pub async fn explain(
        &self,
        namespace: &Namespace,
        id: HandoffId,
    ) -> Result<Explanation, Error> {
        let observed = self.observe(namespace, id, Texts::OF_STATUS, None).await?;
        let (facts, now) = (&observed.facts, observed.now);
        let chain = self.chain(namespace, &observed).await?;
        let last = chain.last().unwrap_or(&observed);
        let waiting = assess(&last.facts, last.now, &self.rules).live;
        let slot_holders = match waiting.map(|live| live.waiting_on) {
            Some(WaitingOn::Slot { agent_id, .. }) => {
                reads::slot_holders(&*self.pool.place().await?, namespace, &agent_id, HOLDERS)
                    .await?
            }
            _ => Vec::new(),
        };
        let thread = match facts.handoff.child_thread_id {
            Some(thread) => self.child(namespace, thread).await?,
            None => None,
        };
        let earlier = facts.handoff.event_number.saturating_sub(ENTRIES);
        let limit = usize::try_from(ENTRIES).unwrap_or(usize::MAX);
        let entries =
            timeline::list(&*self.pool.place().await?, namespace, id, earlier, limit).await?;
        if entries.is_empty() {
            return Err(Refusal::HandoffNotFound(id).into());
        }
        Ok(Explanation {
            stuck: stuck(facts, now, &self.rules),
            next: next_steps(facts, now, &self.rules),
            thread,
            chain,
            slot_holders,
            has_earlier: earlier > 0,
            entries,
            observed,
        })
    }

    async fn child(
        &self,
        namespace: &Namespace,
        thread: ThreadId,
    ) -> Result<Option<ThreadView>, Error> {
        let found = threads::get(&*self.pool.place().await?, namespace, &[thread], true).await?;
        let mut found = found.into_iter().next();
        // Structured context may be larger than all the rest; GetThread has it.
        let assignment = found.as_mut().and_then(|thread| thread.assignment.as_mut());
        if let Some(assignment) = assignment {
            assignment.context_data = None;
        }
        Ok(found)
    }

    /// Follows what waits for its own children to the one that waits for something else.
    async fn chain(
        &self,
        namespace: &Namespace,
        observed: &Observed,
    ) -> Result<Vec<Observed>, Error> {
        let mut chain = Vec::new();
        let mut next = oldest_child(observed);
        while let Some(id) = next.filter(|_| chain.len() < STEPS) {
            let (place, asked) = (self.pool.place().await?, [id]);
            let read = status::read_within(&place, namespace, &asked, Texts::NONE, BYTES);
            let read = read.await?;
            let Some(found) = read.observed.into_iter().next() else {
                break;
            };
            next = oldest_child(&found);
            chain.push(found);
        }
        Ok(chain)
    }
}

/// The oldest of the handoffs that the child of `observed` waits for.
fn oldest_child(observed: &Observed) -> Option<HandoffId> {
    let idle = observed.facts.turn.is_none();
    observed.facts.children.first().copied().filter(|_| idle)
}
