//! Random commands in random batches over a database of maps, checked against every law after each:
//! the whole behaviour without PostgreSQL, tens of thousands of steps in seconds, and ten times as many
//! where it is compiled to be fast.

mod answers;
mod db;
mod doubts;
mod effects;
mod index;
mod laws;
mod moves;
mod reconciler;
mod touched;

use std::any::Any;
use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use crate::domain::agents::put::PutAgent;
use crate::domain::ask::{Ask, Beside};
use crate::domain::command::{Command, Context, Footprint, Route, RouteAsk, Stop};
use crate::domain::ids::{AgentId, IdSource, ThreadId};
use crate::domain::limits::{self, Rules};
use crate::domain::plan::Event;
use crate::domain::threads::Drive;
use crate::domain::threads::create::CreateThread;
use crate::domain::turns::assign::{self, Claimer};
use crate::domain::world::World;
use crate::fuzz;

use db::Db;
use doubts::Doubts;
use laws::Memory;
use moves::{AGENTS, Dice};
use touched::Touched;

/// How often a command may ask for more rows: what the pipeline allows.
const TRIES: usize = 5;

/// How many commits look only at what they touched before one looks at everything.
const TOUCHED_ONLY: usize = 64;

/// A command of any kind.
trait Step: Any {
    fn name(&self) -> &'static str;
    fn route(&self) -> RouteAsk;
    fn footprint(&self, route: &Route) -> Footprint;
    fn beside(&self, route: &Route, beside: &mut Beside);
    fn ask(&self, world: &World, ask: &mut Ask);
    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decided, Stop>;
}

struct Decided {
    events: Vec<Event>,
    answer: Option<Box<dyn Any>>,
}

impl<C: Command> Step for C {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn route(&self) -> RouteAsk {
        Command::route(self)
    }

    fn footprint(&self, route: &Route) -> Footprint {
        Command::footprint(self, route)
    }

    fn beside(&self, route: &Route, beside: &mut Beside) {
        Command::beside(self, route, beside);
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        Command::ask(self, world, ask);
    }

    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decided, Stop> {
        let decision = Command::decide(self, world, context)?;
        let answer = decision.answer.ok().map(|answer| Box::new(answer) as _);
        Ok(Decided {
            events: decision.events,
            answer,
        })
    }
}

struct Pending {
    step: Box<dyn Step>,
    extra: Footprint,
    tries: usize,
}

struct Model {
    db: Db,
    ids: IdSource,
    memory: Memory,
    batch: Vec<Pending>,
    commits: usize,
    /// What is done to commits besides, where their laws are tested.
    doubts: Option<Doubts>,
}

impl Model {
    /// One whose work ends after so many losses in a row.
    fn new(max_lost_turns: u32) -> Self {
        let mut random = 0_u64;
        let ids = IdSource::new(move || {
            random += 1;
            random
        });
        let rules = Rules {
            default_accept_handoffs: true,
            max_lost_turns,
            ..Rules::default()
        };
        let mut model = Self {
            db: Db::new(rules),
            ids,
            memory: Memory::default(),
            batch: Vec::new(),
            commits: 0,
            doubts: None,
        };
        for (name, max_turns) in AGENTS.into_iter().zip([None, Some(1), Some(3)]) {
            model.push(Box::new(PutAgent {
                agent_id: AgentId(name.to_owned()),
                display_name: name.to_owned(),
                description: String::new(),
                accepts_handoffs: None,
                on_turn_lost: None,
                default_deadline: None,
                claim_deadline: None,
                max_turns,
            }));
        }
        model.commit();
        for (name, drive) in AGENTS
            .into_iter()
            .zip([Drive::Runtime, Drive::Runtime, Drive::Pull])
        {
            model.push(Box::new(CreateThread {
                agent_id: AgentId(name.to_owned()),
                role: "init".to_owned(),
                drive,
                title: String::new(),
                hidden: false,
                listed: true,
                owner: None,
            }));
        }
        model.commit();
        model
    }

    fn push(&mut self, step: Box<dyn Step>) {
        self.batch.push(Pending {
            step,
            extra: Footprint::default(),
            tries: 0,
        });
    }

    /// One word: time moves, a runtime claims, or a command joins the batch.
    fn step(&mut self, word: u64) {
        let mut dice = Dice { db: &self.db, word };
        match dice.roll(24) {
            0 | 1 => {
                let spans = [1, 5, 11, 61, 600, 1_801, 3_601, 90_000, 700_000];
                let seconds = spans[usize::try_from(dice.roll(9)).unwrap()];
                self.commit();
                self.db.now = self.db.now + Duration::from_secs(seconds);
            }
            2 => {
                self.commit();
                self.sweep();
            }
            3..=6 => {
                self.commit();
                self.claim();
            }
            7 => {
                let running = dice.running_turn();
                self.commit();
                if let Some(turn) = running {
                    self.lose(&turn);
                }
            }
            _ => {
                let joins = dice.roll(3) > 0;
                let Some(step) = dice.command() else { return };
                if !joins || self.batch.len() >= 8 {
                    self.commit();
                }
                self.push(step);
            }
        }
    }

    /// Commits the batch, and again while a command of it needs more rows.
    fn commit(&mut self) {
        while !self.batch.is_empty() {
            let batch = std::mem::take(&mut self.batch);
            self.run(batch);
        }
    }

    fn run(&mut self, batch: Vec<Pending>) {
        let mut ask = RouteAsk::default();
        for it in &batch {
            ask.merge(it.step.route());
        }
        let route = self.db.route(&ask);
        let mut footprint = Footprint::default();
        for it in &batch {
            footprint.merge(&it.step.footprint(&route));
            footprint.merge(&it.extra);
        }
        let mut beside = Beside::default();
        for it in &batch {
            it.step.beside(&route, &mut beside);
            beside.keys.extend(&it.extra.keys);
        }
        let mut world = self.db.lock(footprint, &beside);
        world.route = route;
        let mut ask = Ask::default();
        ask.named
            .extend(world.loaded.keys.values().filter_map(|key| key.handoff_id));
        for it in &batch {
            it.step.ask(&world, &mut ask);
            ask.names.extend(it.extra.names.iter().cloned());
        }
        self.db.read(&ask, &mut world);
        for mut it in batch {
            let now = world.now;
            let mut context = Context {
                now,
                ids: &mut self.ids,
            };
            match it.step.decide(&world, &mut context) {
                Ok(decided) => {
                    let answer = decided.answer.as_deref();
                    let before = self.before(&*it.step, answer, &world);
                    let name = it.step.name();
                    let applied = world.apply(decided.events);
                    applied.unwrap_or_else(|error| panic!("{name}: {error}"));
                    self.after(&*it.step, answer, before, &world);
                    laws::heads(&world);
                }
                Err(Stop::Refused(_)) => {}
                Err(Stop::Needs(more)) => {
                    it.extra.merge(&more);
                    it.tries += 1;
                    assert!(it.tries <= TRIES, "{} never has enough", it.step.name());
                    self.batch.push(it);
                }
            }
        }
        self.write(&world);
    }

    /// W, and what must be so after it.
    fn write(&mut self, world: &World) {
        let touched = Touched::of(&self.db, world);
        if let Some(doubts) = &mut self.doubts {
            doubts.about(world, &self.db, &self.memory);
        }
        self.db.write(world);
        laws::touched(&self.db, &touched, &mut self.memory);
        self.commits += 1;
        if self.commits.is_multiple_of(TOUCHED_ONLY) {
            laws::all(&self.db, &mut self.memory);
        }
    }

    /// What the dispatcher does for waiting claims.
    fn claim(&mut self) {
        let now = self.db.now;
        let mut footprint = Footprint::default();
        for slots in self.db.slots.values() {
            footprint = footprint.slots(slots.agent_id.clone());
            let due = self.db.heads.values().filter(|head| {
                head.agent_id == slots.agent_id && head.wake_time.is_some_and(|time| time <= now)
            });
            let mut due: Vec<_> = due.collect();
            due.sort_by_key(|head| head.wake_time);
            let free = usize::try_from(assign::free_slots(slots).min(2)).unwrap();
            footprint
                .heads
                .extend(due.iter().take(free).map(|head| head.thread_id));
        }
        let due: BTreeSet<ThreadId> = footprint.heads.clone();
        let mut world = self.db.lock(footprint, &Beside::default());
        let mut ask = Ask::default();
        for head in due.iter().map(|id| world.heads.get(id).unwrap()) {
            if head.mail_number > head.consumed_through {
                let limit = limits::MAIL_PER_READ + 1;
                let bytes = limits::CLAIM_MAIL_BYTES;
                ask.mail(head.thread_id, head.consumed_through, limit, bytes);
                ask.waking.insert(head.thread_id);
            }
            ask.work.extend(head.unfinished_handoff());
            ask.threads.insert(head.thread_id);
        }
        self.db.read(&ask, &mut world);
        let claimer = Claimer {
            runtime_id: "r".to_owned(),
            incarnation: 1,
        };
        for id in due {
            let mut context = Context {
                now,
                ids: &mut self.ids,
            };
            let found = assign::decide(&world, &mut context, id, &claimer).unwrap();
            let Some((events, turn)) = found else {
                continue;
            };
            self.complete(
                &world,
                id,
                turn.consumed_through,
                turn.given_through,
                &turn.mail,
            );
            world.apply(events).unwrap();
            laws::heads(&world);
        }
        self.write(&world);
    }
}

/// Plays the words of one game to its end.
fn play(model: &mut Model, words: &[u64]) {
    for word in words {
        model.step(*word);
    }
    model.commit();
    model.sweep();
    laws::all(&model.db, &mut model.memory);
}

fn model_of(words: &[u64]) -> Model {
    let losses = words.len() % 3 + 1;
    Model::new(u32::try_from(losses).unwrap())
}

/// Games in every run of the tests.
const GAMES: u32 = 128;

#[test]
fn no_order_of_commands_breaks_a_law() {
    let words = prop::collection::vec(any::<u64>(), 1..400);
    fuzz::holds_for("HANDOFFD_MODEL_MINUTES", GAMES, words, |words| {
        play(&mut model_of(&words), &words);
        Ok(())
    });
}
