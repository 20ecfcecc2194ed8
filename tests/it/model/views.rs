//! The same facts twice: as the public API tells them, and as the reference has them.

use handoffd::proto::v1;

use super::reference::{Gone, Kind, Outcome, Reference, Status, Told};
use crate::support::Clients;

const STALL_AFTER: u64 = 120;
const NO_PROGRESS_AFTER: u64 = 900;
const CLAIM_DEADLINE: u64 = 3_600;

/// A message: number, sender, kind, handoff, version, late, quiet, state.
type MailFacts = (
    u64,
    String,
    v1::MessageKind,
    String,
    Option<u64>,
    bool,
    bool,
    v1::MessageState,
);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadFacts {
    state: v1::ThreadState,
    turn: String,
    unfinished: String,
    unread: u64,
    given: u64,
    consumed: u64,
    response: Option<String>,
    active: u64,
    mail: Vec<MailFacts>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkFacts {
    status: v1::HandoffStatus,
    outcome: Option<v1::Outcome>,
    version: u64,
    live: Option<v1::LiveState>,
    stalled: Option<v1::StallReason>,
    waits: Option<v1::WaitingKind>,
    delivery: v1::ReportDelivery,
    reminders: u32,
}

pub(crate) async fn thread(clients: &Clients, id: &str) -> ThreadFacts {
    let request = v1::GetThreadRequest {
        thread_id: id.to_owned(),
    };
    let got = clients.threads().get_thread(request).await.unwrap();
    let it = got.into_inner().thread.unwrap();
    let request = v1::ListMailRequest {
        thread_id: id.to_owned(),
        page_size: Some(500),
        ..v1::ListMailRequest::default()
    };
    let listed = clients
        .mailbox()
        .list_mail(request)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (
            listed.given_through,
            listed.consumed_through,
            listed.next_page_token.as_str()
        ),
        (it.given_through, it.consumed_through, ""),
    );
    let mail = listed.messages.into_iter().map(|mail| {
        let (kind, state) = (mail.kind(), mail.state());
        let from = mail.from_thread_id;
        (
            mail.mail_number,
            from,
            kind,
            mail.handoff_id,
            mail.report_version,
            mail.late,
            mail.quiet,
            state,
        )
    });
    ThreadFacts {
        state: it.state(),
        unread: it.unread_count,
        given: it.given_through,
        consumed: it.consumed_through,
        active: seconds(it.last_activity_time),
        turn: it.turn_id,
        unfinished: it.unfinished_handoff_id,
        response: it.latest_response,
        mail: mail.collect(),
    }
}

pub(crate) async fn work(clients: &Clients, id: &str) -> WorkFacts {
    let request = v1::GetHandoffStatusRequest {
        handoff_id: id.to_owned(),
    };
    let got = clients.status().get_handoff_status(request).await.unwrap();
    let it = got.into_inner().snapshot.unwrap();
    let (handoff, progress) = (it.handoff.as_ref().unwrap(), it.progress.as_ref().unwrap());
    WorkFacts {
        status: handoff.status(),
        outcome: handoff.outcome.map(|_| handoff.outcome()),
        version: handoff.report_version,
        live: progress.live_state.map(|_| progress.live_state()),
        stalled: progress.stall_reason.map(|_| progress.stall_reason()),
        waits: progress.waiting_on.as_ref().map(v1::WaitingOn::kind),
        delivery: it.report_delivery(),
        reminders: it.reminders_sent,
    }
}

pub(crate) fn seconds(time: Option<prost_types::Timestamp>) -> u64 {
    u64::try_from(time.unwrap().seconds).unwrap()
}

pub(crate) fn kind(kind: Kind) -> v1::MessageKind {
    match kind {
        Kind::Report => v1::MessageKind::Report,
        Kind::Progress => v1::MessageKind::Progress,
        Kind::Note => v1::MessageKind::Note,
        Kind::Reminder => v1::MessageKind::Reminder,
        Kind::Notice => v1::MessageKind::Notice,
    }
}

pub(crate) fn outcome(outcome: Outcome) -> v1::Outcome {
    match outcome {
        Outcome::Succeeded => v1::Outcome::Succeeded,
        Outcome::Blocked => v1::Outcome::Blocked,
        Outcome::Failed => v1::Outcome::Failed,
        Outcome::Cancelled => v1::Outcome::Cancelled,
        Outcome::Abandoned => v1::Outcome::Abandoned,
    }
}

pub(crate) fn status(status: Status) -> v1::HandoffStatus {
    match status {
        Status::Started => v1::HandoffStatus::Started,
        Status::Running => v1::HandoffStatus::Running,
        Status::Completed => v1::HandoffStatus::Completed,
        Status::Error => v1::HandoffStatus::Error,
        Status::Cancelled => v1::HandoffStatus::Cancelled,
        Status::MaterializeFailed => v1::HandoffStatus::MaterializeFailed,
        Status::ExpiredUnnotified => v1::HandoffStatus::ExpiredUnnotified,
        Status::Abandoned => v1::HandoffStatus::Abandoned,
    }
}

impl Reference {
    pub(crate) fn thread_facts(&self, at: usize) -> ThreadFacts {
        let it = &self.threads[at];
        let due = it.wake.is_some_and(|wake| wake <= self.now) && self.agents[it.agent].active;
        let mail = (1..).zip(&it.mail).map(|(number, mail)| {
            let state = match mail.gone {
                Some(Gone::Consumed) => v1::MessageState::Consumed,
                Some(Gone::SetAside) => v1::MessageState::SetAside,
                Some(Gone::Withdrawn) => v1::MessageState::Withdrawn,
                None if number <= it.consumed => v1::MessageState::Consumed,
                None if number <= it.given => v1::MessageState::Given,
                None => v1::MessageState::Unread,
            };
            let from = mail
                .from
                .map(|from| self.threads[from].id.clone())
                .unwrap_or_default();
            let work = mail
                .work
                .map(|work| self.works[work].id.clone())
                .unwrap_or_default();
            (
                number,
                from,
                kind(mail.kind),
                work,
                mail.version,
                mail.late,
                mail.quiet,
                state,
            )
        });
        ThreadFacts {
            state: match it.turn {
                Some(_) => v1::ThreadState::Processing,
                None if due => v1::ThreadState::Queued,
                None => v1::ThreadState::Idle,
            },
            turn: it
                .turn
                .map(|turn| self.turns[turn].id.clone())
                .unwrap_or_default(),
            unfinished: self
                .owes(at)
                .map(|work| self.works[work].id.clone())
                .unwrap_or_default(),
            unread: self.mail_above(at, it.given).len() as u64,
            given: it.given,
            consumed: it.consumed,
            response: it.response.clone(),
            active: it.active,
            mail: mail.collect(),
        }
    }

    pub(crate) fn work_facts(&self, at: usize) -> WorkFacts {
        let it = &self.works[at];
        let (live, stalled, waits) = match it.child.filter(|_| it.end.is_none()) {
            Some(child) => self.live(child),
            None if it.end.as_ref().is_some_and(|end| end.kept.is_some()) => (
                Some(v1::LiveState::Completed),
                None,
                Some(v1::WaitingKind::Collection),
            ),
            None => (None, None, None),
        };
        WorkFacts {
            status: status(it.status),
            outcome: it.end.as_ref().map(|end| outcome(end.outcome)),
            version: u64::from(it.end.is_some() && it.child.is_some()),
            live,
            stalled,
            waits,
            delivery: self.delivery(at),
            reminders: it.reminders,
        }
    }

    fn delivery(&self, at: usize) -> v1::ReportDelivery {
        let it = &self.works[at];
        let Some(end) = &it.end else {
            return v1::ReportDelivery::None;
        };
        if end.acknowledged {
            return v1::ReportDelivery::Delivered;
        }
        if it.told == Told::Taken && it.parent.is_some() && it.child.is_some() {
            return v1::ReportDelivery::Pending;
        }
        let (Some(number), Some(parent)) = (end.mail, it.parent) else {
            return v1::ReportDelivery::None;
        };
        let parent = &self.threads[parent];
        match parent.mail[usize::try_from(number).unwrap() - 1].gone {
            Some(Gone::Consumed) => v1::ReportDelivery::Delivered,
            None if number <= parent.consumed => v1::ReportDelivery::Delivered,
            None | Some(Gone::SetAside | Gone::Withdrawn) => v1::ReportDelivery::Pending,
        }
    }

    /// What the child of unfinished work does.
    fn live(
        &self,
        child: usize,
    ) -> (
        Option<v1::LiveState>,
        Option<v1::StallReason>,
        Option<v1::WaitingKind>,
    ) {
        use v1::WaitingKind as Waits;
        let it = &self.threads[child];
        let agent = &self.agents[it.agent];
        let turn = it.turn.map(|turn| &self.turns[turn]);
        let active = turn.map_or(it.active, |turn| turn.active.max(it.active));
        let quiet = self.now - active;
        let (stalled, waits) = match it.wake {
            _ if turn.is_some() => {
                let stalled = quiet >= NO_PROGRESS_AFTER;
                (
                    stalled.then_some(v1::StallReason::NoProgress),
                    Waits::Nothing,
                )
            }
            Some(wake) if wake > self.now => (
                None,
                if it.lost > 0 {
                    Waits::Retry
                } else {
                    Waits::Timer
                },
            ),
            Some(_) if agent.active && !self.has_free_slot(it.agent) => (None, Waits::Slot),
            Some(wake) => {
                let overdue = self.now - wake > CLAIM_DEADLINE;
                let waits = if agent.active {
                    Waits::Runtime
                } else {
                    Waits::AgentDeactivated
                };
                (overdue.then_some(v1::StallReason::Unclaimed), waits)
            }
            None if self.awaits(child) => (None, Waits::Children),
            None => (
                (quiet > STALL_AFTER).then_some(v1::StallReason::Quiet),
                Waits::Nothing,
            ),
        };
        let live = if stalled.is_some() {
            v1::LiveState::Stalled
        } else {
            v1::LiveState::Running
        };
        (Some(live), stalled, Some(waits))
    }
}
