//! All faults at once, for long, and a workload whose ends are known: two servers behind proxies, a
//! PostgreSQL of their own, runtimes in Rust and in Python.
//!
//! In the suite it is short. For an answer that counts: `just torture MINUTES`. The seed that is printed
//! first gives the same faults and the same work again, though not at the same moments:
//! `HANDOFFD_TORTURE_SEED`.

mod account;
mod chaos;
mod limits;
mod pals;
mod parents;
mod python;
mod stand;
mod verdict;
mod watch;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::fmt::Display;
use std::ops::Deref;
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all, join3};
use handoffd::proto::v1::{Message, PutAgentRequest, ReadMailRequest};
use tokio::time::timeout;

use self::account::{Account, Part};
use self::limits::{NARROW, NARROW_TURNS};
use self::pals::SCRIBE;
use self::parents::{Handed, Parent};
use self::stand::Stand;
use self::watch::Watched;
use super::agents::WORKER;
use super::link::Link;
use super::parents::agent;
use crate::support::pause;

/// How long faults come where nobody says.
const SHORT: Duration = Duration::from_secs(45);
/// How long what is open may take to end once no fault comes any more.
const SETTLES: Duration = Duration::from_secs(150);
/// How long everything before and after may take: a test that hangs fails.
const AROUND: Duration = Duration::from_mins(15);
/// Between two lines of progress.
const TOLD: Duration = Duration::from_secs(30);

const PARENTS: u64 = 6;
const PALS: u64 = 2;
const SCRIBES: u64 = 3;
const WATCHERS: u64 = 3;

/// A run: what is tortured, how long, and what came of it so far.
struct Run<'a> {
    stand: &'a Stand,
    link: Link,
    seed: u64,
    over: Instant,
    /// How much longer hands rest than they need to deal every fault in the shortest run.
    calm: u32,
    account: Account,
    /// Mail to runtimes that was acknowledged, by its id, with its text.
    sent: RefCell<BTreeMap<String, String>>,
    watched: Watched,
}

impl Deref for Run<'_> {
    type Target = Account;

    fn deref(&self) -> &Account {
        &self.account
    }
}

impl Run<'_> {
    /// Whether nothing new begins.
    fn is_over(&self) -> bool {
        Instant::now() >= self.over
    }

    /// Whether what is open is stuck.
    fn is_given_up(&self) -> bool {
        Instant::now() >= self.over + SETTLES
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_all_faults_at_once_nothing_is_lost_doubled_or_stuck() {
    let length = env::var("HANDOFFD_TORTURE_MINUTES").map_or(SHORT, |minutes| {
        Duration::from_secs(minutes.parse::<u64>().unwrap() * 60)
    });
    let seed = env::var("HANDOFFD_TORTURE_SEED").map_or_else(
        |_| u64::from(rand::random::<u32>()),
        |seed| seed.parse().unwrap(),
    );
    let folder = tempfile::tempdir().unwrap();
    tell(format_args!(
        "{} s of faults, seed {seed}",
        length.as_secs()
    ));
    if stand::faketime().is_none() {
        tell("libfaketime is not installed: no server lives at another time");
    }
    let done = timeout(length + AROUND, torture(folder.path(), length, seed)).await;
    let findings = done.expect("it comes to an end");
    if !findings.is_empty() {
        let kept = folder.keep();
        panic!(
            "seed {seed}: promises were broken; all logs are in {}\n{}",
            kept.display(),
            findings.join("\n")
        );
    }
}

/// One run, and what it found.
async fn torture(folder: &std::path::Path, length: Duration, seed: u64) -> Vec<String> {
    python::interpreter();
    let mut stand = Stand::set(folder).await;
    let link = Link::patient(&stand.addresses());
    for id in [WORKER, SCRIBE] {
        agent(&link, id).await;
    }
    limit(&link).await;
    stand.start_runtimes(&[WORKER, NARROW, SCRIBE]);
    let run = Run {
        stand: &stand,
        link,
        seed,
        over: Instant::now() + length,
        // Where one fault always meets the next, most work only waits.
        calm: if length > SHORT { 3 } else { 1 },
        account: Account::new(),
        sent: RefCell::default(),
        watched: Watched::default(),
    };
    let handed = tokio::select! {
        handed = play(&run) => handed,
        () = limits::sample(&run) => unreachable!(),
        _ = join_all((0..WATCHERS).map(|number| watch::watch(&run, seed + number))) => unreachable!(),
        () = chaos::look_after(&run) => unreachable!(),
        () = progress(&run) => unreachable!(),
    };
    verdict::check(&run, &handed).await;
    servers_are_well(&run);
    let (calls, repeats, slowest) = run.link.spent();
    run.add(Part::Work, "calls of parents and pals", calls);
    run.add(Part::Work, "tries beyond the first of these calls", repeats);
    tell(&run.account);
    tell(format_args!(
        "{:>7.1} s  the slowest of those calls",
        slowest.as_secs_f64()
    ));
    let findings = run.findings();
    tell(format_args!("{} findings", findings.len()));
    stand.runtimes.clear();
    stand.servers.clear();
    stand.pool.close().await;
    stand.database.stop().await;
    findings
}

/// The workload and the faults, until both are over and nothing moves.
async fn play(run: &Run<'_>) -> BTreeMap<String, Handed> {
    let scribes = join_all((0..SCRIBES).map(|number| pals::scribe(run, number))).await;
    let parents = join_all((1..=PARENTS).map(|number| Parent::work(run, number)));
    let pals = join_all((1..=PALS).map(|number| pals::write(run, number, &scribes)));
    let servers = run.stand.servers.iter().zip(1..);
    let faults = join3(
        join_all(servers.map(|(server, nth)| chaos::break_server(run, server, run.seed + nth))),
        chaos::break_database(run, run.seed + 10),
        chaos::break_runtimes(run, run.seed + 11),
    );
    let ((handed, _), _) = join(join(parents, pals), faults).await;
    verdict::quiet(run).await;
    handed.into_iter().flatten().collect()
}

async fn progress(run: &Run<'_>) {
    loop {
        pause(TOLD).await;
        tell(run.so_far());
    }
}

/// No server ended by itself, and none says that it met a defect: faults from outside are no errors.
fn servers_are_well(run: &Run<'_>) {
    for server in &run.stand.servers {
        run.holds(server.end().is_none(), || {
            "a server ended by itself".to_owned()
        });
        let log = server.logs();
        let defects = |line: &&str| line.contains(" ERROR ") || line.contains("panicked");
        for line in log.lines().filter(defects) {
            run.broken(format!("a server says: {line}"));
        }
    }
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

#[expect(clippy::print_stdout, reason = "a long run is for people to read")]
fn tell(what: impl Display) {
    println!("{what}");
}
