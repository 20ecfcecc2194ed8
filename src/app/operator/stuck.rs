//! `ListStuck`: what a person should look at.
//!
//! Whether work is stuck follows from its live state, which is not stored. So a page goes through open
//! handoffs, oldest first, and ends when it found enough or looked at as many as any page may. It is
//! sorted, worst first; what is stuck besides handoffs is told with the first page.

use std::time::Duration;

use crate::app::App;
use crate::app::error::Error;
use crate::app::status::list::Cursor;
use crate::domain::ids::{AgentId, HandoffId, Namespace, ThreadId};
use crate::domain::status::HintAction;
use crate::domain::status::stuck::{Stuck, StuckKind, stuck};
use crate::domain::time::Timestamp;
use crate::store::reads::clock;
use crate::store::reads::lists::{self, Extent, Leading};
use crate::store::reads::stuck::{self as reads, HeldAgent, MailSetAside, PutOff};

/// Open handoffs that a page looks at, and how many at once.
const LOOKED_AT: usize = 5_000;
const STEP: usize = 500;
/// Threads with mail that was set aside, agents with held mail, effects: so many of each.
const OTHERS: i64 = 100;
/// Mail that was set aside is told for so long after it was sent: nobody can undo it.
const TOLD_FOR: Duration = Duration::from_hours(7 * 24);

/// Something a person should look at, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckItem {
    /// Why, since when, what helps.
    pub stuck: Stuck,
    /// The handoff, where it is about one.
    pub handoff_id: Option<HandoffId>,
    /// The thread it is about.
    pub thread_id: Option<ThreadId>,
    /// The agent it is about.
    pub agent_id: Option<AgentId>,
    /// Title of the handoff.
    pub title: String,
    /// How many messages, threads or tries.
    pub count: u64,
}

/// A page of what is stuck.
#[derive(Debug, Default)]
pub struct StuckPage {
    /// The items, worst first, of one kind the longest stuck first.
    pub items: Vec<StuckItem>,
    /// The database's time.
    pub now: Option<Timestamp>,
    /// Open handoffs that were looked at.
    pub looked_at: u64,
    /// Where the next page begins; none where all were looked at.
    pub next: Option<Cursor>,
}

impl App {
    /// Finds what a person should look at, some `size` of it.
    ///
    /// # Errors
    /// The database is away.
    pub async fn stuck(
        &self,
        namespace: &Namespace,
        after: Option<Cursor>,
        size: usize,
    ) -> Result<StuckPage, Error> {
        let Ok(_turn) = self.counts.acquire().await else {
            return Err(Error::Draining);
        };
        let mut page = StuckPage::default();
        let now = clock::now(&*self.pool.place().await?).await?;
        page.now = Some(now);
        if after.is_none() {
            page.items = self.stuck_besides(namespace, now).await?;
        }
        let others = page.items.len();
        let all = lists::Filter::default();
        let extent = Extent {
            size: STEP,
            scan: STEP,
        };
        page.next = Some(after.unwrap_or_default());
        for _ in 0..LOOKED_AT / STEP {
            let Some(from) = page.next.take() else { break };
            let place = self.pool.place().await?;
            let read = lists::list(&place, namespace, &Leading::Open, &all, from, extent);
            let read = read.await?;
            page.next = read.next;
            for (facts, now) in read.rows {
                page.looked_at += 1;
                let found = stuck(&facts, now, &self.rules);
                page.items.extend(found.map(|stuck| StuckItem {
                    stuck,
                    handoff_id: Some(facts.handoff.handoff_id),
                    thread_id: facts.handoff.child_thread_id,
                    agent_id: Some(facts.handoff.agent_id.clone()),
                    title: facts.handoff.title.clone(),
                    count: 0,
                }));
                if page.items.len() - others == size {
                    page.next = Some(Leading::Open.behind(&facts));
                    break;
                }
            }
            if page.items.len() - others == size {
                break;
            }
        }
        page.items.sort_by_key(|it| (it.stuck.kind, it.stuck.since));
        Ok(page)
    }

    /// What is stuck and is no handoff.
    async fn stuck_besides(
        &self,
        namespace: &Namespace,
        now: Timestamp,
    ) -> Result<Vec<StuckItem>, Error> {
        let mail = reads::mail(
            &*self.pool.place().await?,
            namespace,
            now - TOLD_FOR,
            OTHERS,
        )
        .await?;
        let agents = reads::agents(&*self.pool.place().await?, namespace, OTHERS).await?;
        let effects = reads::effects(&*self.pool.place().await?, namespace, OTHERS).await?;
        let items = mail.into_iter().map(set_aside);
        let items = items.chain(agents.into_iter().map(held));
        Ok(items.chain(effects.iter().map(put_off)).collect())
    }
}

fn item(kind: StuckKind, since: Timestamp, action: HintAction, text: String) -> StuckItem {
    StuckItem {
        stuck: Stuck {
            kind,
            since,
            action,
            text,
        },
        handoff_id: None,
        thread_id: None,
        agent_id: None,
        title: String::new(),
        count: 0,
    }
}

fn set_aside(mail: MailSetAside) -> StuckItem {
    let text = format!(
        "{} messages to this thread were set aside, since every turn that was given them was lost; \
         look at them and at its runtime, and send again what still matters",
        mail.count
    );
    StuckItem {
        thread_id: Some(mail.thread_id),
        agent_id: Some(mail.agent_id),
        count: mail.count,
        ..item(StuckKind::MailSetAside, mail.oldest, HintAction::Look, text)
    }
}

fn held(agent: HeldAgent) -> StuckItem {
    let text = format!(
        "agent `{}` is deactivated, and turns of {} of its threads are due; activate it",
        agent.agent_id, agent.threads
    );
    StuckItem {
        agent_id: Some(agent.agent_id),
        count: agent.threads,
        ..item(
            StuckKind::MailHeld,
            agent.oldest,
            HintAction::ActivateAgent,
            text,
        )
    }
}

fn put_off(effect: &PutOff) -> StuckItem {
    let text = format!(
        "effect `{}` ({}) could not be run {} times and is tried again at {}; look at the servers' log",
        effect.effect_id, effect.kind, effect.attempts, effect.due_time
    );
    StuckItem {
        thread_id: Some(ThreadId::from(effect.subject_id)),
        count: u64::from(effect.attempts),
        ..item(
            StuckKind::EffectPutOff,
            effect.due_time,
            HintAction::Look,
            text,
        )
    }
}
