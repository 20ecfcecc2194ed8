//! Heartbeat: renews the leases of many turns at once and takes what they report of themselves. It
//! locks turns only, unless one of them makes its first call with it. Turns that run go a shorter way
//! where nothing hinders, by the same rule: see `heart`.

use serde::{Deserialize, Serialize};

use crate::domain::caller::begin;
use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::ids::TurnId;
use crate::domain::plan::Event;
use crate::domain::time::Timestamp;
use crate::domain::world::World;

use super::TurnOutcome;
use super::heart::{Heart, Stroke};

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
        /// There may be something to tell it.
        is_told: bool,
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
        let strokes: Vec<(Option<Heart>, Stroke)> = self
            .beats
            .iter()
            .map(|beat| self.stroke(world, beat))
            .collect();
        begun(world, &strokes)?;
        let mut events = Vec::new();
        let pulses = strokes
            .into_iter()
            .map(|(heart, stroke)| carry_out(world, heart, stroke, &mut events));
        let pulses = pulses.collect::<Result<_, Stop>>()?;
        Ok(Decision {
            events,
            answer: Ok(Pulses(pulses)),
        })
    }
}

impl Heartbeat {
    fn stroke(&self, world: &World, beat: &Beat) -> (Option<Heart>, Stroke) {
        let heart = world.turns.get(&beat.turn_id).map(Heart::from);
        let stroke = beat.stroke(self.runtime_id.as_deref(), heart.as_ref(), world.now);
        (heart, stroke)
    }
}

/// Asks at once for everything that turns which begin now need.
fn begun(world: &World, strokes: &[(Option<Heart>, Stroke)]) -> Result<(), Stop> {
    let mut needs = Footprint::default();
    let first = strokes
        .iter()
        .filter(|(_, stroke)| matches!(stroke, Stroke::First(_)));
    let turns = first.filter_map(|(heart, _)| world.turns.get(&heart.as_ref()?.turn_id));
    for turn in turns.filter(|turn| world.heads.get(&turn.thread_id).is_none()) {
        needs = needs.head(turn.thread_id).handoff(turn.handoff_id);
    }
    if needs == Footprint::default() {
        Ok(())
    } else {
        Err(Stop::Needs(needs))
    }
}

fn carry_out(
    world: &World,
    heart: Option<Heart>,
    stroke: Stroke,
    events: &mut Vec<Event>,
) -> Result<Pulse, Stop> {
    let Some(heart) = heart else {
        return Ok(Pulse::Unknown);
    };
    let turn_id = heart.turn_id;
    let lease_expire_time = world.now + world.rules.lease;
    let active = match stroke {
        Stroke::Unknown => return Ok(Pulse::Unknown),
        Stroke::Closed(outcome) => return Ok(Pulse::Closed(outcome)),
        Stroke::First(active) => {
            events.extend(begin(world, turn_id)?);
            active
        }
        Stroke::Next(active) => {
            events.push(Event::LeaseRenewed {
                turn_id,
                lease_expire_time,
            });
            active
        }
    };
    events.extend(active.map(|active| Event::TurnActive {
        turn_id,
        activity: active.activity,
        partial_text: active.partial_text,
    }));
    Ok(Pulse::Renewed {
        lease_expire_time,
        is_told: heart.is_told,
    })
}
