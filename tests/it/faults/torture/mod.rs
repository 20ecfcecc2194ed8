//! All faults at once, for long, and a workload whose ends are known: two servers behind proxies, a
//! PostgreSQL of their own, runtimes in Rust and in Python.
//!
//! In the suite it is short. For an answer that counts: `just torture MINUTES`. The seed that is printed
//! first gives the same faults and the same work again, though not at the same moments:
//! `HANDOFFD_TORTURE_SEED`.

mod chaos;
mod limits;
mod python;
mod stand;

use std::collections::BTreeMap;
use std::env;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use futures_util::future::{join, join_all, join3};
use tokio::time::timeout;

use self::stand::Stand;
use super::link::Link;
use super::told;
use super::workload::account::Part;
use super::workload::{Handed, Pace, Work, verdict};
use crate::support::pause;

/// How long faults come where nobody says.
const SHORT: Duration = Duration::from_secs(45);
/// How long everything before and after may take: a test that hangs fails.
const AROUND: Duration = Duration::from_mins(15);
/// Between two lines of progress.
const TOLD: Duration = Duration::from_secs(30);

const PACE: Pace = Pace {
    parents: 6,
    open: 5,
    round: Duration::from_millis(300),
    narrow: 4,
    crashes: true,
};

/// A run: what is tortured, with what, and what came of it so far.
struct Run<'a> {
    stand: &'a Stand,
    work: Work,
    /// How much longer hands rest than they need to deal every fault in the shortest run.
    calm: u32,
}

impl Deref for Run<'_> {
    type Target = Work;

    fn deref(&self) -> &Work {
        &self.work
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
    told(format_args!(
        "{} s of faults, seed {seed}",
        length.as_secs()
    ));
    if stand::faketime().is_none() {
        told("libfaketime is not installed: no server lives at another time");
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
async fn torture(folder: &Path, length: Duration, seed: u64) -> Vec<String> {
    python::interpreter();
    let mut stand = Stand::set(folder).await;
    let link = Link::patient(&stand.addresses());
    let work = Work::new(link, seed, PACE).await;
    stand.start_runtimes();
    let run = Run {
        stand: &stand,
        work,
        // Where one fault always meets the next, most work only waits.
        calm: if length > SHORT { 3 } else { 1 },
    };
    run.begin(length);
    let handed = tokio::select! {
        handed = play(&run) => handed,
        () = limits::sample(&run) => unreachable!(),
        () = run.watch() => unreachable!(),
        () = chaos::look_after(&run) => unreachable!(),
        () = progress(&run) => unreachable!(),
    };
    verdict::check(&run, &stand.pool, &stand.journals(), &handed).await;
    for server in &stand.servers {
        run.holds(server.end().is_none(), || {
            "a server ended by itself".to_owned()
        });
        verdict::server_is_well(&run, &server.logs());
    }
    let (calls, repeats, slowest) = run.link.spent();
    run.add(Part::Work, "calls of parents and pals", calls);
    run.add(Part::Work, "tries beyond the first of these calls", repeats);
    told(run.account());
    told(format_args!(
        "{:>7.1} s  the slowest of those calls",
        slowest.as_secs_f64()
    ));
    let findings = run.findings();
    told(format_args!("{} findings", findings.len()));
    stand.runtimes.clear();
    stand.servers.clear();
    stand.pool.close().await;
    stand.database.stop().await;
    findings
}

/// The workload and the faults, until both are over and nothing moves.
async fn play(run: &Run<'_>) -> BTreeMap<String, Handed> {
    let servers = run.stand.servers.iter().zip(1..);
    let faults = join3(
        join_all(servers.map(|(server, nth)| chaos::break_server(run, server, run.seed + nth))),
        chaos::break_database(run, run.seed + 10),
        chaos::break_runtimes(run, run.seed + 11),
    );
    let (handed, _) = join(run.play(), faults).await;
    verdict::quiet(run, &run.stand.pool).await;
    handed
}

async fn progress(run: &Run<'_>) {
    loop {
        pause(TOLD).await;
        told(run.so_far());
    }
}
