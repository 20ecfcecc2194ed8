//! CreateHandoff: thread, handoff, assignment, first wake and history are one transaction: when the
//! call returns, the link works, on every server.
//!
//! The parent's head is locked, so that a creation and the parent's own end are ordered.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::agents::{Agent, AgentState, Slots};
use crate::domain::caller::{Acting, Caller};
use crate::domain::command::{
    Answer, Ask, Command, Context, Decision, Fingerprint, Footprint, KeyHash, Route, Stop,
};
use crate::domain::ids::{AgentId, HandoffId, ThreadId};
use crate::domain::limits;
use crate::domain::plan::Event;
use crate::domain::refusal::{Refusal, Violation};
use crate::domain::threads::{Drive, Thread};
use crate::domain::world::World;

use super::{
    Actor, Assignment, ErrorCause, Handoff, HandoffError, OnCompletion, OnTurnLost, Outcome,
    Progress, TerminalStatus,
};

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
                u128::from_be_bytes(short_hash(&[name]))
            }
        }
    }

    fn caller(&self) -> &Caller {
        &self.caller
    }

    fn footprint(&self, route: &Route) -> Footprint {
        self.caller.footprint(self.parent, route)
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        let parent = self.caller.thread(self.parent, &world.route);
        let own = parent
            .and_then(|parent| world.heads.get(&parent))
            .map(|head| head.agent_id.0.clone());
        let target = self.target.clone().or(own);
        // Right where the target is named by its id; a display name shows its id in R.
        ask.keys.extend(
            self.idempotency_key
                .as_deref()
                .zip(target.as_deref())
                .map(|(key, agent)| work_key(agent, key)),
        );
        ask.agents.extend(target);
        ask.threads.extend(parent);
        ask.keys.extend(self.refusal_key(parent));
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
        self.create(world, context, parties, told)
    }
}

/// Why a creation leaves a record of its refusal.
enum Cause {
    Deactivated,
    ParentDeleted(ThreadId),
}

impl CreateHandoff {
    fn target<'s>(&'s self, own: Option<&'s AgentId>) -> Result<&'s str, Stop> {
        self.target
            .as_deref()
            .or(own.map(|agent| agent.0.as_str()))
            .ok_or_else(|| {
                let violation = Violation::new(
                    "target_agent",
                    "is required where there is no parent thread",
                );
                Refusal::Invalid(vec![violation]).into()
            })
    }

    fn told(&self, parties: &Parties<'_>) -> Result<OnCompletion, Stop> {
        match (self.on_completion, parties.parent) {
            (Some(OnCompletion::Notify), None) => {
                let violation =
                    Violation::new("on_completion", "NOTIFY needs a parent thread to tell");
                Err(Refusal::Invalid(vec![violation]).into())
            }
            (Some(told), _) => Ok(told),
            (None, Some(_)) => Ok(OnCompletion::Notify),
            (None, None) => Ok(OnCompletion::None),
        }
    }

    /// The handoff that the idempotency key names already.
    fn find_work(
        &self,
        world: &World,
        parties: &Parties<'_>,
    ) -> Result<Option<Decision<Created>>, Stop> {
        let agent_id = &parties.agent.agent_id;
        let Some(key) = self.idempotency_key.as_deref() else {
            return Ok(None);
        };
        let hash = work_key(&agent_id.0, key);
        let made = world.made.keys.get(&hash).map(|new| {
            let handoff = new.key.handoff_id.and_then(|id| world.handoffs.get(&id));
            (&new.key, handoff)
        });
        let stored = world
            .loaded
            .keys
            .get(&hash)
            .map(|(key, handoff)| (key, handoff.as_ref()));
        let Some((key, Some(handoff))) = made.or(stored) else {
            let known = world.covered.keys.contains(&hash);
            return if known {
                Ok(None)
            } else {
                Err(Stop::Needs(Footprint::default().key(hash)))
            };
        };
        if key.fingerprint != self.work_fingerprint(agent_id) {
            return Err(Refusal::IdempotencyConflict {
                what: "idempotency_key",
            }
            .into());
        }
        if handoff.parent_thread_id != parties.parent.map(|head| head.thread_id) {
            return Err(Refusal::KeyOfOtherParent {
                handoff_id: handoff.handoff_id,
            }
            .into());
        }
        let mut decision = Decision::unchanged(created(handoff.clone(), parties, true));
        decision.events = parties
            .acting
            .as_ref()
            .map_or_else(Vec::new, |acting| acting.begin.clone());
        Ok(Some(decision))
    }

    fn create(
        &self,
        world: &World,
        context: &mut Context<'_>,
        parties: Parties<'_>,
        told: OnCompletion,
    ) -> Result<Decision<Created>, Stop> {
        let child: ThreadId = context.ids.next(context.now);
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
        let mut handoff = self.record(context, &parties, told);
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
            due_time: context.now + world.rules.reminder_after,
            actor: actor(&parties),
            handoff: handoff.clone(),
            earlier: self.earlier_record(world, &parties),
        });
        events.extend(self.bind(&handoff));
        Ok(Decision {
            events,
            answer: Ok(created(handoff, &parties, false)),
        })
    }

    /// A refusal of the target's life cycle: an inspectable record, the same one for a repeat.
    fn refused(
        &self,
        world: &World,
        context: &mut Context<'_>,
        parties: &Parties<'_>,
        told: OnCompletion,
        cause: &Cause,
    ) -> Decision<Created> {
        let earlier = self.earlier_record(world, parties);
        let mut handoff = self.record(context, parties, told);
        let id = earlier.unwrap_or(handoff.handoff_id);
        let agent_id = parties.agent.agent_id.clone();
        let (refusal, cause) = match cause {
            Cause::Deactivated => (
                Refusal::AgentDeactivated {
                    agent_id,
                    handoff_id: Some(id),
                },
                ErrorCause::AgentDeactivated,
            ),
            Cause::ParentDeleted(thread_id) => (
                Refusal::ParentThreadDeleted {
                    thread_id: *thread_id,
                    handoff_id: Some(id),
                },
                ErrorCause::ParentThreadDeleted,
            ),
        };
        let mut events = parties
            .acting
            .as_ref()
            .map_or_else(Vec::new, |acting| acting.begin.clone());
        if earlier.is_none() {
            handoff.progress = Progress::Closed {
                status: TerminalStatus::MaterializeFailed,
                outcome: Outcome::Failed,
                outcome_stated: false,
                first_turn_time: None,
                finish_time: context.now,
                close_time: context.now,
            };
            handoff.error = Some(HandoffError {
                cause,
                failure_class: None,
                summary: refusal.to_string(),
                advice: "Remedy that and create the handoff again.".to_owned(),
            });
            let assignment = self.assignment(id);
            let name = self.refusal_key(handoff.parent_thread_id);
            events.push(Event::HandoffRefused {
                handoff,
                assignment,
                actor: actor(parties),
            });
            events.extend(name.map(|hash| Event::KeyBound {
                hash,
                fingerprint: [0; 32],
                handoff_id: Some(id),
                answer: None,
            }));
        }
        Decision {
            events,
            answer: Err(refusal),
        }
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
        Handoff {
            handoff_id: context.ids.next(context.now),
            parent_thread_id: parties.parent.map(|head| head.thread_id),
            child_thread_id: None,
            agent_id: parties.agent.agent_id.clone(),
            title: self.title.clone().unwrap_or_else(|| title_of(&self.task)),
            attempt: 1,
            on_completion: told,
            on_turn_lost: policy,
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

    fn bind(&self, handoff: &Handoff) -> Option<Event> {
        let hash = work_key(&handoff.agent_id.0, self.idempotency_key.as_deref()?);
        let fingerprint = self.work_fingerprint(&handoff.agent_id);
        Some(Event::KeyBound {
            hash,
            fingerprint,
            handoff_id: Some(handoff.handoff_id),
            answer: None,
        })
    }

    /// The work that a key names: not its parent, title, visibility or notification.
    fn work_fingerprint(&self, agent: &AgentId) -> Fingerprint {
        let work = serde_json::json!(["1", agent, self.task, self.context_data]);
        Sha256::digest(work.to_string()).into()
    }

    /// Names a refusal of this request, so that its repeat points to the same record. A refused call
    /// binds nothing, so other work under the same name is another refusal.
    fn refusal_key(&self, parent: Option<ThreadId>) -> Option<KeyHash> {
        let name = self.idempotency_key.as_deref().map(|key| ("key", key));
        let (kind, name) = name.or(self.request_id.as_deref().map(|id| ("request", id)))?;
        let parent = parent.map(|parent| parent.to_string());
        let work = serde_json::json!([parent, self.target, self.task, self.context_data]);
        Some(short_hash(&["refused", kind, name, &work.to_string()]))
    }

    fn earlier_record(&self, world: &World, parties: &Parties<'_>) -> Option<HandoffId> {
        let hash = self.refusal_key(parties.parent.map(|head| head.thread_id))?;
        let made = world.made.keys.get(&hash).map(|new| &new.key);
        made.or(world.loaded.keys.get(&hash).map(|(key, _)| key))
            .and_then(|key| key.handoff_id)
    }
}

/// The stored form of an idempotency key: it is unique for each target agent.
fn work_key(agent: &str, key: &str) -> KeyHash {
    short_hash(&["work", agent, key])
}

fn short_hash(parts: &[&str]) -> KeyHash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let mut hash = [0; 16];
    hash.copy_from_slice(&hasher.finalize()[..16]);
    hash
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

/// The agent of an id, or of a display name that only one has.
fn resolve<'w>(world: &'w World, target: &str) -> Result<(&'w Agent, &'w Slots), Refusal> {
    if let Some((agent, slots)) = world.loaded.agents.get(&AgentId(target.to_owned())) {
        return Ok((agent, slots));
    }
    let wanted = target.to_lowercase();
    let named = world
        .loaded
        .agents
        .values()
        .filter(|(agent, _)| agent.display_name.to_lowercase() == wanted);
    let named: Vec<&(Agent, Slots)> = named.collect();
    match named.as_slice() {
        [(agent, slots)] => Ok((agent, slots)),
        [] => Err(Refusal::AgentNotFound(target.to_owned())),
        several => {
            let candidates: Vec<String> = several
                .iter()
                .map(|(agent, _)| format!("`{}`", agent.agent_id))
                .collect();
            Err(Refusal::AgentNameAmbiguous {
                name: target.to_owned(),
                candidates: candidates.join(", "),
            })
        }
    }
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
