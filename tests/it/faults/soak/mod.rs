//! A long life: steady work for hours on the real binary, and nothing becomes more and more but what is
//! kept on purpose. A thousand idle runtimes are connected all along, and for a while somebody keeps a
//! transaction open, so that the database can clean up nothing.
//!
//! In the suite it is short, and shows that nothing grows at once. For an answer that counts:
//! `just soak MINUTES`.

mod crowd;
mod figures;
mod held;
mod kernel;
mod laws;
mod plan;
mod sample;
mod site;
mod still;
mod tables;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join3;
use handoffd::proto::v1::CheckInvariantsRequest;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::timeout;

use self::crowd::Crowd;
use self::plan::Plan;
use self::sample::Sample;
use self::site::Site;
use self::still::Still;
use super::link::Link;
use super::told;
use super::workload::account::Part;
use super::workload::{Handed, Pace, Work, verdict};
use crate::support::pause;

/// How long it takes where nobody says.
const SHORT: Duration = Duration::from_mins(1);
/// How long everything before and after may take: a test that hangs fails.
const AROUND: Duration = Duration::from_mins(20);
/// Between two lines of progress.
const TOLD: Duration = Duration::from_secs(30);
/// Between two rounds of the probe.
const PROBED: Duration = Duration::from_millis(500);
/// Of the time that checks of invariants take, so many times they rest: they are no load.
const CHECKS_REST: u32 = 100;

/// Far below what the machine can do: it is about what becomes of it in the long run.
const PACE: Pace = Pace {
    parents: 16,
    open: 4,
    round: Duration::from_secs(1),
    narrow: 30,
    crashes: false,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_long_it_goes_on_nothing_grows_but_what_is_kept() {
    let length = env::var("HANDOFFD_SOAK_MINUTES").map_or(SHORT, |minutes| {
        Duration::from_secs(minutes.parse::<u64>().unwrap() * 60)
    });
    let folder = tempfile::tempdir().unwrap();
    let done = timeout(length + AROUND, soak(folder.path(), &Plan::of(length))).await;
    let findings = done.expect("it comes to an end");
    if !findings.is_empty() {
        let kept = folder.keep();
        panic!(
            "promises were broken; all logs are in {}\n{}",
            kept.display(),
            findings.join("\n")
        );
    }
}

/// One life, and what was found.
async fn soak(folder: &Path, plan: &Plan) -> Vec<String> {
    open_more_files();
    let site = Site::set(folder).await;
    let link = Link::patient(&site.addresses).timed();
    let crowd = Crowd::gather(&link, &site.addresses).await;
    let seed = u64::from(rand::random::<u32>());
    let work = Work::new(link, seed, PACE).await;
    let samples = RefCell::default();
    let handed = tokio::select! {
        handed = live(&site, &work, plan, &samples) => handed,
        () = crowd.wait(&work) => unreachable!(),
    };
    verdict::check(&work, &site.pool, &site.journals(), &handed).await;
    judge(&work, plan, &samples.take());
    for end in site.ended() {
        work.broken(end);
    }
    verdict::server_is_well(&work, &site.logs());
    let cleanings = tables::cleanings(&site.pool).await;
    work.add(
        Part::Checks,
        "tables that the database cleaned up",
        cleanings.try_into().unwrap(),
    );
    told(work.account());
    let findings = work.findings();
    told(format_args!("{} findings", findings.len()));
    site.stop().await;
    findings
}

/// Rest, work, rest; tells what was handed off.
async fn live(
    site: &Site,
    work: &Work,
    plan: &Plan,
    samples: &RefCell<Vec<Sample>>,
) -> BTreeMap<String, Handed> {
    let begin = Still::measure(site, plan.still).await;
    told(&begin);
    begin.judge(work);
    site.start_runtimes();
    work.begin(plan.worked());
    let handed = tokio::select! {
        handed = play(site, work, plan) => handed,
        () = look(site, work, plan, samples) => unreachable!(),
        () = work.watch() => unreachable!(),
        () = check(work) => unreachable!(),
    };
    site.end_runtimes();
    let end = Still::measure(site, plan.still).await;
    told(&end);
    end.judge_end(work, &begin);
    handed
}

/// All work, until it is over and nothing moves.
async fn play(site: &Site, work: &Work, plan: &Plan) -> BTreeMap<String, Handed> {
    let (mut handed, probed, ()) = join3(
        work.play(),
        work.probe(PROBED),
        held::keep(site, work, plan),
    )
    .await;
    verdict::quiet(work, &site.pool).await;
    handed.extend(probed);
    handed
}

/// Takes samples without end, and tells of some.
async fn look(site: &Site, work: &Work, plan: &Plan, samples: &RefCell<Vec<Sample>>) {
    let begin = Instant::now();
    let mut tell_at = Duration::ZERO;
    loop {
        pause(plan.period()).await;
        let at = begin.elapsed();
        let sample = Sample::take(site, work, at).await;
        for end in site.ended() {
            work.broken(end);
        }
        if at >= tell_at {
            tell_at = at + TOLD;
            let (seconds, phase) = (at.as_secs(), plan.phase(at));
            let findings = work.findings().len();
            told(format_args!(
                "{seconds:>5} s, {phase}: {sample}, {findings} findings"
            ));
        }
        samples.borrow_mut().push(sample);
    }
}

/// Asks the servers whether all that they promise holds, again and again.
async fn check(work: &Work) {
    let mut check = CheckInvariantsRequest::default();
    loop {
        let begin = Instant::now();
        let checked = work
            .link
            .accepted("invariants are checked", async |server| {
                server.operators().check_invariants(check.clone()).await
            });
        let checked = checked.await;
        for broken in checked.violations {
            work.broken(format!("{broken:?}"));
        }
        check.page_token = checked.next_page_token;
        if check.page_token.is_empty() {
            work.count(
                Part::Checks,
                "times that the servers checked all invariants meanwhile",
            );
        }
        pause((begin.elapsed() * CHECKS_REST).max(Duration::from_secs(1))).await;
    }
}

/// Prints the table, and finds what breaks a law.
fn judge(work: &Work, plan: &Plan, samples: &[Sample]) {
    told(format_args!("\n{}", laws::title()));
    for line in figures::lines(samples, plan) {
        told(&line);
        if line.speed && !plan.is_long() {
            continue;
        }
        for broken in line.broken(plan.looseness()) {
            work.broken(broken);
        }
    }
}

/// As many files as the system allows: each idle runtime has a connection of its own, at both ends.
fn open_more_files() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, all).unwrap();
}
