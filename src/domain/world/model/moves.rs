//! Random commands, made of what is stored: each word of numbers names one.

mod handoffs;
mod turns;

use std::time::Duration;

use crate::domain::agents::AgentState;
use crate::domain::agents::put::PutAgent;
use crate::domain::agents::set_state::SetAgentState;
use crate::domain::caller::Caller;
use crate::domain::effects::put_off::PutOffEffect;
use crate::domain::effects::run::RunEffect;
use crate::domain::handoffs::quiet::CheckQuiet;
use crate::domain::handoffs::{Handoff, Outcome};
use crate::domain::history::EventKind;
use crate::domain::ids::{AgentId, HandoffId, ThreadId};
use crate::domain::mailbox::MessageKind;
use crate::domain::mailbox::ack::{AckMail, ReportAck};
use crate::domain::mailbox::read::ReadMail;
use crate::domain::mailbox::send::SendMessage;
use crate::domain::threads::Drive;
use crate::domain::threads::append::AppendEvents;
use crate::domain::threads::create::CreateThread;
use crate::domain::turns::expire::ExpireLease;
use crate::domain::turns::{Turn, TurnState};

use super::Step;
use super::db::Db;

/// Where the numbers of a word go.
pub(super) struct Dice<'a> {
    pub(super) db: &'a Db,
    pub(super) word: u64,
}

pub(super) const AGENTS: [&str; 3] = ["a", "b", "c"];

impl Dice<'_> {
    /// A number below `sides`; each call takes the next part of the word.
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        let face = self.word % sides;
        self.word = (self.word / sides) ^ (self.word << 51) ^ 0x9e37_79b9;
        face
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    fn pick<'i, T>(&mut self, mut items: impl ExactSizeIterator<Item = &'i T>) -> Option<&'i T> {
        let sides = u64::try_from(items.len()).unwrap();
        if sides == 0 {
            return None;
        }
        items.nth(usize::try_from(self.roll(sides)).unwrap())
    }

    fn thread(&mut self) -> Option<ThreadId> {
        let db = self.db;
        self.pick(db.heads.values()).map(|head| head.thread_id)
    }

    fn agent(&mut self) -> AgentId {
        let at = usize::try_from(self.roll(3)).unwrap();
        AgentId(AGENTS[at].to_owned())
    }

    /// Mostly one that lives.
    fn turn(&mut self) -> Option<Turn> {
        let db = self.db;
        let live: Vec<&Turn> = db.live_turns().collect();
        if live.is_empty() || self.one_in(12) {
            return self.pick(db.turns.values()).cloned();
        }
        self.pick(live.iter()).map(|turn| (*turn).clone())
    }

    pub(super) fn running_turn(&mut self) -> Option<Turn> {
        let running = self.db.live_turns();
        let running: Vec<&Turn> = running
            .filter(|turn| turn.state == TurnState::Running)
            .collect();
        self.pick(running.iter()).map(|turn| (*turn).clone())
    }

    fn token(&mut self, turn: &Turn) -> u64 {
        turn.token + u64::from(self.one_in(20))
    }

    fn caller(&mut self) -> (Caller, Option<ThreadId>) {
        let turn = if self.one_in(3) { None } else { self.turn() };
        match turn {
            Some(turn) => {
                let named = self.one_in(3).then_some(turn.thread_id);
                let token = self.token(&turn);
                let turn_id = turn.turn_id;
                (Caller::Turn { turn_id, token }, named)
            }
            None => (Caller::Operator, self.thread()),
        }
    }

    fn handoff(&mut self) -> Option<HandoffId> {
        let db = self.db;
        let open: Vec<HandoffId> = db
            .handoffs
            .values()
            .filter(|it| it.is_unfinished())
            .map(|it| it.handoff_id)
            .collect();
        if open.is_empty() || self.one_in(4) {
            return self.pick(db.handoffs.values()).map(|it| it.handoff_id);
        }
        self.pick(open.iter()).copied()
    }

    /// Report versions of handoffs that a thread gave, right or a little too high.
    fn acks(&mut self, caller: Caller, named: Option<ThreadId>) -> Vec<ReportAck> {
        let db = self.db;
        let parent = match caller {
            Caller::Operator => named,
            Caller::Turn { turn_id, .. } => db.turns.get(&turn_id).map(|turn| turn.thread_id),
        };
        if self.one_in(2) {
            return Vec::new();
        }
        let mine: Vec<&Handoff> = if let Some(id) = parent {
            db.children_of(id).collect()
        } else {
            let all = db.handoffs.values();
            all.filter(|it| it.parent_thread_id.is_none()).collect()
        };
        let Some(handoff) = self.pick(mine.iter()) else {
            return Vec::new();
        };
        let version = handoff.report_version + u64::from(self.one_in(2));
        vec![ReportAck {
            handoff_id: handoff.handoff_id,
            version,
        }]
    }

    fn number(&mut self, thread: Option<ThreadId>) -> Option<u64> {
        let head = thread.and_then(|id| self.db.heads.get(&id))?;
        let (consumed, given, last) = (head.consumed_through, head.given_through, head.mail_number);
        match self.roll(8) {
            0 | 1 => None,
            2 => Some(consumed),
            3 => Some(given),
            4 => Some(last),
            5 => Some(consumed.midpoint(given)),
            6 => Some(given + 1),
            _ => Some(self.roll(last + 2)),
        }
    }

    fn thread_of(&self, caller: Caller, named: Option<ThreadId>) -> Option<ThreadId> {
        match caller {
            Caller::Operator => named,
            Caller::Turn { turn_id, .. } => self.db.turns.get(&turn_id).map(|it| it.thread_id),
        }
    }

    /// The next command, if the numbers name one.
    pub(super) fn command(&mut self) -> Option<Box<dyn Step>> {
        match self.roll(64) {
            0..=11 => Some(self.send()),
            12..=17 => Some(self.read()),
            18..=21 => Some(self.ack()),
            22..=29 => Some(self.create()),
            30..=33 => self.cancel(),
            34..=36 => Some(self.append()),
            37..=46 => self.finish(),
            47 | 48 => self.release(),
            49..=52 => self.beat(),
            53..=56 => self.turn().map(|turn| {
                Box::new(ExpireLease {
                    turn_id: turn.turn_id,
                }) as _
            }),
            57..=60 => self
                .thread()
                .map(|thread_id| Box::new(CheckQuiet { thread_id }) as _),
            61 => match self.roll(6) {
                0 => Some(self.thread_of_agent()),
                1 => self.due(),
                2 | 3 => self.extend(),
                _ => self.effect(),
            },
            62 => Some(self.put()),
            _ => Some(self.state()),
        }
    }

    fn send(&mut self) -> Box<dyn Step> {
        let (caller, from) = self.caller();
        let from = if self.one_in(8) { None } else { from };
        let kind = match self.roll(6) {
            0 | 1 => None,
            2 | 3 => Some(MessageKind::Report),
            4 => Some(MessageKind::Progress),
            _ => Some(MessageKind::Note),
        };
        let to = if self.one_in(2) { None } else { self.thread() };
        let outcome = [
            None,
            Some(Outcome::Succeeded),
            Some(Outcome::Blocked),
            Some(Outcome::Failed),
        ];
        let outcome = outcome[usize::try_from(self.roll(4)).unwrap()];
        Box::new(SendMessage {
            caller,
            from,
            to,
            to_agent: if self.one_in(20) {
                Some(self.agent())
            } else {
                None
            },
            kind,
            quiet: kind == Some(MessageKind::Note) && self.one_in(4),
            subject: String::new(),
            body: "x".repeat(1 + 700 * usize::try_from(self.roll(30)).unwrap()),
            data: None,
            artifacts: Vec::new(),
            outcome: if kind == Some(MessageKind::Note) {
                None
            } else {
                outcome
            },
            in_reply_to: None,
            handoff: if self.one_in(8) { self.handoff() } else { None },
        })
    }

    fn read(&mut self) -> Box<dyn Step> {
        let (caller, thread) = self.caller();
        let acting = self.thread_of(caller, thread);
        Box::new(ReadMail {
            caller,
            thread,
            received_through: self.number(acting),
            max_messages: 1 + usize::try_from(self.roll(5)).unwrap(),
            peek: self.one_in(4),
            kinds: Vec::new(),
        })
    }

    fn ack(&mut self) -> Box<dyn Step> {
        let (caller, thread) = self.caller();
        let acting = self.thread_of(caller, thread);
        Box::new(AckMail {
            caller,
            thread,
            received_through: self.number(acting),
            reports: self.acks(caller, thread),
        })
    }

    fn append(&mut self) -> Box<dyn Step> {
        let (caller, thread) = self.caller();
        let kinds = vec![
            EventKind::ToolCall {
                call_id: "1".to_owned(),
                name: "tool".to_owned(),
                arguments: serde_json::Value::Null,
            },
            EventKind::Checkpoint {
                data: serde_json::Value::Null,
                open_handoff_ids: Vec::new(),
            },
        ];
        Box::new(AppendEvents {
            caller,
            thread,
            kinds,
        })
    }

    fn thread_of_agent(&mut self) -> Box<dyn Step> {
        let drive = if self.one_in(2) {
            Drive::Pull
        } else {
            Drive::Runtime
        };
        Box::new(CreateThread {
            agent_id: self.agent(),
            role: "init".to_owned(),
            drive,
            title: String::new(),
            hidden: false,
            listed: true,
            owner: None,
        })
    }

    /// One that is run, early or not, or cannot be run.
    fn effect(&mut self) -> Option<Box<dyn Step>> {
        let db = self.db;
        let effect = self.pick(db.effects.values())?.reference();
        Some(if self.one_in(2) {
            Box::new(PutOffEffect { effect })
        } else {
            Box::new(RunEffect { effect })
        })
    }

    fn put(&mut self) -> Box<dyn Step> {
        let agent_id = self.agent();
        let limits = [None, Some(0), Some(1), Some(3)];
        Box::new(PutAgent {
            display_name: agent_id.0.clone(),
            agent_id,
            description: String::new(),
            accepts_handoffs: Some(true),
            on_turn_lost: None,
            default_deadline: self.one_in(4).then(|| Duration::from_hours(1)),
            claim_deadline: self.one_in(4).then(|| Duration::from_mins(10)),
            max_turns: limits[usize::try_from(self.roll(4)).unwrap()],
        })
    }

    fn state(&mut self) -> Box<dyn Step> {
        let off = self.one_in(3);
        let state = if off {
            AgentState::Deactivated
        } else {
            AgentState::Active
        };
        Box::new(SetAgentState {
            agent_id: self.agent(),
            state,
        })
    }
}
