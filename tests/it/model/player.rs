//! Plays moves against real servers and the reference, and compares what both say after each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use handoffd::proto::v1;
use handoffd::workers::JobName;

use super::moves::{Dice, Move, Verb};
use super::reference::{Agent, Reference, Who};
use super::repeats::Said;
use super::views;
use crate::support::server::Node;
use crate::support::{TestServer, eventually};

/// Agents by number, and their slots at first.
pub(super) const AGENTS: [(&str, Option<u32>); 3] = [("a", None), ("b", Some(1)), ("c", Some(3))];
const RUNTIMES: usize = 2;
/// Beyond that nothing is made any more: what there is has to go on.
const MOST: usize = 24;

/// A game in course.
pub(super) struct Player<'s> {
    pub(super) server: &'s TestServer,
    pub(super) nodes: Vec<Arc<Node>>,
    pub(super) runtimes: Vec<u64>,
    pub(super) model: Reference,
    pub(super) said: Vec<Said>,
    pub(super) dice: Dice,
    pub(super) names: u32,
    played: Vec<String>,
}

impl<'s> Player<'s> {
    pub(super) async fn begin(server: &'s TestServer) -> Self {
        let now = server
            .clock
            .now()
            .await
            .duration_since(SystemTime::UNIX_EPOCH);
        let mut player = Self {
            server,
            nodes: vec![server.second().await, server.second().await],
            runtimes: Vec::new(),
            model: Reference {
                now: now.unwrap().as_secs(),
                ..Reference::default()
            },
            said: Vec::new(),
            dice: Dice::new([0; 7]),
            names: 0,
            played: Vec::new(),
        };
        for (at, (_, slots)) in AGENTS.into_iter().enumerate() {
            player.model.agents.push(Agent {
                active: true,
                slots,
            });
            player.put_agent(at, slots).await;
        }
        for runtime in 0..RUNTIMES {
            player.runtimes.push(0);
            player.register(runtime).await;
        }
        for (agent, pull) in [(0, false), (1, false), (0, true)] {
            player.make_thread(agent, pull).await;
        }
        player
    }

    /// A server to call.
    pub(super) fn node(&mut self) -> Arc<Node> {
        let at = self.dice.roll(self.nodes.len());
        Arc::clone(&self.nodes[at])
    }

    pub(super) fn tell(&mut self, what: String) {
        self.played.push(what);
    }

    /// A name that was not used before.
    pub(super) fn name(&mut self) -> String {
        self.names += 1;
        format!("name-{}", self.names)
    }

    pub(super) async fn play(&mut self, moves: &[Move]) {
        for (at, Move(verb, faces)) in moves.iter().enumerate() {
            self.dice = Dice::new(*faces);
            let before = self.model.clone();
            self.tell(format!("-- {verb:?}"));
            self.make(*verb).await;
            self.leases_agree().await;
            self.compare(&before, at % 16 == 15 || at + 1 == moves.len())
                .await;
        }
    }

    /// What was played, where something is wrong.
    pub(super) fn story(&self) -> String {
        self.played.join("\n")
    }

    async fn make(&mut self, verb: Verb) {
        match verb {
            Verb::Thread if self.model.threads.len() < MOST => {
                let agent = self.dice.roll(AGENTS.len());
                let pull = self.dice.one_in(2);
                self.make_thread(agent, pull).await;
            }
            Verb::Create if self.model.works.len() < MOST => self.create().await,
            Verb::Thread | Verb::Create => {}
            Verb::Send => self.send().await,
            Verb::Read => self.read().await,
            Verb::Ack => self.ack().await,
            Verb::Claim => self.claim().await,
            Verb::Beat => self.beat().await,
            Verb::Append => self.append().await,
            Verb::Finish => self.finish().await,
            Verb::Release => self.release().await,
            Verb::Cancel => self.cancel().await,
            Verb::Agent => self.change_agent().await,
            Verb::Advance => self.advance().await,
            Verb::Leases => {
                self.sweep_leases().await;
            }
            Verb::Quiet => self.sweep_quiet().await,
            Verb::Due => self.sweep_due().await,
            Verb::Crash => self.crash().await,
            Verb::Restart => self.restart().await,
            Verb::Repeat => self.repeat().await,
        }
    }

    /// Mostly a turn that lives; one whose runtime crashed calls no more.
    pub(super) fn turn(&mut self) -> Option<usize> {
        let all = 0..self.model.turns.len();
        let mine: Vec<usize> = all.filter(|at| !self.model.turns[*at].orphan).collect();
        let live = mine
            .iter()
            .copied()
            .filter(|at| !self.model.turns[*at].ended);
        let live: Vec<usize> = live.collect();
        if live.is_empty() || self.dice.one_in(10) {
            return self.dice.pick(&mine);
        }
        self.dice.pick(&live)
    }

    pub(super) fn who(&mut self) -> Who {
        if self.dice.one_in(3) {
            return Who::Outside;
        }
        self.turn().map_or(Who::Outside, Who::Turn)
    }

    pub(super) fn thread(&mut self) -> usize {
        self.dice.roll(self.model.threads.len())
    }

    pub(super) fn turn_ref(&self, who: Who) -> Option<v1::TurnRef> {
        let Who::Turn(turn) = who else {
            return None;
        };
        let it = &self.model.turns[turn];
        Some(v1::TurnRef {
            turn_id: it.id.clone(),
            token: it.token,
        })
    }

    pub(super) fn thread_id(&self, thread: Option<usize>) -> String {
        thread
            .map(|at| self.model.threads[at].id.clone())
            .unwrap_or_default()
    }

    async fn advance(&mut self) {
        let spans = [5, 10, 60, 65, 300, 1_800, 3_600, 90_000, 700_000];
        let span = spans[self.dice.roll(spans.len())];
        // A mark of life first: else leases count from the next look, as after an outage.
        if self.sweep_leases().await {
            self.tell(format!("{span} s pass"));
            self.server.clock.advance(Duration::from_secs(span)).await;
            self.model.now += span;
            let looks = self.dice.roll(4);
            if looks % 2 == 1 {
                self.sweep_leases().await;
            }
            if looks >= 2 {
                self.sweep_quiet().await;
            }
        }
    }

    /// Looks at leases, unless several ends would meet in one mailbox: their order is nobody's promise.
    async fn sweep_leases(&mut self) -> bool {
        let due = self.model.leases_due();
        let mut told = BTreeSet::new();
        for turn in &due {
            let thread = self.model.turns[*turn].thread;
            let ends = self.model.turns[*turn].running && self.model.is_last_loss(*turn);
            let parent = self.model.threads[thread].parent;
            if ends && parent.is_some() && !told.insert(parent) {
                return false;
            }
        }
        self.tell(format!("leases are looked at: {due:?}"));
        self.node().sweep(JobName::ExpireLeases).await;
        let resumed: Option<f64> = sqlx::query_scalar(
            "SELECT CASE WHEN isfinite(resume_time) THEN extract(epoch FROM resume_time)::float8 END
            FROM service",
        )
        .fetch_one(&self.server.pool)
        .await
        .unwrap();
        self.model.resumed =
            resumed.map_or(0, |seconds| Duration::from_secs_f64(seconds).as_secs());
        for turn in due {
            self.model.look_at_lease(turn);
        }
        true
    }

    async fn sweep_quiet(&mut self) {
        let due = self.model.quiet_due();
        let mut told = BTreeSet::new();
        for thread in &due {
            let parent = self.model.threads[*thread].parent;
            if self.model.is_given_up(*thread)
                && parent.is_some_and(|parent| due.contains(&parent) || !told.insert(parent))
            {
                return;
            }
        }
        self.tell(format!("quiet threads are looked at: {due:?}"));
        self.node().sweep(JobName::CheckQuiet).await;
        for thread in due {
            self.model.look_at_quiet(thread);
        }
    }

    async fn sweep_due(&mut self) {
        let due = self.model.works_due();
        self.tell(format!(
            "handoffs whose time is over are looked at: {due:?}"
        ));
        self.node().sweep(JobName::CheckDue).await;
        for work in due {
            self.model.look_at_due(work);
        }
    }

    async fn restart(&mut self) {
        let at = self.dice.roll(self.nodes.len());
        self.tell(format!("server {at} is stopped, and another one started"));
        self.nodes[at].stop().await;
        self.nodes[at] = self.server.second().await;
    }

    /// Calls of turns renew leases behind their answers: waits until that is done, before time moves.
    async fn leases_agree(&self) {
        let live = self.model.turns.iter().filter(|turn| !turn.ended);
        let expected: BTreeMap<String, u64> =
            live.map(|turn| (turn.id.clone(), turn.lease)).collect();
        let told = async || {
            let rows: Vec<(String, i64)> = sqlx::query_as(
                "SELECT 'trn_' || replace(turn_id::text, '-', ''),
                    extract(epoch FROM lease_expire_time)::bigint
                FROM turns WHERE end_time IS NULL",
            )
            .fetch_all(&self.server.pool)
            .await
            .unwrap();
            let rows = rows.into_iter();
            rows.map(|(id, lease)| (id, u64::try_from(lease).unwrap()))
                .collect::<BTreeMap<_, _>>()
        };
        let what = format!("live turns and their leases are {expected:?}");
        eventually(&what, async || told().await == expected).await;
    }

    /// What both sides say of everything that changed, or of everything.
    async fn compare(&mut self, before: &Reference, whole: bool) {
        let node = Arc::clone(&self.nodes[self.played.len() % self.nodes.len()]);
        let model = &self.model;
        let threads = (0..model.threads.len()).map(|at| (at, model.thread_facts(at)));
        let threads: Vec<_> = threads
            .filter(|(at, facts)| {
                whole || *at >= before.threads.len() || before.thread_facts(*at) != *facts
            })
            .collect();
        let works = (0..model.works.len()).map(|at| (at, model.work_facts(at)));
        let works: Vec<_> = works
            .filter(|(at, facts)| {
                whole || *at >= before.works.len() || before.work_facts(*at) != *facts
            })
            .collect();
        let node = &node;
        let told = join_all(
            threads
                .iter()
                .map(|(at, _)| views::thread(node, &model.threads[*at].id)),
        );
        for ((at, expected), told) in threads.iter().zip(told.await) {
            assert_eq!(
                told, *expected,
                "thread {at}, left: the server, right: the reference"
            );
        }
        let told = join_all(
            works
                .iter()
                .map(|(at, _)| views::work(node, &model.works[*at].id)),
        );
        for ((at, expected), told) in works.iter().zip(told.await) {
            assert_eq!(
                told, *expected,
                "handoff {at}, left: the server, right: the reference"
            );
        }
        self.open_work_agrees(node).await;
        let answer = node
            .operators()
            .check_invariants(v1::CheckInvariantsRequest::default())
            .await;
        assert_eq!(answer.unwrap().into_inner().violations, []);
    }

    async fn open_work_agrees(&self, node: &Node) {
        let request = v1::ListHandoffsRequest {
            page_size: Some(500),
            ..v1::ListHandoffsRequest::default()
        };
        let listed = node
            .status()
            .list_handoffs(request)
            .await
            .unwrap()
            .into_inner();
        let listed: BTreeSet<String> = listed
            .handoffs
            .into_iter()
            .map(|it| it.handoff_id)
            .collect();
        let works = self.model.works.iter();
        let open = works.filter(|it| it.end.as_ref().is_none_or(|end| end.kept.is_some()));
        assert_eq!(
            listed,
            open.map(|it| it.id.clone()).collect::<BTreeSet<_>>()
        );
    }
}
