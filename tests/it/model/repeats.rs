//! Promise 5: every call that had its effect can be said again, and has the effect of one.

use handoffd::proto::v1;

use super::calls::heard;
use super::player::Player;
use super::reference::Who;

/// A call that was answered, with what tells its answer from others.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Create(Who, v1::CreateHandoffRequest, String),
    Send(Who, v1::SendMessageRequest, String),
    Read(v1::ReadMailRequest, Vec<u64>),
    Ack(Who, v1::AckMailRequest),
    Append(Who, v1::AppendEventsRequest, u64),
    Cancel(Who, v1::CancelHandoffRequest),
    Finish(v1::FinishTurnRequest, v1::FinishTurnResponse),
}

impl Said {
    /// Whose life it is a sign of.
    fn who(&self) -> Who {
        match self {
            Self::Create(who, ..)
            | Self::Send(who, ..)
            | Self::Ack(who, ..)
            | Self::Append(who, ..)
            | Self::Cancel(who, ..) => *who,
            Self::Read(..) | Self::Finish(..) => Who::Outside,
        }
    }
}

impl Player<'_> {
    pub(super) async fn repeat(&mut self) {
        let node = self.node();
        if self.said.is_empty() {
            return;
        }
        let at = self.said.len() - 1 - self.dice.roll(self.said.len().min(12));
        let said = self.said[at].clone();
        self.tell(format!("again: {said:?}"));
        if let Who::Turn(turn) = said.who()
            && self.model.turns[turn].orphan
        {
            return;
        }
        self.model.call(said.who());
        match said {
            Said::Create(_, request, id) => {
                let again = heard(node.handoffs().create_handoff(request).await).unwrap();
                assert_eq!(
                    (again.handoff.unwrap().handoff_id, again.deduplicated),
                    (id, true)
                );
            }
            Said::Send(_, request, id) => {
                let again = heard(node.mailbox().send_message(request.clone()).await).unwrap();
                assert_eq!((again.message_id, again.deduplicated), (id, true));
                let other = v1::SendMessageRequest {
                    body: "other".to_owned(),
                    ..request
                };
                let refused = heard(node.mailbox().send_message(other).await).map(drop);
                assert_eq!(refused, Err("IDEMPOTENCY_CONFLICT".to_owned()));
            }
            Said::Read(request, numbers) => {
                let again = heard(node.mailbox().read_mail(request).await).unwrap();
                let got: Vec<u64> = again.messages.iter().map(|it| it.mail_number).collect();
                assert_eq!((got, again.deduplicated), (numbers, true));
            }
            Said::Ack(_, request) => {
                let again = heard(node.mailbox().ack_mail(request).await).unwrap();
                assert!(again.deduplicated);
            }
            Said::Append(_, request, first) => {
                let again = heard(node.threads().append_events(request).await).unwrap();
                assert_eq!(
                    (again.first_event_number, again.deduplicated),
                    (first, true)
                );
            }
            Said::Cancel(_, request) => {
                let again = heard(node.handoffs().cancel_handoff(request).await).unwrap();
                assert!(again.deduplicated);
            }
            Said::Finish(request, answer) => {
                let again = heard(node.runtimes().finish_turn(request).await).unwrap();
                assert_eq!(again, answer);
            }
        }
    }
}
