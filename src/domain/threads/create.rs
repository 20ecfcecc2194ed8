//! CreateThread: makes a root thread. Child threads come with their handoff.

use serde::{Deserialize, Serialize};

use crate::domain::agents;
use crate::domain::ask::Beside;
use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::ids::{AgentId, ThreadId};
use crate::domain::plan::Event;
use crate::domain::refusal::Refusal;
use crate::domain::world::World;

use super::{Drive, Owner, Thread};

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct CreateThread {
    /// Whose thread.
    pub agent_id: AgentId,
    /// What it is for.
    pub role: String,
    /// How it is run.
    pub drive: Drive,
    /// One line for people.
    pub title: String,
    /// Off every normal surface.
    pub hidden: bool,
    /// On the default list.
    pub listed: bool,
    /// Whom its turns act for.
    pub owner: Option<Owner>,
}

/// What the caller hears; the thread itself is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// The new thread.
    pub thread_id: ThreadId,
    /// It was made before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for Created {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for CreateThread {
    type Answer = Created;
    const NAME: &'static str = "threads.create";

    fn lane_key(&self) -> u128 {
        agents::lane_key(&self.agent_id)
    }

    fn footprint(&self, _: &Route) -> Footprint {
        Footprint::default()
    }

    fn beside(&self, _: &Route, beside: &mut Beside) {
        beside.agents.insert(self.agent_id.0.clone());
    }

    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decision<Created>, Stop> {
        if world.agent(&self.agent_id).is_none() {
            return Err(Refusal::AgentNotFound(self.agent_id.0.clone()).into());
        }
        let thread_id = context.ids.next(context.now);
        let thread = Thread {
            thread_id,
            agent_id: self.agent_id.clone(),
            parent_thread_id: None,
            root_thread_id: thread_id,
            depth: 0,
            role: self.role.clone(),
            drive: self.drive,
            title: self.title.clone(),
            hidden: self.hidden,
            listed: self.listed,
            owner: self.owner.clone(),
            create_time: context.now,
        };
        Ok(Decision {
            events: vec![Event::ThreadCreated(thread)],
            answer: Ok(Created {
                thread_id,
                deduplicated: false,
            }),
        })
    }
}
