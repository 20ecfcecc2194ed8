//! One call each: made of what there is, sent to a server, told to the reference, and both compared.

use handoffd::proto::v1;
use tonic::{Response, Status};

use super::player::{AGENTS, Player};
use super::reference::{Kind, Outcome, Told, Who};
use super::repeats::Said;
use super::rules::{Asking, Delivery, Made, Sending};
use super::views;
use crate::support::told;

/// An answer, or the name of the reason why there is none.
pub(super) fn heard<T: std::fmt::Debug>(answer: Result<Response<T>, Status>) -> Result<T, String> {
    match answer {
        Ok(answer) => Ok(answer.into_inner()),
        refused => Err(told(refused).reason),
    }
}

fn delivery(delivery: Delivery) -> v1::MessageDelivery {
    match delivery {
        Delivery::Signal => v1::MessageDelivery::NoticeQueued,
        Delivery::Wake => v1::MessageDelivery::WakeQueued,
        Delivery::Waiting => v1::MessageDelivery::Waiting,
        Delivery::Held => v1::MessageDelivery::Held,
        Delivery::Recorded => v1::MessageDelivery::Recorded,
    }
}

impl Player<'_> {
    pub(super) async fn put_agent(&mut self, agent: usize, slots: Option<u32>) {
        let request = v1::PutAgentRequest {
            agent_id: AGENTS[agent].0.to_owned(),
            max_concurrent_turns: slots,
            ..v1::PutAgentRequest::default()
        };
        self.node().agents().put_agent(request).await.unwrap();
        self.model.agents[agent].slots = slots;
    }

    pub(super) async fn change_agent(&mut self) {
        let node = self.node();
        let off = (0..AGENTS.len()).find(|at| !self.model.agents[*at].active);
        let agent = off.unwrap_or_else(|| self.dice.roll(AGENTS.len()));
        if self.dice.one_in(3) {
            let slots = [None, Some(0), Some(1), Some(3)][self.dice.roll(4)];
            self.tell(format!("agent {agent} has {slots:?} slots"));
            self.put_agent(agent, slots).await;
            return;
        }
        let active = self.model.agents[agent].active;
        self.tell(format!("agent {agent} is active: {}", !active));
        let state = if active {
            v1::AgentState::Deactivated
        } else {
            v1::AgentState::Active
        };
        let request = v1::SetAgentStateRequest {
            agent_id: AGENTS[agent].0.to_owned(),
            state: state.into(),
            request_id: None,
        };
        node.agents().set_agent_state(request).await.unwrap();
        self.model.agents[agent].active = !active;
    }

    pub(super) async fn make_thread(&mut self, agent: usize, pull: bool) {
        let drive = if pull {
            v1::ThreadDrive::Pull
        } else {
            v1::ThreadDrive::Runtime
        };
        let request = v1::CreateThreadRequest {
            agent_id: AGENTS[agent].0.to_owned(),
            drive: drive.into(),
            ..v1::CreateThreadRequest::default()
        };
        let made = self.node().threads().create_thread(request).await.unwrap();
        let id = made.into_inner().thread.unwrap().thread_id;
        let at = self.model.add_thread(id, agent, None, pull);
        self.tell(format!("thread {at} of agent {agent}, pull: {pull}"));
    }

    pub(super) async fn create(&mut self) {
        let node = self.node();
        let who = self.who();
        let named = (who == Who::Outside && !self.dice.one_in(4)).then(|| self.thread());
        let asking = Asking {
            parent: named,
            agent: self.dice.roll(AGENTS.len()),
            told: [
                None,
                Some(Told::Mail),
                Some(Told::Nobody),
                Some(Told::Taken),
            ][self.dice.roll(4)],
            fail_on_loss: self.dice.one_in(4),
            key: self.dice.one_in(4).then_some(1),
            task: u8::from(self.dice.one_in(6)),
        };
        let on_completion = match asking.told {
            None => v1::OnCompletion::Unspecified,
            Some(Told::Mail) => v1::OnCompletion::Notify,
            Some(Told::Taken) => v1::OnCompletion::Return,
            Some(Told::Nobody) => v1::OnCompletion::None,
        };
        let lost = if asking.fail_on_loss {
            v1::OnTurnLost::Fail
        } else {
            v1::OnTurnLost::Retry
        };
        let request = v1::CreateHandoffRequest {
            turn: self.turn_ref(who),
            parent_thread_id: self.thread_id(named),
            task: format!("task {}", asking.task),
            target_agent: AGENTS[asking.agent].0.to_owned(),
            on_completion: on_completion.into(),
            on_turn_lost: lost.into(),
            idempotency_key: asking.key.map(|key| key.to_string()),
            request_id: Some(self.name()),
            ..v1::CreateHandoffRequest::default()
        };
        let answer = node.handoffs().create_handoff(request.clone()).await;
        let expected = self.model.create(who, asking);
        self.tell(format!("{who:?} hands off {asking:?}: {expected:?}"));
        match expected {
            Ok(Made::New(at)) => {
                let made = heard(answer).unwrap();
                assert!(!made.deduplicated);
                let handoff = made.handoff.unwrap();
                let child = self.model.works[at].child.unwrap();
                self.model.threads[child].id = handoff.thread_id;
                self.model.works[at].id.clone_from(&handoff.handoff_id);
                self.said
                    .push(Said::Create(who, request, handoff.handoff_id));
            }
            Ok(Made::Found(at)) => {
                let found = heard(answer).unwrap();
                assert!(found.deduplicated);
                assert_eq!(found.handoff.unwrap().handoff_id, self.model.works[at].id);
            }
            Ok(Made::Refused { work, new }) => {
                let refused = told(answer);
                assert_eq!(refused.reason, "AGENT_DEACTIVATED");
                let record = refused.metadata["handoffId"].clone();
                if new {
                    self.model.works[work].id = record;
                } else {
                    assert_eq!(record, self.model.works[work].id);
                }
            }
            Err(reason) => assert_eq!(heard(answer).map(drop), Err(reason.to_owned())),
        }
    }

    pub(super) async fn send(&mut self) {
        let node = self.node();
        let who = self.who();
        let kinds = [
            None,
            Some(Kind::Report),
            Some(Kind::Note),
            Some(Kind::Progress),
        ];
        let kind = kinds[self.dice.roll(4)];
        let named = who == Who::Outside && (kind != Some(Kind::Note) || self.dice.one_in(2));
        let from = named.then(|| self.thread());
        let outcomes = [
            None,
            Some(Outcome::Succeeded),
            Some(Outcome::Blocked),
            Some(Outcome::Failed),
        ];
        let sending = Sending {
            from,
            to: (kind == Some(Kind::Note) || self.dice.one_in(3)).then(|| self.thread()),
            kind,
            quiet: kind == Some(Kind::Note) && self.dice.one_in(4),
            outcome: outcomes[self.dice.roll(4)].filter(|_| kind == Some(Kind::Report)),
        };
        let request = v1::SendMessageRequest {
            turn: self.turn_ref(who),
            from_thread_id: self.thread_id(from),
            to_thread_id: self.thread_id(sending.to),
            kind: sending.kind.map_or(0, |kind| views::kind(kind).into()),
            quiet: sending.quiet,
            body: "text".to_owned(),
            outcome: sending
                .outcome
                .map(|outcome| views::outcome(outcome).into()),
            request_id: Some(self.name()),
            ..v1::SendMessageRequest::default()
        };
        let answer = heard(node.mailbox().send_message(request.clone()).await);
        let expected = self.model.send(who, sending);
        self.tell(format!("{who:?} sends {sending:?}: {expected:?}"));
        if let Ok(sent) = &answer {
            self.said
                .push(Said::Send(who, request, sent.message_id.clone()));
        }
        let told = answer.map(|sent| (sent.delivery(), sent.late, sent.to_thread_id));
        let expected = expected.map(|(how, late, to)| (delivery(how), late, self.thread_id(to)));
        assert_eq!(told, expected.map_err(str::to_owned));
    }

    /// A number of a mailbox, right or a little too high; none where the caller does not say.
    pub(super) fn number(&mut self, thread: usize) -> Option<u64> {
        let it = &self.model.threads[thread];
        let (consumed, given, last) = (it.consumed, it.given, it.mail.len() as u64);
        let numbers = [
            None,
            Some(given),
            Some(last),
            Some(consumed.midpoint(given)),
            Some(given + 1),
        ];
        numbers[self.dice.roll(5)]
    }

    /// The thread that a call is about, and its caller.
    fn about(&mut self) -> (Who, usize) {
        let who = self.who();
        let thread = match who {
            Who::Outside => self.thread(),
            Who::Turn(turn) => self.model.turns[turn].thread,
        };
        (who, thread)
    }

    pub(super) async fn read(&mut self) {
        let node = self.node();
        let (who, thread) = self.about();
        let received = if who == Who::Outside {
            None
        } else {
            self.number(thread)
        };
        let max = [50, 1, 2][self.dice.roll(3)];
        let request = v1::ReadMailRequest {
            turn: self.turn_ref(who),
            thread_id: self.thread_id(Some(thread)),
            received_through: received,
            max_messages: Some(i32::try_from(max).unwrap()),
            request_id: (who == Who::Outside).then(|| self.name()),
            ..v1::ReadMailRequest::default()
        };
        let answer = heard(node.mailbox().read_mail(request.clone()).await);
        let expected = self.model.read(who, thread, received, max);
        self.tell(format!(
            "{who:?} reads {max} of {thread} from {received:?}: {expected:?}"
        ));
        let told = answer.map(|read| {
            let numbers: Vec<u64> = read.messages.iter().map(|it| it.mail_number).collect();
            (numbers, read.given_through, read.has_more)
        });
        if let (Ok((numbers, ..)), Who::Outside) = (&told, who)
            && !numbers.is_empty()
        {
            self.said.push(Said::Read(request, numbers.clone()));
        }
        assert_eq!(told, expected.map_err(str::to_owned));
    }

    pub(super) async fn ack(&mut self) {
        let node = self.node();
        let (who, thread) = self.about();
        let received = self.number(thread);
        let all = 0..self.model.works.len();
        let mine = all
            .clone()
            .filter(|at| self.model.works[*at].parent == Some(thread));
        let (mine, all): (Vec<usize>, Vec<usize>) = (mine.collect(), all.collect());
        let works = if self.dice.one_in(5) { all } else { mine };
        let wanted = received.is_none() || self.dice.one_in(2);
        let report = self
            .dice
            .pick(&works)
            .filter(|_| wanted)
            .map(|work| (work, 1));
        if received.is_none() && report.is_none() {
            return;
        }
        let request = v1::AckMailRequest {
            turn: self.turn_ref(who),
            thread_id: self.thread_id(Some(thread)),
            received_through: received,
            reports: report
                .map(|(work, version)| v1::ReportAck {
                    handoff_id: self.model.works[work].id.clone(),
                    version,
                })
                .into_iter()
                .collect(),
            request_id: Some(self.name()),
        };
        let answer = heard(node.mailbox().ack_mail(request.clone()).await);
        let expected = self.model.ack(who, thread, received, report);
        self.tell(format!(
            "{who:?} acks {received:?} {report:?} of {thread}: {expected:?}"
        ));
        if answer.is_ok() {
            self.said.push(Said::Ack(who, request));
        }
        let told = answer.map(|acked| acked.consumed_through);
        assert_eq!(told, expected.map_err(str::to_owned));
    }

    pub(super) async fn append(&mut self) {
        let node = self.node();
        let (who, thread) = self.about();
        let call = v1::ToolCall {
            call_id: "1".to_owned(),
            name: "tool".to_owned(),
            arguments: None,
        };
        let request = v1::AppendEventsRequest {
            turn: self.turn_ref(who),
            thread_id: self.thread_id(Some(thread)),
            events: vec![v1::NewEvent {
                kind: Some(v1::new_event::Kind::ToolCall(call)),
            }],
            request_id: Some(self.name()),
        };
        let answer = heard(node.threads().append_events(request.clone()).await);
        let expected = self.model.append(who, thread);
        self.tell(format!("{who:?} appends to {thread}: {expected:?}"));
        if let Ok(appended) = &answer {
            self.said
                .push(Said::Append(who, request, appended.first_event_number));
        }
        assert_eq!(answer.map(drop), expected.map_err(str::to_owned));
    }

    pub(super) async fn cancel(&mut self) {
        let node = self.node();
        let all: Vec<usize> = (0..self.model.works.len()).collect();
        let Some(work) = self.dice.pick(&all) else {
            return;
        };
        let who = if self.dice.one_in(2) {
            self.who()
        } else {
            Who::Outside
        };
        let (stop, loud) = (self.dice.one_in(2), self.dice.one_in(2));
        let request = v1::CancelHandoffRequest {
            turn: self.turn_ref(who),
            handoff_id: self.model.works[work].id.clone(),
            reason: String::new(),
            stop_child: stop,
            wake_parent: loud,
            request_id: Some(self.name()),
        };
        let answer = heard(node.handoffs().cancel_handoff(request.clone()).await);
        let expected = self.model.cancel(who, work, stop, loud);
        self.tell(format!(
            "{who:?} cancels {work}, stop {stop}, loud {loud}: {expected:?}"
        ));
        if answer.is_ok() {
            self.said.push(Said::Cancel(who, request));
        }
        let told = answer.map(|it| (it.already_ended, it.stop_requested));
        assert_eq!(told, expected.map_err(str::to_owned));
    }
}
