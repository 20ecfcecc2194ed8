//! A claim: assigns the wake of a thread to a runtime, with its mail and a short lease.
//!
//! Work handed to a poller that is gone returns with that lease and counts as no loss; the first call
//! of the turn makes it running.

use crate::domain::agents::{AgentState, Slots};
use crate::domain::command::{Context, Stop};
use crate::domain::handoffs::{Assignment, OnCompletion};
use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::limits;
use crate::domain::mailbox::Message;
use crate::domain::mailbox::read::{Stretch, stretch};
use crate::domain::plan::Event;
use crate::domain::threads::{Head, Owner};
use crate::domain::time::Timestamp;
use crate::domain::weight;
use crate::domain::world::World;

use super::{Activity, Turn, TurnState};

/// Who claims.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Claimer {
    /// Which runtime.
    pub runtime_id: String,
    /// In which life.
    pub incarnation: u64,
}

/// What a claim hands over with a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedTurn {
    /// Its id.
    pub turn_id: TurnId,
    /// Its fencing token.
    pub token: u64,
    /// The thread it runs.
    pub thread_id: ThreadId,
    /// Whose thread.
    pub agent_id: AgentId,
    /// The unfinished handoff the thread works on.
    pub handoff_id: Option<HandoffId>,
    /// In which attempt.
    pub attempt: u32,
    /// When the short lease ends.
    pub lease_expire_time: Timestamp,
    /// The thread the work is for.
    pub parent_thread_id: Option<ThreadId>,
    /// Whose thread that is.
    pub parent_agent_id: Option<AgentId>,
    /// The work ends only with a report.
    pub report_owed: bool,
    /// What is to be done.
    pub assignment: Option<Assignment>,
    /// Whom the turn acts for.
    pub owner: Option<Owner>,
    /// Mail handed over, in number order.
    pub mail: Vec<Message>,
    /// The consumed mark.
    pub consumed_through: u64,
    /// The given mark.
    pub given_through: u64,
    /// Unread waking mail that did not fit.
    pub waking_unread: u64,
    /// Turns of the thread that were lost in a row before this one.
    pub lost_turns: u32,
    /// When it was claimed.
    pub claim_time: Timestamp,
}

/// Bytes of a turn in an answer, without its texts: ids, numbers and times.
const FIXED_BYTES: usize = 512;

impl ClaimedTurn {
    /// Bytes it takes in an answer, not less and little more, without its signals.
    #[must_use]
    pub fn weight(&self) -> usize {
        let assignment = self.assignment.as_ref().map_or(0, |work| {
            work.task.len() + work.context_data.as_ref().map_or(0, weight::json)
        });
        let owner = self.owner.as_ref().map_or(0, |owner| {
            owner.subject.len() + owner.email.as_ref().map_or(0, String::len)
        });
        let agent = self.agent_id.0.len();
        let parent = self.parent_agent_id.as_ref().map_or(0, |id| id.0.len());
        // Each message names the agent whose mailbox it is.
        let mail: usize = self.mail.iter().map(|it| it.weight() + agent).sum();
        FIXED_BYTES + agent + parent + owner + assignment + mail
    }
}

/// How many more turns an agent may have.
#[must_use]
pub fn free_slots(slots: &Slots) -> u64 {
    match (slots.state, slots.max_turns) {
        (AgentState::Deactivated, _) => 0,
        (AgentState::Active, None) => u64::MAX,
        (AgentState::Active, Some(max)) => u64::from(max.saturating_sub(slots.live_turns)),
    }
}

/// Assigns the due wake of `thread_id`, or says that there is none to be had: now, where its work was
/// left out of what was read.
///
/// # Errors
/// Rows must be locked first.
pub fn decide(
    world: &World,
    context: &mut Context<'_>,
    thread_id: ThreadId,
    claimer: &Claimer,
) -> Result<Option<(Vec<Event>, ClaimedTurn)>, Stop> {
    let head = world.head(thread_id)?;
    let slots = world.slots(&head.agent_id)?;
    let due = head.wake_time.is_some_and(|time| time <= world.now);
    if !due || head.turn_id.is_some() || head.delete_time.is_some() || free_slots(slots) == 0 {
        return Ok(None);
    }
    let handoff_id = head.unfinished_handoff();
    if handoff_id.is_some_and(|id| world.loaded.work_left.contains(&id)) {
        return Ok(None);
    }
    let turn_id: TurnId = context.ids.next_kin(context.now, thread_id.into_untyped());
    let given = stretch(
        world,
        head,
        head.consumed_through,
        limits::MAIL_PER_READ,
        limits::CLAIM_MAIL_BYTES,
    );
    let lease_expire_time = world.now + world.rules.assign_lease;
    let turn = Turn {
        turn_id,
        thread_id,
        handoff_id,
        agent_id: head.agent_id.clone(),
        runtime_id: claimer.runtime_id.clone(),
        incarnation: claimer.incarnation,
        holds_slot: slots.max_turns.is_some(),
        token: head.turn_number + 1,
        state: TurnState::Assigned,
        claim_time: world.now,
        lease_expire_time,
        heartbeat_time: world.now,
        activity_time: world.now,
        activity: Activity::default(),
        partial_text: None,
        abort: None,
        check_time: Some(lease_expire_time),
        finish: None,
    };
    let mail = Event::MailGiven {
        thread_id,
        through: given.through,
        messages: given.tags(),
    };
    let handed = handed_over(world, head, &turn, given);
    Ok(Some((vec![Event::TurnAssigned(turn), mail], handed)))
}

/// What the claimer gets to see of `turn`.
fn handed_over(world: &World, head: &Head, turn: &Turn, given: Stretch) -> ClaimedTurn {
    let thread_id = head.thread_id;
    let read = turn.handoff_id.and_then(|id| world.loaded.work.get(&id));
    ClaimedTurn {
        turn_id: turn.turn_id,
        token: turn.token,
        thread_id,
        agent_id: head.agent_id.clone(),
        handoff_id: turn.handoff_id,
        attempt: read.map_or(0, |work| work.attempt),
        lease_expire_time: turn.lease_expire_time,
        parent_thread_id: head.parent_thread_id,
        parent_agent_id: read.and_then(|work| work.parent_agent_id.clone()),
        report_owed: read.is_some_and(|work| work.on_completion == OnCompletion::Notify),
        assignment: read.map(|work| work.assignment.clone()),
        owner: world
            .loaded
            .threads
            .get(&thread_id)
            .and_then(|thread| thread.owner.clone()),
        mail: given.messages,
        consumed_through: head.consumed_through,
        given_through: given.through,
        waking_unread: world.waking_above(thread_id, given.through).unwrap_or(0),
        lost_turns: head.lost_turns,
        claim_time: world.now,
    }
}
