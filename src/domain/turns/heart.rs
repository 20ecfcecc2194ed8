//! A turn as a heartbeat sees it, and the rule of heartbeats, which stands here once.
//!
//! Heartbeats are the most frequent calls by far, and of the many columns of a turn they read and
//! write a few. So they travel with hearts where they can; the command over a `World`, which may also
//! begin a turn, makes its hearts from whole turns and goes by the same rule.

use std::time::Duration;

use crate::domain::ids::TurnId;
use crate::domain::time::Timestamp;
use crate::domain::world::Table;

use super::heartbeat::{ActivityReport, Beat, Pulse};
use super::{Activity, Turn, TurnOutcome, TurnState};

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Heart {
    /// Which turn.
    pub turn_id: TurnId,
    /// Who holds it.
    pub runtime_id: String,
    /// Its fencing token.
    pub token: u64,
    /// Where it stands.
    pub state: TurnState,
    /// Its last activity.
    pub activity_time: Timestamp,
    /// What was reported of it.
    pub activity: Activity,
    /// Text in the making that a beat brought; none leaves what is stored.
    pub partial_text: Option<String>,
    /// It may have to be told something: a stop, or mail that it was not given.
    pub is_told: bool,
}

impl From<&Turn> for Heart {
    fn from(turn: &Turn) -> Self {
        Self {
            turn_id: turn.turn_id,
            runtime_id: turn.runtime_id.clone(),
            token: turn.token,
            state: turn.state,
            activity_time: turn.activity_time,
            activity: turn.activity.clone(),
            partial_text: None,
            is_told: true,
        }
    }
}

/// What a beat does to its turn. Where the turn lives, its lease is renewed too.
#[derive(Clone, Debug, PartialEq)]
pub enum Stroke {
    /// There is no such turn with this token.
    Unknown,
    /// Nothing: it was closed.
    Closed(TurnOutcome),
    /// It begins, if this is what begins it.
    First(Option<Active>),
    /// It goes on.
    Next(Option<Active>),
}

/// Turns that are beaten for together.
#[derive(Debug)]
pub struct Hearts {
    /// Database time.
    pub now: Timestamp,
    /// How long a lease lasts.
    pub lease: Duration,
    /// By id.
    pub of: Table<TurnId, Heart>,
}

impl Hearts {
    /// Beats for one turn, unless the beat begins it: that takes more than a heart.
    pub fn beat(&mut self, runtime_id: Option<&str>, beat: &Beat) -> Option<Pulse> {
        let heart = self.of.get(&beat.turn_id);
        match beat.stroke(runtime_id, heart, self.now) {
            Stroke::Unknown => Some(Pulse::Unknown),
            Stroke::Closed(outcome) => Some(Pulse::Closed(outcome)),
            Stroke::First(_) => None,
            Stroke::Next(active) => self.renew(beat.turn_id, active),
        }
    }

    /// When a lease that is renewed now ends.
    #[must_use]
    pub fn lease_expire_time(&self) -> Timestamp {
        self.now + self.lease
    }

    fn renew(&mut self, id: TurnId, active: Option<Active>) -> Option<Pulse> {
        let (now, lease_expire_time) = (self.now, self.lease_expire_time());
        let heart = self.of.get_mut(&id)?;
        if let Some(active) = active {
            heart.activity = active.activity;
            heart.activity_time = now;
            heart.partial_text = active.partial_text.or(heart.partial_text.take());
        }
        Some(Pulse::Renewed {
            lease_expire_time,
            is_told: heart.is_told,
        })
    }
}

/// News of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    /// The totals with it.
    pub activity: Activity,
    /// Text in the making; none leaves what there was.
    pub partial_text: Option<String>,
}

impl Beat {
    /// The rule. `runtime_id` is the runtime that calls, none where the server beats by itself; a turn
    /// of another one is unknown to it.
    #[must_use]
    pub fn stroke(
        &self,
        runtime_id: Option<&str>,
        heart: Option<&Heart>,
        now: Timestamp,
    ) -> Stroke {
        let is_known = |heart: &&Heart| {
            heart.token == self.token && runtime_id.is_none_or(|id| *id == heart.runtime_id)
        };
        let Some(heart) = heart.filter(is_known) else {
            return Stroke::Unknown;
        };
        match heart.state {
            TurnState::Ended { outcome, .. } => Stroke::Closed(outcome),
            TurnState::Assigned => Stroke::First(self.news(heart, now)),
            TurnState::Running => Stroke::Next(self.news(heart, now)),
        }
    }

    /// What this beat says that is new.
    fn news(&self, heart: &Heart, now: Timestamp) -> Option<Active> {
        let before = &heart.activity;
        let report = self.activity.as_ref();
        match report.filter(|report| report.sequence > before.number) {
            Some(report) => Some(report.upon(before, now)),
            None => self.active.then(|| Active {
                activity: before.clone(),
                partial_text: None,
            }),
        }
    }
}

impl ActivityReport {
    fn upon(&self, before: &Activity, now: Timestamp) -> Active {
        let mut activity = before.clone();
        activity.number = self.sequence;
        activity.tool_calls += self.tool_calls.len() as u64;
        if let Some(last) = self.tool_calls.last() {
            activity.last_tool = Some(last.name.clone());
            activity.last_tool_time = Some(last.time.map_or(now, |time| time.min(now)));
        }
        let most = |said: Option<u64>, before: u64| said.unwrap_or(before).max(before);
        activity.input_tokens = most(self.input_tokens, before.input_tokens);
        activity.output_tokens = most(self.output_tokens, before.output_tokens);
        Active {
            activity,
            partial_text: self.partial_text.clone(),
        }
    }
}
