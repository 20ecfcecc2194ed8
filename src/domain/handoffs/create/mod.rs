//! CreateHandoff: thread, handoff, assignment, first wake and history are one transaction: when the
//! call returns, the link works, on every server.
//!
//! The parent's head is locked, so that a creation and the parent's own end are ordered.

mod keys;
mod refuse;
mod target;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::agents::{Agent, AgentState, Slots};
use crate::domain::ask::{Ask, Beside};
use crate::domain::caller::{Acting, Caller};
use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::digest;
use crate::domain::ids::{AgentId, HandoffId, ThreadId};
use crate::domain::limits;
use crate::domain::plan::Event;
use crate::domain::refusal::{Refusal, Violation};
use crate::domain::threads::{Drive, Thread};
use crate::domain::world::World;

use super::quiet::undisturbed_look;
use super::{Actor, Assignment, Deadline, Handoff, OnCompletion, OnTurnLost, Progress, Watch};
use keys::work_key;
use refuse::Cause;
use target::resolve;

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct CreateHandoff {
    /// Who calls.
    #[serde(skip)]
    pub caller: Caller,
    /// The thread the work is for, where it is named.
    pub parent: Option<ThreadId>,
    /// What is to be done.
    pub task: String,
    /// Id or display name of the agent; the parent's own where it is not named.
    pub target: Option<String>,
    /// One line for people; from the task where it is not given.
    pub title: Option<String>,
    /// Off every normal surface.
    pub hidden: bool,
    /// On the default list.
    pub listed: bool,
    /// Structured context.
    pub context_data: Option<serde_json::Value>,
    /// Whether the parent is told.
    pub on_completion: Option<OnCompletion>,
    /// How long the call watches for the end; none where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch: Option<Duration>,
    /// How long it may run; the agent's default where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// What a lost turn does; the agent's default where it is not said.
    pub on_turn_lost: Option<OnTurnLost>,
    /// Names the work.
    pub idempotency_key: Option<String>,
    /// Names this request, so that a refusal repeated under it leaves one record.
    #[serde(skip)]
    pub request_id: Option<String>,
}

/// The handoff, new or found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// As it was when this answer was made.
    pub handoff: Handoff,
    /// Whose thread the parent is.
    pub parent_agent_id: Option<AgentId>,
    /// It was there before, under the same key or request id.
    pub deduplicated: bool,
}

impl Answer for Created {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

/// Who does the work, and for whom.
struct Parties<'w> {
    agent: &'w Agent,
    slots: &'w Slots,
    parent: Option<&'w crate::domain::threads::Head>,
    acting: Option<Acting>,
}

impl Command for CreateHandoff {
    type Answer = Created;
    const NAME: &'static str = "handoffs.create";

    fn lane_key(&self) -> u128 {
        match (self.caller, self.parent) {
            (Caller::Turn { turn_id, .. }, _) => turn_id.into_untyped().as_u128(),
            (Caller::Operator, Some(parent)) => parent.into_untyped().as_u128(),
            // Equal creations meet in one lane, and there in one batch.
            (Caller::Operator, None) => {
                let name = self.idempotency_key.as_deref().unwrap_or(&self.task);
                u128::from_be_bytes(digest::short(&[name.as_bytes()]))
            }
        }
    }

    fn caller(&self) -> &Caller {
        &self.caller
    }

    fn footprint(&self, route: &Route) -> Footprint {
        self.caller.footprint(self.parent, route)
    }

    fn beside(&self, route: &Route, beside: &mut Beside) {
        let parent = self.caller.thread(self.parent, route);
        let key = self.idempotency_key.as_deref();
        // Right where the target is named by its id; else its id is learnt first.
        let named = key.zip(self.target.as_deref());
        beside
            .keys
            .extend(named.map(|(key, agent)| work_key(agent, key)));
        beside.keys.extend(self.refusal_key(parent));
        beside.agents.extend(self.target.clone());
        beside.threads.extend(parent);
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        if self.target.is_none() {
            let parent = self.caller.thread(self.parent, &world.route);
            let head = parent.and_then(|parent| world.heads.get(&parent));
            ask.agents.extend(head.map(|head| head.agent_id.0.clone()));
        }
    }

    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decision<Created>, Stop> {
        let acting = self.caller.acting(world, self.parent)?;
        let parent = acting
            .as_ref()
            .map(|acting| world.head(acting.thread_id))
            .transpose()?;
        let target = self.target(parent.map(|head| &head.agent_id))?;
        let (agent, slots) = resolve(world, target)?;
        let parties = Parties {
            agent,
            slots,
            parent,
            acting,
        };
        if let Some(found) = self.find_work(world, &parties)? {
            return Ok(found);
        }
        let told = self.told(&parties)?;
        if let Some(head) = parties.parent.filter(|head| head.delete_time.is_some()) {
            return Ok(self.refused(
                world,
                context,
                &parties,
                told,
                &Cause::ParentDeleted(head.thread_id),
            ));
        }
        if parties.slots.state == AgentState::Deactivated {
            return Ok(self.refused(world, context, &parties, told, &Cause::Deactivated));
        }
        if !agent
            .accepts_handoffs
            .unwrap_or(world.rules.default_accept_handoffs)
        {
            return Err(Refusal::AgentAcceptsNoHandoffs {
                agent_id: agent.agent_id.clone(),
            }
            .into());
        }
        self.create(world, context, &parties, told)
    }
}

impl CreateHandoff {
    fn told(&self, parties: &Parties<'_>) -> Result<OnCompletion, Stop> {
        match (self.on_completion, parties.parent) {
            (Some(OnCompletion::Notify), None) => {
                let violation =
                    Violation::new("on_completion", "NOTIFY needs a parent thread to tell");
                Err(Refusal::Invalid(vec![violation]).into())
            }
            (Some(told), _) => Ok(told),
            (None, Some(_)) => Ok(OnCompletion::Notify),
            (None, None) if self.watch.is_some() => Ok(OnCompletion::Return),
            (None, None) => Ok(OnCompletion::None),
        }
    }

    fn create(
        &self,
        world: &World,
        context: &mut Context<'_>,
        parties: &Parties<'_>,
        told: OnCompletion,
    ) -> Result<Decision<Created>, Stop> {
        let mut handoff = self.record(context, parties, told);
        let child: ThreadId = context
            .ids
            .next_kin(context.now, handoff.handoff_id.into_untyped());
        let above = parties
            .parent
            .and_then(|head| world.loaded.threads.get(&head.thread_id));
        let depth = above.map_or(0, |above| above.depth + 1);
        if depth > limits::DEPTH {
            return Err(Refusal::DepthLimit {
                limit: limits::DEPTH,
            }
            .into());
        }
        handoff.child_thread_id = Some(child);
        let thread = Thread {
            thread_id: child,
            agent_id: parties.agent.agent_id.clone(),
            parent_thread_id: handoff.parent_thread_id,
            root_thread_id: above.map_or(child, |above| above.root_thread_id),
            depth,
            role: "task".to_owned(),
            drive: Drive::Runtime,
            title: handoff.title.clone(),
            hidden: self.hidden,
            listed: self.listed,
            owner: above.and_then(|above| above.owner.clone()),
            create_time: context.now,
        };
        let mut events = parties
            .acting
            .as_ref()
            .map_or_else(Vec::new, |acting| acting.begin.clone());
        events.push(Event::ThreadCreated(thread));
        events.push(Event::HandoffCreated {
            assignment: self.assignment(handoff.handoff_id),
            due_time: undisturbed_look(context.now, &world.rules),
            actor: actor(parties),
            handoff: handoff.clone(),
            earlier: self.earlier_record(world, parties),
        });
        events.extend(self.bind(&handoff));
        Ok(Decision {
            events,
            answer: Ok(created(handoff, parties, false)),
        })
    }

    fn record(
        &self,
        context: &mut Context<'_>,
        parties: &Parties<'_>,
        told: OnCompletion,
    ) -> Handoff {
        let policy = self
            .on_turn_lost
            .or(parties.agent.on_turn_lost)
            .unwrap_or(OnTurnLost::Retry);
        let parent = parties.parent.map(|head| head.thread_id);
        let handoff_id = match parent {
            Some(parent) => context.ids.next_kin(context.now, parent.into_untyped()),
            None => context.ids.next(context.now),
        };
        Handoff {
            handoff_id,
            parent_thread_id: parent,
            child_thread_id: None,
            agent_id: parties.agent.agent_id.clone(),
            title: self.title.clone().unwrap_or_else(|| title_of(&self.task)),
            attempt: 1,
            on_completion: told,
            on_turn_lost: policy,
            watch: self.watch.map(|window| Watch {
                end_time: context.now + window,
                turn_id: parties.acting.as_ref().and_then(|acting| acting.turn_id),
            }),
            deadline: self
                .deadline
                .or(parties.agent.default_deadline)
                .map(Deadline::new),
            claim_deadline_time: parties
                .agent
                .claim_deadline
                .map(|bound| context.now + bound),
            progress: Progress::Started,
            error: None,
            report_version: 0,
            result_version: None,
            progress_mail_number: None,
            event_number: 0,
            reminders_sent: 0,
            reminder_time: None,
            reminder_mail_number: None,
            stop_turn_id: None,
            idempotency_key: self.idempotency_key.clone(),
            create_time: context.now,
            update_time: context.now,
        }
    }

    fn assignment(&self, handoff_id: HandoffId) -> Assignment {
        Assignment {
            handoff_id,
            task: self.task.clone(),
            context_data: self.context_data.clone(),
        }
    }
}

fn created(handoff: Handoff, parties: &Parties<'_>, deduplicated: bool) -> Created {
    let parent_agent_id = parties.parent.map(|head| head.agent_id.clone());
    Created {
        handoff,
        parent_agent_id,
        deduplicated,
    }
}

fn actor(parties: &Parties<'_>) -> Actor {
    let by_turn = parties
        .acting
        .as_ref()
        .filter(|acting| acting.turn_id.is_some());
    by_turn.map_or(Actor::Operator, |acting| Actor::Thread(acting.thread_id))
}

/// The first line of a task that shows anything, as a title.
fn title_of(task: &str) -> String {
    let lines = task.lines().map(|line| {
        let shown: String = line.chars().filter(|c| !c.is_control()).collect();
        shown.trim().chars().take(limits::LINE_CHARS).collect()
    });
    lines
        .into_iter()
        .find(|line: &String| !line.is_empty())
        .unwrap_or_else(|| "untitled".to_owned())
}
