//! Who waits for what: a waiter holds a handle and no connection.
//!
//! Hints are keyed by a short hash of namespace and thing, the same on every server, so that what one
//! server commits can be told to all others as a list of numbers. A hint carries no data: who gets
//! one looks again. A waiter registers before it looks, so nothing is missed in between.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, watch};

use super::company::Company;
use crate::domain::digest;
use crate::domain::ids::Namespace;
use crate::domain::world::{Hint, World};

/// Short hash of a namespace and a thing in it.
pub type HintKey = u64;

/// Hints that may wait to be sent; beyond that everybody is told to look.
const OUTBOX: usize = 4_096;

/// What this server has to tell the others.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Things that moved.
    pub keys: BTreeSet<HintKey>,
    /// Too many to name.
    pub everything: bool,
    /// That it is there.
    pub greeting: bool,
}

impl Outbox {
    fn is_empty(&self) -> bool {
        self.keys.is_empty() && !self.everything && !self.greeting
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Registry {
    topics: Mutex<HashMap<HintKey, watch::Sender<()>>>,
    outbox: Mutex<Outbox>,
    outgoing: Notify,
    effects: Notify,
    company: Mutex<Company>,
}

/// A registered interest; dropping it ends it.
#[derive(Debug)]
pub struct Watch {
    registry: Arc<Registry>,
    key: HintKey,
    receiver: watch::Receiver<()>,
}

/// The key of a thing in a namespace.
#[must_use]
pub fn key(namespace: &Namespace, hint: &Hint) -> HintKey {
    let (kind, id): (&[u8], String) = match hint {
        Hint::Agent(id) => (b"agent", id.0.clone()),
        Hint::Mailbox(id) => (b"mailbox", id.to_string()),
        Hint::Handoff(id) => (b"handoff", id.to_string()),
    };
    let bytes = digest::short(&[namespace.0.as_bytes(), kind, id.as_bytes()]);
    u64::from_be_bytes([
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
    ])
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Registers an interest. Look after this, not before.
    #[must_use]
    pub fn watch(self: &Arc<Self>, namespace: &Namespace, hint: &Hint) -> Watch {
        let key = key(namespace, hint);
        let mut topics = lock(&self.topics);
        let sender = topics.entry(key).or_insert_with(|| watch::channel(()).0);
        Watch {
            registry: Arc::clone(self),
            key,
            receiver: sender.subscribe(),
        }
    }

    /// Tells waiters of this server and, soon, of all others what a batch moved.
    pub fn publish(&self, namespace: &Namespace, world: &World) {
        if !world.made.effects.is_empty() {
            // Whoever leaves an effect runs it; told to all, all would run for the same row.
            self.effects.notify_one();
        }
        if world.hints.is_empty() {
            return;
        }
        let hints = world.hints.iter();
        let keys: Vec<HintKey> = hints.map(|hint| key(namespace, hint)).collect();
        self.tell(&keys);
        if !lock(&self.company).is_there(Instant::now()) {
            return;
        }
        let mut outbox = lock(&self.outbox);
        if outbox.keys.len() + keys.len() > OUTBOX {
            outbox.everything = true;
            outbox.keys.clear();
        } else {
            outbox.keys.extend(keys);
        }
        drop(outbox);
        self.outgoing.notify_one();
    }

    /// Tells waiters of this server that things moved somewhere.
    pub fn tell(&self, keys: &[HintKey]) {
        let topics = lock(&self.topics);
        for sender in keys.iter().filter_map(|key| topics.get(key)) {
            sender.send_replace(());
        }
    }

    /// Tells every waiter of this server to look again: hints may have been lost.
    pub fn tell_all(&self) {
        lock(&self.topics).values().for_each(|sender| {
            sender.send_replace(());
        });
    }

    /// From now on the other servers are heard: tells them that this one is there.
    pub fn listening(&self) {
        lock(&self.company).listen(Instant::now());
        self.greet();
        self.tell_all();
    }

    /// From now on they are not heard.
    pub fn deaf(&self) {
        lock(&self.company).deafen();
    }

    /// Tells the others that this server is there.
    pub fn greet(&self) {
        lock(&self.outbox).greeting = true;
        self.outgoing.notify_one();
    }

    /// Another server was heard. One that was not there before is told to look at everything.
    pub fn meet(&self) {
        if lock(&self.company).meet(Instant::now()) {
            lock(&self.outbox).everything = true;
            self.outgoing.notify_one();
        }
    }

    /// Waits until there is something to tell the others, and takes all of it.
    pub async fn outgoing(&self) -> Outbox {
        loop {
            self.outgoing.notified().await;
            let outbox = std::mem::take(&mut *lock(&self.outbox));
            if !outbox.is_empty() {
                return outbox;
            }
        }
    }

    /// Waits until a batch of this server left effects to be run.
    pub async fn effects_left(&self) {
        self.effects.notified().await;
    }

    /// How many things are waited for.
    #[must_use]
    pub fn topics(&self) -> usize {
        lock(&self.topics).len()
    }
}

impl Watch {
    /// Waits until the thing moved since the last wait, or since the interest was registered.
    pub async fn moved(&mut self) {
        if self.receiver.changed().await.is_err() {
            // The sender lives as long as a receiver does.
            std::future::pending::<()>().await;
        }
    }
}

impl Watch {
    /// Waits until the thing moved, without taking note of it.
    pub async fn peek_moved(&mut self) {
        if self.receiver.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.receiver.mark_changed();
    }

    /// Whether the thing moved since the last time this was asked; takes note of it.
    pub fn has_moved(&mut self) -> bool {
        let moved = self.receiver.has_changed().unwrap_or(false);
        self.receiver.mark_unchanged();
        moved
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut topics = lock(&self.registry.topics);
        if topics
            .get(&self.key)
            .is_some_and(|sender| sender.receiver_count() <= 1)
        {
            topics.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::ids::AgentId;
    use crate::domain::time::Timestamp;

    #[test]
    fn who_appears_is_told_to_look_at_everything_that_was_kept_back() {
        let registry = Registry::default();
        let long_ago = Instant::now().checked_sub(Duration::from_mins(1));
        lock(&registry.company).listen(long_ago.unwrap());
        let mut world = World::new(Timestamp::MIN, Arc::default());
        world.hints = BTreeSet::from([Hint::Agent(AgentId("a".to_owned()))]);
        let namespace = Namespace("n".to_owned());
        registry.publish(&namespace, &world);
        assert!(
            lock(&registry.outbox).is_empty(),
            "nobody is there to be told"
        );
        registry.meet();
        assert!(std::mem::take(&mut *lock(&registry.outbox)).everything);
        registry.publish(&namespace, &world);
        assert_eq!(lock(&registry.outbox).keys.len(), 1);
    }
}
