//! The faults. Hands deal them at once: one for each server and its ways, one for the database, one
//! for the runtimes. Each deals whole decks, shuffled by the seed, so that every fault comes.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rustix::process::Signal;
use tokio::time::timeout;

use super::Run;
use super::stand::{Clock, Frozen, Server, faketime};
use crate::faults::agents::CRASHED;
use crate::faults::process::send;
use crate::faults::proxy::{Cut, Then};
use crate::faults::workload::account::Part;
use crate::support::{pause, within};

/// How long a server that is to be stopped at a COMMIT is given to make one.
const COMMITS: Duration = Duration::from_secs(4);

/// Between two looks at processes that may have ended by themselves.
const LOOK: Duration = Duration::from_millis(100);

/// How long a server or a runtime may take to stop in order.
const DRAIN: Duration = Duration::from_secs(30);

/// Faults that are dealt again and again in an order of their own.
struct Deck<F> {
    all: Vec<F>,
    left: Vec<F>,
    rng: StdRng,
    dealt: usize,
}

impl<F: Copy> Deck<F> {
    fn new(all: Vec<F>, seed: u64) -> Self {
        Self {
            all,
            left: Vec::new(),
            rng: StdRng::seed_from_u64(seed),
            dealt: 0,
        }
    }

    fn deal(&mut self) -> F {
        if self.left.is_empty() {
            self.left = self.all.clone();
            self.left.shuffle(&mut self.rng);
        }
        self.dealt += 1;
        self.left.pop().unwrap()
    }

    fn all_came(&self) -> bool {
        self.dealt >= self.all.len()
    }

    fn millis(&mut self, span: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.rng.random_range(span))
    }
}

#[derive(Clone, Copy, Debug)]
enum OfServers {
    Kill(Clock),
    KillAt(Cut),
    CutAt(Cut),
    Freeze,
    Drain(Clock),
    CutDatabase,
    FreezeDatabase,
    CutCallers,
    FreezeCallers,
}

#[derive(Clone, Copy, Debug)]
enum OfDatabase {
    Crash,
    KillBackend,
    FreezeBackend,
    FreezeAll,
    EndListeners,
}

#[derive(Clone, Copy, Debug)]
enum OfRuntimes {
    Kill,
    Freeze,
    Drain,
}

/// Breaks a server and its ways until the run is over and every fault came.
pub(super) async fn break_server(run: &Run<'_>, server: &Server, seed: u64) {
    let mut deck = Deck::new(faults_of_servers(), seed);
    while !(run.is_over() && deck.all_came()) {
        pause(deck.millis(300..1_500) * run.calm).await;
        if let Some(end) = server.end() {
            run.broken(format!("a server ended by itself with {end}"));
            server.start_again(Clock::Right).await;
        }
        let fault = deck.deal();
        let away = deck.millis(200..3_000);
        let vain = match fault {
            OfServers::Kill(clock) => {
                run.count(
                    Part::Faults,
                    match clock {
                        Clock::Right => "a server is killed",
                        Clock::Ahead => "a server is killed, and comes back one hour ahead",
                        Clock::Behind => "a server is killed, and comes back one hour behind",
                    },
                );
                server.kill();
                pause(away).await;
                server.start_again(clock).await
            }
            OfServers::KillAt(cut) => {
                if timeout(COMMITS, server.back.hold(cut)).await.is_err() {
                    run.count(Part::Faults, "no COMMIT came by to be killed at");
                    continue;
                }
                server.kill();
                run.count(
                    Part::Faults,
                    match cut {
                        Cut::BeforeCommit => "a server is killed before a COMMIT",
                        Cut::AfterCommit => "a server is killed between a COMMIT and its answer",
                        Cut::BetweenBatches => "a server is killed between two batches",
                    },
                );
                pause(away).await;
                server.start_again(Clock::Right).await
            }
            OfServers::Drain(clock) => {
                run.count(
                    Part::Faults,
                    match clock {
                        Clock::Right => "a server is asked to stop",
                        Clock::Ahead => "a server is asked to stop, and comes back one hour ahead",
                        Clock::Behind => {
                            "a server is asked to stop, and comes back one hour behind"
                        }
                    },
                );
                drain(run, server).await;
                server.start_again(clock).await
            }
            link => {
                break_links(run, server, link, away).await;
                0
            }
        };
        run.add(
            Part::Faults,
            "a server starts in vain: its database is away",
            vain,
        );
    }
}

fn faults_of_servers() -> Vec<OfServers> {
    let (ahead, behind) = if faketime().is_some() {
        (Clock::Ahead, Clock::Behind)
    } else {
        (Clock::Right, Clock::Right)
    };
    vec![
        OfServers::Kill(ahead),
        OfServers::Kill(Clock::Right),
        OfServers::KillAt(Cut::BeforeCommit),
        OfServers::KillAt(Cut::AfterCommit),
        OfServers::KillAt(Cut::BetweenBatches),
        OfServers::CutAt(Cut::BeforeCommit),
        OfServers::CutAt(Cut::AfterCommit),
        OfServers::Freeze,
        OfServers::Drain(behind),
        OfServers::CutDatabase,
        OfServers::FreezeDatabase,
        OfServers::CutCallers,
        OfServers::FreezeCallers,
    ]
}

async fn break_links(run: &Run<'_>, server: &Server, fault: OfServers, span: Duration) {
    let what = match fault {
        OfServers::CutAt(cut) => {
            server.back.arm(cut, Then::Open);
            let came = within(COMMITS, async || !server.back.is_armed()).await;
            if came {
                "the way to the database is cut at a COMMIT"
            } else {
                "no COMMIT came by to be cut at"
            }
        }
        OfServers::Freeze => {
            server.signal(Signal::STOP);
            pause(span).await;
            server.signal(Signal::CONT);
            "a server stands still"
        }
        OfServers::CutDatabase => {
            server.back.cut();
            "all ways of a server to the database are cut"
        }
        OfServers::FreezeDatabase => {
            server.back.freeze(true);
            pause(span).await;
            server.back.freeze(false);
            "all ways of a server to the database stand still"
        }
        OfServers::CutCallers => {
            server.front.cut();
            "all callers of a server are cut"
        }
        OfServers::FreezeCallers => {
            server.front.freeze(true);
            pause(span).await;
            server.front.freeze(false);
            "all ways of callers to a server stand still"
        }
        OfServers::Kill(_) | OfServers::KillAt(_) | OfServers::Drain(_) => return,
    };
    run.count(Part::Faults, what);
}

/// Also a server whose database is away stops in order, and says with its exit code that it did.
async fn drain(run: &Run<'_>, server: &Server) {
    server.signal(Signal::TERM);
    let mut end = None;
    let ended = within(DRAIN, async || {
        end = server.end();
        end.is_some()
    });
    let ended = ended.await;
    run.holds(ended && end.is_some_and(|end| end.success()), || {
        format!("a server that was asked to stop ended with {end:?}")
    });
    server.kill();
}

/// Breaks the database until the run is over and every fault came.
pub(super) async fn break_database(run: &Run<'_>, seed: u64) {
    let all = vec![
        OfDatabase::Crash,
        OfDatabase::KillBackend,
        OfDatabase::FreezeBackend,
        OfDatabase::FreezeAll,
        OfDatabase::EndListeners,
    ];
    let mut deck = Deck::new(all, seed);
    let database = &run.stand.database;
    while !(run.is_over() && deck.all_came()) {
        pause(deck.millis(3_000..7_000) * run.calm).await;
        let span = deck.millis(500..3_000);
        let what = match deck.deal() {
            OfDatabase::Crash => {
                database.crash(span).await;
                "the database crashes (immediate shutdown) and is started"
            }
            OfDatabase::KillBackend => {
                if let Some(pid) = database.backends().0.choose(&mut deck.rng) {
                    send(*pid, Signal::KILL);
                }
                "a backend is killed: the database recovers by itself"
            }
            OfDatabase::FreezeBackend => {
                let pid = database.backends().0.choose(&mut deck.rng).copied();
                let frozen = Frozen::all(pid.into_iter().collect());
                pause(span).await;
                drop(frozen);
                "a backend stands still, with its locks"
            }
            OfDatabase::FreezeAll => {
                let (mut pids, others) = database.backends();
                pids.extend(others);
                let frozen = Frozen::all(pids);
                pause(span).await;
                drop(frozen);
                "the whole database stands still"
            }
            OfDatabase::EndListeners => {
                let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND query LIKE 'LISTEN%'";
                // It may just be coming back.
                drop(sqlx::query(end).execute(&run.stand.pool).await);
                "the connections that listen are ended"
            }
        };
        run.count(Part::Faults, what);
    }
}

/// Breaks runtimes until the run is over and every fault came to each.
pub(super) async fn break_runtimes(run: &Run<'_>, seed: u64) {
    let runtimes = &run.stand.runtimes;
    let all = (0..runtimes.len()).flat_map(|at| {
        [OfRuntimes::Kill, OfRuntimes::Freeze, OfRuntimes::Drain].map(|fault| (at, fault))
    });
    let mut deck = Deck::new(all.collect(), seed);
    while !(run.is_over() && deck.all_came()) {
        pause(deck.millis(500..3_000) * run.calm).await;
        let (at, fault) = deck.deal();
        let (runtime, span) = (&runtimes[at], deck.millis(200..4_000));
        let what = match fault {
            OfRuntimes::Kill => {
                runtime.kill();
                pause(span / 4).await;
                runtime.start_again();
                "a runtime is killed"
            }
            OfRuntimes::Freeze => {
                runtime.signal(Signal::STOP);
                pause(span).await;
                runtime.signal(Signal::CONT);
                "a runtime stands still"
            }
            OfRuntimes::Drain => {
                // Whoever looks after runtimes starts it again.
                runtime.signal(Signal::TERM);
                "a runtime is asked to stop"
            }
        };
        run.count(Part::Faults, what);
    }
}

/// Starts runtimes again that ended by themselves, and finds servers that did: none may.
pub(super) async fn look_after(run: &Run<'_>) {
    loop {
        pause(LOOK).await;
        for runtime in &run.stand.runtimes {
            let Some(end) = runtime.end() else {
                continue;
            };
            match end.code() {
                Some(CRASHED) => run.count(Part::Faults, "a runtime is taken down by its agent"),
                // It was asked before it could listen.
                None if end.signal() == Some(Signal::TERM.as_raw()) => {
                    run.count(Part::Faults, "a runtime stops before it began");
                }
                Some(0) => run.count(Part::Faults, "a runtime stops in order"),
                _ if is_explained(&runtime.said()) => {
                    run.count(
                        Part::Faults,
                        "a runtime gives up: another life of it registered",
                    );
                }
                _ => run.broken(format!("{} ended by itself with {end}", runtime.id())),
            }
            runtime.start_again();
        }
    }
}

/// A registration of an earlier life may come in after the one of the present life.
fn is_explained(log: &str) -> bool {
    let last = log.lines().rev().take(12);
    last.into_iter()
        .any(|line| line.contains("STALE_INCARNATION"))
}
