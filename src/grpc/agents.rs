//! AgentService: registers agents and turns them on and off.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::check::Check;
use super::encode::{Wire, duration, timestamp};
use super::page::{Query, bounded};
use super::request::Call;
use crate::app::App;
use crate::app::agents::AgentView;
use crate::domain::agents::AgentState;
use crate::domain::agents::put::PutAgent;
use crate::domain::agents::set_state::SetAgentState;
use crate::domain::limits;
use crate::proto::v1;
use crate::proto::v1::agent_service_server::AgentService;

/// Turns at once that an agent may ask for.
const MAX_TURNS: u32 = 1_000_000;

/// See the module.
#[derive(Debug)]
pub struct Agents {
    app: Arc<App>,
}

impl Agents {
    /// The service over `app`.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl AgentService for Agents {
    async fn put_agent(
        &self,
        request: Request<v1::PutAgentRequest>,
    ) -> Result<Response<v1::PutAgentResponse>, Status> {
        let (call, mut message) = Call::open(request)?;
        let mut check = Check::default();
        let request_id = check.request_id(message.request_id.take());
        let command = put(&mut check, message);
        let command = check.finish(command)?;
        let agent_id = command.agent_id.clone();
        let answer = self.app.submit(call.mutating(request_id), command).await?;
        let agent = self.app.agent(&call.namespace, &agent_id).await?;
        Ok(Response::new(v1::PutAgentResponse {
            agent: Some(encode(&agent)),
            deduplicated: answer.deduplicated,
        }))
    }

    async fn get_agent(
        &self,
        request: Request<v1::GetAgentRequest>,
    ) -> Result<Response<v1::GetAgentResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let agent_id = check.agent_id("agent_id", message.agent_id);
        let agent_id = check.finish(agent_id)?;
        let agent = self.app.agent(&call.namespace, &agent_id).await?;
        Ok(Response::new(v1::GetAgentResponse {
            agent: Some(encode(&agent)),
        }))
    }

    async fn list_agents(
        &self,
        request: Request<v1::ListAgentsRequest>,
    ) -> Result<Response<v1::ListAgentsResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let size = check.page_size(message.page_size);
        let size = check.finish(size)?;
        let query = Query::of("ListAgents", &[&call.namespace.0]);
        let after = query.after(&message.page_token, |last| Some(last.to_owned()))?;
        let (agents, more) = self
            .app
            .agents(&call.namespace, after.as_deref(), size)
            .await?;
        let (agents, cut) = bounded(agents.iter().map(encode).collect());
        let last = agents.last().filter(|_| more || cut);
        let next_page_token = last.map(|last| query.token(&last.agent_id));
        Ok(Response::new(v1::ListAgentsResponse {
            next_page_token: next_page_token.unwrap_or_default(),
            agents,
        }))
    }

    async fn set_agent_state(
        &self,
        request: Request<v1::SetAgentStateRequest>,
    ) -> Result<Response<v1::SetAgentStateResponse>, Status> {
        let (call, message) = Call::open(request)?;
        let mut check = Check::default();
        let request_id = check.request_id(message.request_id);
        let command = SetAgentState {
            agent_id: check.agent_id("agent_id", message.agent_id),
            state: check.required_choice("state", message.state, AgentState::Active),
        };
        let command = check.finish(command)?;
        let agent_id = command.agent_id.clone();
        let answer = self.app.submit(call.mutating(request_id), command).await?;
        let agent = self.app.agent(&call.namespace, &agent_id).await?;
        Ok(Response::new(v1::SetAgentStateResponse {
            agent: Some(encode(&agent)),
            deduplicated: answer.deduplicated,
        }))
    }
}

fn put(check: &mut Check, message: v1::PutAgentRequest) -> PutAgent {
    let policy = message.handoff_policy.unwrap_or_default();
    let accepts = v1::AcceptHandoffs::try_from(policy.accepts_handoffs);
    if accepts.is_err() {
        check.wrong(
            "handoff_policy.accepts_handoffs",
            "is no value of the enum; use ACCEPT or REFUSE, or leave it out",
        );
    }
    if message.max_concurrent_turns > Some(MAX_TURNS) {
        check.wrong(
            "max_concurrent_turns",
            format!("may be {MAX_TURNS} at most; leave it out for no limit"),
        );
    }
    PutAgent {
        agent_id: check.agent_id("agent_id", message.agent_id),
        display_name: check.line("display_name", message.display_name, limits::LINE_CHARS),
        description: check.text("description", message.description, limits::BODY_CHARS),
        accepts_handoffs: match accepts {
            Ok(v1::AcceptHandoffs::Accept) => Some(true),
            Ok(v1::AcceptHandoffs::Refuse) => Some(false),
            Ok(v1::AcceptHandoffs::Unspecified) | Err(_) => None,
        },
        on_turn_lost: check.choice("default_on_turn_lost", message.default_on_turn_lost),
        default_deadline: check.opt_duration(
            "default_deadline",
            message.default_deadline,
            (limits::DEADLINE_MIN, limits::DEADLINE_MAX),
        ),
        claim_deadline: check.opt_duration(
            "claim_deadline",
            message.claim_deadline,
            (limits::DEADLINE_MIN, limits::CLAIM_DEADLINE_MAX),
        ),
        max_turns: message.max_concurrent_turns,
    }
}

fn encode(view: &AgentView) -> v1::Agent {
    let agent = &view.agent;
    let accepts = match agent.accepts_handoffs {
        None => v1::AcceptHandoffs::Unspecified,
        Some(true) => v1::AcceptHandoffs::Accept,
        Some(false) => v1::AcceptHandoffs::Refuse,
    };
    v1::Agent {
        agent_id: agent.agent_id.0.clone(),
        display_name: agent.display_name.clone(),
        description: agent.description.clone(),
        max_concurrent_turns: view.max_turns,
        handoff_policy: Some(v1::HandoffPolicy {
            accepts_handoffs: accepts as i32,
        }),
        default_on_turn_lost: agent.on_turn_lost.map_or(0, Wire::wire),
        default_deadline: agent.default_deadline.map(duration),
        claim_deadline: agent.claim_deadline.map(duration),
        state: view.state.wire(),
        live_turns: u32::try_from(view.live_turns).unwrap_or(u32::MAX),
        create_time: Some(timestamp(agent.create_time)),
        update_time: Some(timestamp(agent.update_time)),
    }
}
