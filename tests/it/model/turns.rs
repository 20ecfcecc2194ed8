//! What runtimes do.

use std::collections::BTreeMap;

use handoffd::proto::v1;
use prost_types::Timestamp;

use super::calls::heard;
use super::player::{AGENTS, Player};
use super::reference::{Told, Who};
use super::repeats::Said;
use super::rules::{Finish, Finished, Finishing};
use super::views;

fn runtime_id(runtime: usize) -> String {
    format!("runtime-{runtime}")
}

impl Player<'_> {
    pub(super) async fn register(&mut self, runtime: usize) {
        let request = v1::RegisterRuntimeRequest {
            runtime_id: runtime_id(runtime),
            description: String::new(),
        };
        let answer = self.node().runtimes().register_runtime(request).await;
        let incarnation = answer.unwrap().into_inner().incarnation;
        assert_eq!(incarnation, self.runtimes[runtime] + 1);
        self.runtimes[runtime] = incarnation;
    }

    /// A runtime stops without a word, and another life of it begins.
    pub(super) async fn crash(&mut self) {
        let runtime = self.dice.roll(self.runtimes.len());
        self.tell(format!("runtime {runtime} crashes"));
        for turn in self
            .model
            .turns
            .iter_mut()
            .filter(|it| it.runtime == runtime)
        {
            turn.orphan = true;
        }
        self.register(runtime).await;
    }

    pub(super) async fn claim(&mut self) {
        let node = self.node();
        let runtime = self.dice.roll(self.runtimes.len());
        let max = [1, 2, 20][self.dice.roll(3)];
        let request = v1::ClaimTurnsRequest {
            runtime_id: runtime_id(runtime),
            incarnation: self.runtimes[runtime],
            agent_ids: AGENTS.iter().map(|(id, _)| (*id).to_owned()).collect(),
            max_turns: Some(i32::try_from(max).unwrap()),
            wait: Some(prost_types::Duration::default()),
        };
        let answer = heard(node.runtimes().claim_turns(request).await).unwrap();
        let claimed = answer.turns.len();
        self.tell(format!("runtime {runtime} claims {max} and gets {claimed}"));
        for turn in answer.turns {
            self.take(runtime, &turn);
        }
        let left = self.model.claimable();
        assert!(
            claimed == max || left.is_empty(),
            "{claimed} of {max} claimed, and these were left: {left:?}"
        );
    }

    /// One turn of a claim: one that was to be had, of the thread of its agent that waited longest.
    fn take(&mut self, runtime: usize, turn: &v1::Turn) {
        let claimable = self.model.claimable();
        let ids: BTreeMap<&str, usize> = claimable
            .iter()
            .map(|at| (self.model.threads[*at].id.as_str(), *at))
            .collect();
        let thread = *ids.get(turn.thread_id.as_str()).unwrap_or_else(|| {
            panic!("{turn:?} was not to be had, of {claimable:?}");
        });
        let it = &self.model.threads[thread];
        let (agent, wake, lost, expected_token) = (it.agent, it.wake, it.lost, it.turns + 1);
        let older = claimable.iter().find(|at| {
            let other = &self.model.threads[**at];
            other.agent == agent && other.wake < wake
        });
        assert_eq!(
            older, None,
            "thread {thread} was claimed before one that waits longer"
        );
        let work = self.model.owes(thread);
        let mail = self
            .model
            .assign(thread, runtime, turn.turn_id.clone(), turn.token);
        let numbers: Vec<u64> = turn.mail.iter().map(|it| it.mail_number).collect();
        assert_eq!(numbers, mail, "mail of a claim of thread {thread}");
        assert_eq!(turn.given_through, self.model.threads[thread].given);
        assert_eq!((turn.token, turn.lost_turns), (expected_token, lost));
        assert_eq!(
            turn.handoff_id,
            work.map(|at| self.model.works[at].id.clone())
                .unwrap_or_default()
        );
        assert_eq!(
            turn.report_owed,
            work.is_some_and(|at| self.model.works[at].told == Told::Mail)
        );
        self.tell(format!(
            "  thread {thread} as turn {}",
            self.model.turns.len() - 1
        ));
    }

    pub(super) async fn beat(&mut self) {
        let node = self.node();
        let Some(turn) = self.turn() else {
            return;
        };
        let runtime = self.model.turns[turn].runtime;
        let beat = v1::TurnHeartbeat {
            turn: self.turn_ref(Who::Turn(turn)),
            activity: None,
        };
        let request = v1::HeartbeatRequest {
            runtime_id: runtime_id(runtime),
            incarnation: self.runtimes[runtime],
            turns: vec![beat],
        };
        let answer = heard(node.runtimes().heartbeat(request).await).unwrap();
        let lives = self.model.beat(turn);
        self.tell(format!("turn {turn} beats: {lives}"));
        let told = &answer.turns[0];
        let expected = if lives {
            v1::TurnLeaseState::Renewed
        } else {
            v1::TurnLeaseState::Closed
        };
        assert_eq!(told.state(), expected);
        let stop = told
            .signals
            .iter()
            .any(|it| matches!(it.kind, Some(v1::signal::Kind::Abort(_))));
        let mail = told
            .signals
            .iter()
            .any(|it| matches!(it.kind, Some(v1::signal::Kind::Mail(_))));
        let it = &self.model.turns[turn];
        assert_eq!(stop, lives && it.stop);
        let given = self.model.threads[it.thread].given;
        assert_eq!(mail, lives && self.model.waking_above(it.thread, given) > 0);
    }

    pub(super) async fn finish(&mut self) {
        let node = self.node();
        let Some(turn) = self.turn() else {
            return;
        };
        let soon = self.model.now + [30, 4_000][self.dice.roll(2)];
        let finish = [
            Finish::Finished,
            Finish::Finished,
            Finish::Wait,
            Finish::Continue,
            Finish::WakeAt(soon),
            Finish::Failed,
            Finish::Interrupted,
            Finish::Aborted,
        ][self.dice.roll(8)];
        let response = (!self.dice.one_in(3)).then(|| self.name());
        let received = self.number(self.model.turns[turn].thread);
        let request = v1::FinishTurnRequest {
            turn: self.turn_ref(Who::Turn(turn)),
            response_text: response.clone(),
            received_through: received,
            ..request_of(finish)
        };
        let answer = heard(node.runtimes().finish_turn(request.clone()).await);
        let asked = Finishing {
            finish,
            response,
            received,
        };
        let expected = self.model.finish(turn, &asked);
        self.tell(format!("turn {turn} ends, {asked:?}: {expected:?}"));
        if let Ok(answer) = &answer {
            self.said.push(Said::Finish(request, answer.clone()));
        }
        let told = answer.map(|it| {
            let status = it.handoff_status.map(|_| it.handoff_status());
            (it.handoff_open, it.report_owed, it.woken, status)
        });
        let expected =
            expected.map(|it: Finished| (it.open, it.owed, it.woken, it.status.map(views::status)));
        assert_eq!(told, expected.map_err(str::to_owned));
    }

    pub(super) async fn release(&mut self) {
        let node = self.node();
        let Some(turn) = self.turn() else {
            return;
        };
        let it = &self.model.turns[turn];
        let (runtime, id) = (it.runtime, it.id.clone());
        let request = v1::ReleaseTurnsRequest {
            runtime_id: runtime_id(runtime),
            incarnation: self.runtimes[runtime],
            turns: self.turn_ref(Who::Turn(turn)).into_iter().collect(),
        };
        let answer = heard(node.runtimes().release_turns(request).await).unwrap();
        let released = self.model.release(turn);
        self.tell(format!("turn {turn} is given back: {released}"));
        let expected: Vec<String> = released.then_some(id).into_iter().collect();
        assert_eq!(answer.turn_ids, expected);
    }
}

/// A finish that says no more than its outcome.
fn request_of(finish: Finish) -> v1::FinishTurnRequest {
    let (outcome, next, wake_time) = match finish {
        Finish::Finished => (v1::TurnOutcome::Done, v1::TurnNext::Finished, None),
        Finish::Wait => (v1::TurnOutcome::Done, v1::TurnNext::Wait, None),
        Finish::Continue => (v1::TurnOutcome::Done, v1::TurnNext::Continue, None),
        Finish::WakeAt(time) => {
            let time = Timestamp {
                seconds: i64::try_from(time).unwrap(),
                nanos: 0,
            };
            (v1::TurnOutcome::Done, v1::TurnNext::WakeAt, Some(time))
        }
        Finish::Failed => (v1::TurnOutcome::Failed, v1::TurnNext::Unspecified, None),
        Finish::Interrupted => (
            v1::TurnOutcome::Interrupted,
            v1::TurnNext::Unspecified,
            None,
        ),
        Finish::Aborted => (v1::TurnOutcome::Aborted, v1::TurnNext::Unspecified, None),
    };
    let error = (finish == Finish::Failed).then(|| v1::TurnError {
        failure_class: v1::FailureClass::Other.into(),
        summary: "no".to_owned(),
    });
    v1::FinishTurnRequest {
        outcome: outcome.into(),
        next: next.into(),
        wake_time,
        error,
        ..v1::FinishTurnRequest::default()
    }
}
