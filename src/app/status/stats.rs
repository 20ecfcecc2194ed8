//! `GetStats`: counts and times of a tenant. Everything is read over a bounded number of rows, and the
//! answer says where there were more. A server counts for one caller at a time: these are dear reads.

use std::collections::BTreeMap;

use crate::app::App;
use crate::app::error::Error;
use crate::domain::handoffs::Status;
use crate::domain::ids::{AgentId, HandoffId, Namespace};
use crate::domain::status::assess;
use crate::domain::time::Timestamp;
use crate::store::reads::lists::{self, Extent, Leading};
use crate::store::reads::{clock, stats};

use super::list::{Cursor, LiveKind};

pub use crate::store::reads::stats::Spans;

/// Open handoffs and due wakes that are counted.
const COUNTED: u64 = 100_000;
/// Open handoffs whose live state is computed, and how many at once.
const ASSESSED: usize = 5_000;
const STEP: usize = 500;
/// Newest handoffs and turns whose times are told.
const SAMPLE: i64 = 1_000;

/// One agent's part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentStats {
    /// Open handoffs that no turn began.
    pub started: u64,
    /// Open handoffs with a turn, now or before.
    pub running: u64,
    /// When the oldest open one was created.
    pub oldest_open: Option<Timestamp>,
    /// Threads whose turn is due.
    pub queued: u64,
    /// Since when the oldest of them is due.
    pub oldest_wake: Option<Timestamp>,
}

/// Counts and times of a tenant.
#[derive(Clone, Debug)]
pub struct Stats {
    /// The database's time.
    pub now: Timestamp,
    /// By agent.
    pub agents: BTreeMap<AgentId, AgentStats>,
    /// All open handoffs and due wakes were counted.
    pub counted_all: bool,
    /// Open handoffs by live state.
    pub live: Vec<(LiveKind, u64)>,
    /// All open handoffs are among these.
    pub assessed_all: bool,
    /// The open handoff that was created first.
    pub oldest_open: Option<(HandoffId, Timestamp)>,
    /// How the newest handoffs stand or ended.
    pub newest: Vec<(Status, u64)>,
    /// How long the newest handoffs waited for their first turn.
    pub time_to_claim: Spans,
    /// How long the newest turns took.
    pub turn_time: Spans,
}

impl App {
    /// Counts what is open, and how long things take.
    ///
    /// # Errors
    /// The database is away.
    pub async fn stats(&self, namespace: &Namespace) -> Result<Stats, Error> {
        let Ok(_turn) = self.counts.acquire().await else {
            return Err(Error::Draining);
        };
        let now = clock::now(&*self.pool.place().await?).await?;
        let (agents, counted_all) = self.by_agent(namespace).await?;
        // A place each, one after the other: a temporary of one expression would hold all three.
        let newest = stats::ends(&*self.pool.place().await?, namespace, SAMPLE).await?;
        let time_to_claim = stats::claims(&*self.pool.place().await?, namespace, SAMPLE).await?;
        let turn_time = stats::turns(&*self.pool.place().await?, namespace, SAMPLE).await?;
        let mut stats = Stats {
            now,
            agents,
            counted_all,
            live: Vec::new(),
            assessed_all: false,
            oldest_open: None,
            newest,
            time_to_claim,
            turn_time,
        };
        self.assess_open(namespace, &mut stats).await?;
        Ok(stats)
    }

    async fn by_agent(
        &self,
        namespace: &Namespace,
    ) -> Result<(BTreeMap<AgentId, AgentStats>, bool), Error> {
        let rows = i64::try_from(COUNTED).unwrap_or(i64::MAX);
        let mut agents: BTreeMap<AgentId, AgentStats> = BTreeMap::new();
        let (mut open, mut queued) = (0, 0);
        for found in stats::open(&*self.pool.place().await?, namespace, rows).await? {
            let agent = agents.entry(found.agent_id).or_default();
            let of_status = match found.status {
                Status::Started => &mut agent.started,
                Status::Running
                | Status::FirstResponse
                | Status::WatchExpired
                | Status::Closed(_) => &mut agent.running,
            };
            *of_status += found.count;
            open += found.count;
            let oldest = agent
                .oldest_open
                .map_or(found.oldest, |it| it.min(found.oldest));
            agent.oldest_open = Some(oldest);
        }
        for found in stats::queue(&*self.pool.place().await?, namespace, rows).await? {
            let agent = agents.entry(found.agent_id).or_default();
            agent.queued = found.count;
            agent.oldest_wake = Some(found.oldest);
            queued += found.count;
        }
        Ok((agents, open < COUNTED && queued < COUNTED))
    }

    /// Counts live states, and finds the oldest open handoff on the way.
    async fn assess_open(&self, namespace: &Namespace, stats: &mut Stats) -> Result<(), Error> {
        let kinds = [
            LiveKind::Running,
            LiveKind::Completed,
            LiveKind::Stalled,
            LiveKind::ChildMissing,
        ];
        stats.live = kinds.map(|kind| (kind, 0)).to_vec();
        let all = lists::Filter::default();
        let extent = Extent {
            size: STEP,
            scan: STEP,
        };
        let mut next = Some(Cursor::default());
        for _ in 0..ASSESSED / STEP {
            let Some(after) = next else { break };
            let place = self.pool.place().await?;
            let page = lists::list(&place, namespace, &Leading::Open, &all, after, extent);
            let page = page.await?;
            next = page.next;
            for (facts, now) in page.rows {
                let handoff = &facts.handoff;
                let first = (handoff.handoff_id, handoff.create_time);
                stats.oldest_open.get_or_insert(first);
                let live = assess(&facts, now, &self.rules).live;
                let kind = live.map(|live| LiveKind::from(live.state));
                let count = stats.live.iter_mut().find(|(it, _)| Some(*it) == kind);
                if let Some((_, count)) = count {
                    *count += 1;
                }
            }
        }
        stats.assessed_all = next.is_none();
        Ok(())
    }
}
