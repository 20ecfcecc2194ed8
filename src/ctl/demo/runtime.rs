//! A runtime, small but whole: it registers, claims turns, keeps them alive while their agent works,
//! obeys a stop, and finishes each.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::super::client::{Client, request_id};
use super::super::{CtlError, show};
use super::cast::{Act, Cast};
use super::narrator::Narrator;
use crate::proto::v1::{
    ClaimTurnsRequest, CreateHandoffRequest, FinishTurnRequest, GetHandoffStatusRequest,
    HandoffStatus, HeartbeatRequest, MessageKind, RegisterRuntimeRequest, SendMessageRequest,
    ToolCallActivity, Turn, TurnActivity, TurnHeartbeat, TurnLeaseState, TurnNext, TurnOutcome,
    TurnRef, signal,
};

/// How long one claim waits for a turn: below the deadline of a call.
const CLAIM_WAIT: prost_types::Duration = prost_types::Duration {
    seconds: 10,
    nanos: 0,
};

/// Steps of each piece of work, each with its heartbeat.
const STEPS: u64 = 2;

/// The process that runs both agents.
#[derive(Debug)]
pub(super) struct Runtime<'a> {
    client: &'a Client,
    cast: &'a Cast,
    narrator: &'a Narrator,
    incarnation: u64,
    pace: Duration,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Played {
    /// The handoff of the writer to the checker.
    pub(super) first_handoff_id: String,
}

impl<'a> Runtime<'a> {
    /// Registers the runtime.
    pub(super) async fn register(
        client: &'a Client,
        cast: &'a Cast,
        narrator: &'a Narrator,
        pace: Duration,
    ) -> Result<Self, CtlError> {
        let request = RegisterRuntimeRequest {
            runtime_id: cast.runtime.clone(),
            description: "the demo of handoffd".to_owned(),
        };
        let answer = client.runtimes().register_runtime(request).await?;
        narrator.tell("runtime", "starts, and offers to run both agents")?;
        Ok(Self {
            client,
            cast,
            narrator,
            incarnation: answer.into_inner().incarnation,
            pace,
        })
    }

    /// Runs turns until the work that nobody handed over is done.
    pub(super) async fn run(&self) -> Result<Played, CtlError> {
        let mut first_handoff_id = None;
        loop {
            let turn = self.claim().await?;
            let part = self.cast.part(&turn.agent_id);
            self.tell_begin(part, &turn)?;
            match self.cast.act(&turn) {
                Act::HandOff { to, task, tool } => {
                    self.work(part, &turn, tool).await?;
                    let handoff_id = self.hand_off(part, &turn, to, task).await?;
                    first_handoff_id.get_or_insert(handoff_id);
                    self.finish(part, &turn, TurnNext::Wait, None).await?;
                }
                Act::Report { body, tool } => {
                    self.work(part, &turn, tool).await?;
                    self.report(part, &turn, body).await?;
                    self.finish(part, &turn, TurnNext::Finished, None).await?;
                }
                Act::Answer { text } => {
                    self.work(part, &turn, "read").await?;
                    self.narrator.tell(part, &format!("is done: \"{text}\""))?;
                    self.finish(part, &turn, TurnNext::Finished, Some(text))
                        .await?;
                    let nothing = || CtlError::Demo("nothing was handed over".to_owned());
                    return Ok(Played {
                        first_handoff_id: first_handoff_id.ok_or_else(nothing)?,
                    });
                }
            }
        }
    }

    async fn claim(&self) -> Result<Turn, CtlError> {
        let request = ClaimTurnsRequest {
            runtime_id: self.cast.runtime.clone(),
            incarnation: self.incarnation,
            agent_ids: vec![self.cast.writer.clone(), self.cast.checker.clone()],
            max_turns: Some(1),
            wait: Some(CLAIM_WAIT),
        };
        let answer = self.client.runtimes().claim_turns(request).await?;
        let turn = answer.into_inner().turns.pop();
        turn.ok_or_else(|| CtlError::Demo("no turn became due".to_owned()))
    }

    fn tell_begin(&self, part: &str, turn: &Turn) -> Result<(), CtlError> {
        let claimed = format!("claims a turn of the {part}, {}", turn.turn_id);
        self.narrator.tell("runtime", &claimed)?;
        if let Some(assignment) = turn.assignment.as_ref().filter(|_| turn.mail.is_empty()) {
            let task = format!("was given: {}", assignment.task);
            self.narrator.tell(part, &task)?;
        }
        for message in &turn.mail {
            let kind = show::word(message.kind, MessageKind::as_str_name);
            let read = format!("reads a {kind}: \"{}\"", message.body);
            self.narrator.tell(part, &read)?;
        }
        Ok(())
    }

    /// Works a while. The first heartbeat comes at once: it makes the assigned turn a running one.
    async fn work(&self, part: &str, turn: &Turn, tool: &str) -> Result<(), CtlError> {
        let text = format!("works: calls its tool `{tool}`");
        self.narrator.tell(part, &text)?;
        let pace = self.pace.max(Duration::from_millis(1));
        let mut steps = interval(pace);
        steps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for sequence in 1..=STEPS {
            steps.tick().await;
            let tool_calls = match sequence {
                1 => vec![ToolCallActivity {
                    name: tool.to_owned(),
                    time: None,
                }],
                _ => Vec::new(),
            };
            let activity = TurnActivity {
                sequence,
                tool_calls,
                partial_text: Some(format!("step {sequence} of {STEPS}")),
                input_tokens: None,
                output_tokens: None,
            };
            self.heartbeat(turn, activity).await?;
        }
        steps.tick().await;
        Ok(())
    }

    async fn heartbeat(&self, turn: &Turn, activity: TurnActivity) -> Result<(), CtlError> {
        let request = HeartbeatRequest {
            runtime_id: self.cast.runtime.clone(),
            incarnation: self.incarnation,
            turns: vec![TurnHeartbeat {
                turn: Some(reference(turn)),
                activity: Some(activity),
            }],
        };
        let answer = self.client.runtimes().heartbeat(request).await?;
        let Some(result) = answer.into_inner().turns.pop() else {
            return Err(CtlError::Demo("a heartbeat had no answer".to_owned()));
        };
        let state = result.state();
        let asked_to_stop = result
            .signals
            .iter()
            .any(|signal| matches!(signal.kind, Some(signal::Kind::Abort(_))));
        if asked_to_stop {
            self.abort(turn).await?;
            return Err(CtlError::Demo("somebody cancelled its work".to_owned()));
        }
        if state != TurnLeaseState::Renewed {
            let state = show::word(state.into(), TurnLeaseState::as_str_name);
            return Err(CtlError::Demo(format!("its turn is {state}")));
        }
        Ok(())
    }

    async fn hand_off(
        &self,
        part: &str,
        turn: &Turn,
        to: String,
        task: &str,
    ) -> Result<String, CtlError> {
        let other = self.cast.part(&to);
        let request = CreateHandoffRequest {
            turn: Some(reference(turn)),
            task: task.to_owned(),
            target_agent: to,
            request_id: Some(request_id()),
            ..CreateHandoffRequest::default()
        };
        let answer = self.client.handoffs().create_handoff(request).await?;
        let handoff = answer.into_inner().handoff.unwrap_or_default();
        let handoff_id = handoff.handoff_id;
        let told = format!("hands work to the {other}, {handoff_id}: {task}");
        self.narrator.tell(part, &told)?;
        self.tell_status(&handoff_id).await?;
        Ok(handoff_id)
    }

    async fn report(&self, part: &str, turn: &Turn, body: String) -> Result<(), CtlError> {
        self.narrator.tell(part, &format!("reports: \"{body}\""))?;
        let request = SendMessageRequest {
            turn: Some(reference(turn)),
            kind: MessageKind::Report.into(),
            body,
            request_id: Some(request_id()),
            ..SendMessageRequest::default()
        };
        let sent = self.client.mailbox().send_message(request).await?;
        self.narrator.tell("server", &sent.into_inner().note)?;
        self.tell_status(&turn.handoff_id).await
    }

    /// What the server says of a handoff at this moment.
    async fn tell_status(&self, handoff_id: &str) -> Result<(), CtlError> {
        let request = GetHandoffStatusRequest {
            handoff_id: handoff_id.to_owned(),
        };
        let answer = self.client.status().get_handoff_status(request).await?;
        let snapshot = answer.into_inner().snapshot.unwrap_or_default();
        let handoff = snapshot.handoff.unwrap_or_default();
        let mut told = format!(
            "{handoff_id} is {}",
            show::word(handoff.status, HandoffStatus::as_str_name)
        );
        let progress = snapshot.progress.unwrap_or_default();
        if let Some(waiting) = progress.waiting_on.as_ref().map(show::waiting)
            && !waiting.is_empty()
        {
            told = format!("{told}; it waits for {waiting}");
        }
        self.narrator.tell("server", &told)
    }

    async fn finish(
        &self,
        part: &str,
        turn: &Turn,
        next: TurnNext,
        response_text: Option<String>,
    ) -> Result<(), CtlError> {
        let request = FinishTurnRequest {
            turn: Some(reference(turn)),
            outcome: TurnOutcome::Done.into(),
            response_text,
            next: next.into(),
            received_through: Some(turn.given_through),
            ..FinishTurnRequest::default()
        };
        let answer = self.client.runtimes().finish_turn(request).await?;
        let told = match next {
            TurnNext::Wait => "ends its turn, and will be woken by the report",
            _ => "ends its turn",
        };
        self.narrator.tell(part, told)?;
        let why = answer.into_inner().why;
        if why.is_empty() {
            return Ok(());
        }
        self.narrator.tell("server", &why)
    }

    async fn abort(&self, turn: &Turn) -> Result<(), CtlError> {
        let request = FinishTurnRequest {
            turn: Some(reference(turn)),
            outcome: TurnOutcome::Aborted.into(),
            ..FinishTurnRequest::default()
        };
        self.client.runtimes().finish_turn(request).await?;
        Ok(())
    }
}

/// Proves that a call is made under `turn`.
fn reference(turn: &Turn) -> TurnRef {
    TurnRef {
        turn_id: turn.turn_id.clone(),
        token: turn.token,
    }
}
