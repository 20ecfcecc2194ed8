//! `GetLineage`: the tree of threads that a handoff is part of.
//!
//! What is below is told depth first, parents before their children and siblings by id. Links to parents
//! never change, so the place of a thread in this order never does, and a page goes on behind the last
//! thread of the one before whatever happened meanwhile. A page reads level after level: of each level no
//! more threads than the page may have, since the first threads of the whole order are among the first of
//! each level. So its cost follows its size and the depth of the tree.

use std::collections::HashMap;

use uuid::Uuid;

use crate::app::App;
use crate::app::error::Error;
use crate::domain::ids::{HandoffId, Namespace, ThreadId};
use crate::domain::status::{Facts, Texts};
use crate::domain::time::Timestamp;
use crate::store::reads::lineage;

pub use crate::store::reads::lineage::Node;

/// A thread of a tree, and its newest handoff with the time at which it was read.
#[derive(Clone, Debug)]
pub struct Kin {
    /// The thread; none of work that was refused and has none.
    pub node: Option<Node>,
    /// The handoff it works on or worked on last.
    pub handoff: Option<(Facts, Timestamp)>,
}

/// A page of a tree.
#[derive(Debug, Default)]
pub struct Lineage {
    /// The threads above, the root first.
    pub ancestors: Vec<Kin>,
    /// The thread itself, on the first page, and those below it.
    pub kin: Vec<Kin>,
    /// Behind which thread the next page begins; none where this is the last.
    pub next: Option<ThreadId>,
}

impl App {
    /// Tells what is above a handoff, and a page of what is below it.
    ///
    /// # Errors
    /// There is no such one; `after` is not below it.
    pub async fn lineage(
        &self,
        namespace: &Namespace,
        id: HandoffId,
        after: Option<ThreadId>,
        size: usize,
    ) -> Result<Lineage, Error> {
        let observed = self.observe(namespace, id, Texts::NONE, None).await?;
        let handoff = &observed.facts.handoff;
        let own = handoff.child_thread_id;
        let mut above = match own.or(handoff.parent_thread_id) {
            Some(thread) => lineage::up(&*self.pool.place().await?, namespace, thread).await?,
            None => Vec::new(),
        };
        if own.is_some() {
            above.remove(0);
        }
        above.reverse();
        let Some(own) = own else {
            let alone = Kin {
                node: None,
                handoff: Some((observed.facts.clone(), observed.now)),
            };
            return Ok(Lineage {
                ancestors: self.kin(namespace, &above).await?,
                kin: vec![alone],
                next: None,
            });
        };
        let (mut threads, frames) = match after {
            None => (vec![own], vec![(own, first())]),
            Some(after) => (Vec::new(), self.frames(namespace, own, after).await?),
        };
        threads.extend(self.walk(namespace, frames, size + 1).await?);
        let more = threads.len() > size;
        threads.truncate(size);
        Ok(Lineage {
            ancestors: self.kin(namespace, &above).await?,
            kin: self.kin(namespace, &threads).await?,
            next: threads.last().copied().filter(|_| more),
        })
    }

    /// What is left of the tree of `own` behind a thread: its own children, and the later siblings of
    /// it and of each thread above it.
    async fn frames(
        &self,
        namespace: &Namespace,
        own: ThreadId,
        after: ThreadId,
    ) -> Result<Vec<(ThreadId, ThreadId)>, Error> {
        let path = lineage::up(&*self.pool.place().await?, namespace, after).await?;
        let steps = path.iter().position(|thread| *thread == own);
        let steps = steps.ok_or(Error::PageToken)?;
        let siblings = path.windows(2).take(steps);
        let siblings = siblings.map(|pair| (pair[1], pair[0]));
        Ok(std::iter::once((after, first())).chain(siblings).collect())
    }

    /// The first threads, depth first, below some threads: of each only what is behind one of its
    /// children.
    async fn walk(
        &self,
        namespace: &Namespace,
        mut level: Vec<(ThreadId, ThreadId)>,
        limit: usize,
    ) -> Result<Vec<ThreadId>, Error> {
        let mut tops = Vec::new();
        let mut below: HashMap<ThreadId, Vec<ThreadId>> = HashMap::new();
        for step in 0.. {
            let found = lineage::down(&*self.pool.place().await?, namespace, &level, limit).await?;
            if found.is_empty() {
                break;
            }
            for (place, thread) in &found {
                match level.get(*place) {
                    Some((parent, _)) if step > 0 => {
                        below.entry(*parent).or_default().push(*thread);
                    }
                    _ => tops.push(*thread),
                }
            }
            level = found.into_iter().map(|(_, it)| (it, first())).collect();
        }
        Ok(depth_first(tops, &below, limit))
    }

    /// Threads with what is told of them, in their order.
    async fn kin(&self, namespace: &Namespace, threads: &[ThreadId]) -> Result<Vec<Kin>, Error> {
        if threads.is_empty() {
            return Ok(Vec::new());
        }
        let nodes = lineage::nodes(&*self.pool.place().await?, namespace, threads).await?;
        let newest = lineage::newest(&*self.pool.place().await?, namespace, threads).await?;
        let of_thread = newest
            .into_iter()
            .filter_map(|row| Some((row.0.handoff.child_thread_id?, row)));
        let mut newest: HashMap<ThreadId, (Facts, Timestamp)> = of_thread.collect();
        let kin = nodes.into_iter().map(|node| Kin {
            handoff: newest.remove(&node.thread_id),
            node: Some(node),
        });
        Ok(kin.collect())
    }
}

/// Before every thread.
fn first() -> ThreadId {
    ThreadId::from(Uuid::nil())
}

/// At most `limit` threads, each followed by those below it.
fn depth_first(
    tops: Vec<ThreadId>,
    below: &HashMap<ThreadId, Vec<ThreadId>>,
    limit: usize,
) -> Vec<ThreadId> {
    let mut found = Vec::new();
    let mut left = tops;
    left.reverse();
    while let Some(thread) = left.pop() {
        if found.len() == limit {
            break;
        }
        found.push(thread);
        left.extend(below.get(&thread).into_iter().flatten().rev());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_is_followed_by_those_below_it() {
        let thread = |number| ThreadId::from(Uuid::from_u128(number));
        let threads = |numbers: &[u128]| numbers.iter().map(|it| thread(*it)).collect::<Vec<_>>();
        let below = HashMap::from([
            (thread(1), threads(&[2, 5])),
            (thread(2), threads(&[3, 4])),
            (thread(6), threads(&[7])),
        ]);
        let order = threads(&[1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(depth_first(threads(&[1, 6]), &below, 9), order);
        assert_eq!(depth_first(threads(&[1, 6]), &below, 3), order[..3]);
    }
}
