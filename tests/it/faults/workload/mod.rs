//! Work whose ends are known, for long runs: parents that hand off, pals that write to scribes, watchers
//! that wait for ends. All that was acknowledged is kept, to be held against what is found at the end.

pub(super) mod account;
mod pals;
mod parents;
pub(super) mod probe;
pub(super) mod verdict;
mod watch;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use handoffd::proto::v1::{Message, PutAgentRequest, ReadMailRequest};

use self::account::Account;
use self::pals::SCRIBE;
pub(super) use self::parents::Handed;
use self::parents::Parent;
use self::watch::Watched;
use super::agents::WORKER;
use super::link::Link;
use super::parents::agent;

/// The agent whose turns are limited, and their number.
pub(super) const NARROW: &str = "narrow";
pub(super) const NARROW_TURNS: u32 = 3;

/// Agents that runtimes must run.
pub(super) const AGENTS: [&str; 3] = [WORKER, NARROW, SCRIBE];

/// Rated messages of a pair in a window, and the window, which servers must be told.
pub(super) const PAIR_LIMIT: i64 = 60;
pub(super) const PAIR_WINDOW: Duration = Duration::from_secs(5);

/// How long what is open may take to end once nothing new begins.
const SETTLES: Duration = Duration::from_secs(150);

const PALS: u64 = 2;
const SCRIBES: u64 = 3;
const WATCHERS: u64 = 3;

/// How much is done at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) parents: u64,
    /// Handoffs that a parent has unfinished at once.
    pub(super) open: usize,
    /// Between two rounds of a parent: what bounds the load.
    pub(super) round: Duration,
    /// Of so many handoffs one goes to the limited agent.
    pub(super) narrow: u32,
    /// Whether some work takes its whole runtime down.
    pub(super) crashes: bool,
}

/// What is done, until when, and what came of it so far.
pub(super) struct Work {
    pub(super) link: Link,
    pub(super) seed: u64,
    over: Cell<Instant>,
    pace: Pace,
    account: Account,
    /// Mail to runtimes that was acknowledged, by its id, with its text.
    sent: RefCell<BTreeMap<String, String>>,
    watched: Watched,
}

impl Deref for Work {
    type Target = Account;

    fn deref(&self) -> &Account {
        &self.account
    }
}

impl Work {
    /// Puts the agents; nothing begins.
    pub(super) async fn new(link: Link, seed: u64, pace: Pace) -> Self {
        for id in [WORKER, SCRIBE] {
            agent(&link, id).await;
        }
        limit(&link).await;
        Self {
            link,
            seed,
            over: Cell::new(Instant::now()),
            pace,
            account: Account::new(),
            sent: RefCell::default(),
            watched: Watched::default(),
        }
    }

    /// Work is given out from now on for so long.
    pub(super) fn begin(&self, length: Duration) {
        self.over.set(Instant::now() + length);
    }

    /// To print.
    pub(super) fn account(&self) -> &Account {
        &self.account
    }

    /// Whether nothing new begins.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.over.get()
    }

    /// Whether what is open is stuck.
    fn is_given_up(&self) -> bool {
        Instant::now() >= self.over.get() + SETTLES
    }

    /// Does it all until it is over and everything has ended, and tells what was handed off.
    pub(super) async fn play(&self) -> BTreeMap<String, Handed> {
        let scribes = join_all((0..SCRIBES).map(|number| pals::scribe(self, number))).await;
        let parents = join_all((1..=self.pace.parents).map(|number| Parent::work(self, number)));
        let pals = join_all((1..=PALS).map(|number| pals::write(self, number, &scribes)));
        let (handed, _) = join(parents, pals).await;
        handed.into_iter().flatten().collect()
    }

    /// Makes the same calls again and again, for [`Link::spans`], and tells what was handed off.
    pub(super) async fn probe(&self, between: Duration) -> BTreeMap<String, Handed> {
        probe::ask(self, between).await
    }

    /// Waits for ends, without end.
    pub(super) async fn watch(&self) {
        join_all((0..WATCHERS).map(|number| watch::watch(self, self.seed + number))).await;
    }

    fn sent(&self, message_id: String, body: String) {
        let before = self.sent.borrow_mut().insert(message_id, body);
        self.holds(before.is_none(), || {
            "doubled: two messages with one id".to_owned()
        });
    }

    fn found(&self, message_id: &str, body: &str) {
        if let Some(sent) = self.sent.borrow_mut().remove(message_id) {
            self.holds(sent == body, || {
                format!("{message_id} says `{body}`, not `{sent}`")
            });
        }
    }

    fn missing(&self) -> BTreeMap<String, String> {
        self.sent.take()
    }

    async fn read(&self, what: &str, read: &ReadMailRequest) -> Vec<Message> {
        let read = self.link.accepted(what, async |server| {
            server.mailbox().read_mail(read.clone()).await
        });
        read.await.messages
    }
}

/// What a server must be told so that the workload meets limits now and then.
pub(super) fn rules(server: &mut Command) {
    server.args(["--pair-limit", &PAIR_LIMIT.to_string()]);
    server.args(["--pair-window", &format!("{}s", PAIR_WINDOW.as_secs())]);
}

async fn limit(link: &Link) {
    let put = PutAgentRequest {
        agent_id: NARROW.to_owned(),
        max_concurrent_turns: Some(NARROW_TURNS),
        request_id: Some("put-narrow".to_owned()),
        ..PutAgentRequest::default()
    };
    let put = link.accepted("a limited agent is put", async |server| {
        server.agents().put_agent(put.clone()).await
    });
    put.await;
}
