//! Heartbeat: renews the leases of many turns at once and takes what they report of themselves. It
//! locks turns only, unless one of them makes its first call with it.

use serde::{Deserialize, Serialize};

use crate::domain::caller::begin;
use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::ids::{ThreadId, TurnId};
use crate::domain::plan::Event;
use crate::domain::time::Timestamp;
use crate::domain::world::World;

use super::{AbortRequest, Activity, Turn, TurnOutcome, TurnState};

/// What a runtime reports of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ActivityReport {
    /// Grows with each report of the turn; one that was taken before is passed over.
    pub sequence: u64,
    /// Tool calls since the last report, oldest first.
    pub tool_calls: Vec<ToolUse>,
    /// Text in the making; replaces the one before.
    pub partial_text: Option<String>,
    /// Input tokens so far.
    pub input_tokens: Option<u64>,
    /// Output tokens so far.
    pub output_tokens: Option<u64>,
}

/// One tool call, as a heartbeat reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolUse {
    /// Which tool.
    pub name: String,
    /// When the runtime says it was; the database's time where it does not.
    pub time: Option<Timestamp>,
}

/// One turn of a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Beat {
    /// Which turn.
    pub turn_id: TurnId,
    /// Its fencing token.
    pub token: u64,
    /// What it reports.
    pub activity: Option<ActivityReport>,
    /// Another call of the turn did something: counts as activity.
    pub active: bool,
}

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct Heartbeat {
    /// The runtime that calls: a turn of another one is unknown to it. None where the server itself
    /// beats for a turn whose other call it saw.
    pub runtime_id: Option<String>,
    /// The turns, each once.
    pub beats: Vec<Beat>,
}

/// How one turn stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pulse {
    /// It lives.
    Renewed {
        /// When its lease ends now.
        lease_expire_time: Timestamp,
        /// The thread it runs, whose mail may have to be told.
        thread_id: ThreadId,
        /// The stop asked of it.
        abort: Option<AbortRequest>,
    },
    /// It was closed.
    Closed(TurnOutcome),
    /// There is no such turn with this token.
    Unknown,
}

/// How the turns stand, in the order they were sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulses(pub Vec<Pulse>);

impl Answer for Pulses {
    fn mark_deduplicated(&mut self) {}
}

impl Command for Heartbeat {
    type Answer = Pulses;
    const NAME: &'static str = "turns.heartbeat";
    const DURABLE: bool = false;

    fn lane_key(&self) -> u128 {
        self.beats
            .first()
            .map_or(0, |beat| beat.turn_id.into_untyped().as_u128())
    }

    fn footprint(&self, _: &Route) -> Footprint {
        self.beats
            .iter()
            .fold(Footprint::default(), |footprint, beat| {
                footprint.turn(beat.turn_id)
            })
    }

    fn decide(&self, world: &World, _: &mut Context<'_>) -> Result<Decision<Pulses>, Stop> {
        self.begun(world)?;
        let mut events = Vec::new();
        let mut pulses = Vec::with_capacity(self.beats.len());
        for beat in &self.beats {
            let Some(turn) = self.known(world, beat) else {
                pulses.push(Pulse::Unknown);
                continue;
            };
            pulses.push(beat.decide(world, turn, &mut events)?);
        }
        Ok(Decision {
            events,
            answer: Ok(Pulses(pulses)),
        })
    }
}

impl Heartbeat {
    /// The turn of a beat, if it is that runtime's and the token is right.
    fn known<'a>(&self, world: &'a World, beat: &Beat) -> Option<&'a Turn> {
        world.turns.get(&beat.turn_id).filter(|turn| {
            let held = self.runtime_id.as_ref();
            turn.token == beat.token && held.is_none_or(|runtime| *runtime == turn.runtime_id)
        })
    }

    /// Asks at once for everything that turns which begin now need.
    fn begun(&self, world: &World) -> Result<(), Stop> {
        let mut needs = Footprint::default();
        for beat in &self.beats {
            let turn = self.known(world, beat);
            if let Some(turn) = turn.filter(|turn| turn.state == TurnState::Assigned)
                && world.heads.get(&turn.thread_id).is_none()
            {
                needs = needs.head(turn.thread_id).handoff(turn.handoff_id);
            }
        }
        if needs == Footprint::default() {
            Ok(())
        } else {
            Err(Stop::Needs(needs))
        }
    }
}

impl Beat {
    fn decide(&self, world: &World, turn: &Turn, events: &mut Vec<Event>) -> Result<Pulse, Stop> {
        let lease_expire_time = world.now + world.rules.lease;
        match turn.state {
            TurnState::Ended { outcome, .. } => return Ok(Pulse::Closed(outcome)),
            TurnState::Assigned => events.extend(begin(world, turn.turn_id)?),
            TurnState::Running => {
                events.push(Event::LeaseRenewed {
                    turn_id: turn.turn_id,
                    lease_expire_time,
                });
            }
        }
        if let Some(activity) = self.totals(turn, world.now) {
            events.push(Event::TurnActive {
                turn_id: turn.turn_id,
                activity,
            });
        }
        Ok(Pulse::Renewed {
            lease_expire_time,
            thread_id: turn.thread_id,
            abort: turn.abort.clone(),
        })
    }

    /// The totals after this report, if it says anything new.
    fn totals(&self, turn: &Turn, now: Timestamp) -> Option<Activity> {
        let before = &turn.activity;
        let report = self
            .activity
            .as_ref()
            .filter(|report| report.sequence > before.number);
        let Some(report) = report else {
            return self.active.then(|| before.clone());
        };
        let mut after = before.clone();
        after.number = report.sequence;
        after.tool_calls += report.tool_calls.len() as u64;
        if let Some(last) = report.tool_calls.last() {
            after.last_tool = Some(last.name.clone());
            after.last_tool_time = Some(last.time.map_or(now, |time| time.min(now)));
        }
        if report.partial_text.is_some() {
            after.partial_text.clone_from(&report.partial_text);
        }
        after.input_tokens = report
            .input_tokens
            .unwrap_or(before.input_tokens)
            .max(before.input_tokens);
        after.output_tokens = report
            .output_tokens
            .unwrap_or(before.output_tokens)
            .max(before.output_tokens);
        Some(after)
    }
}
