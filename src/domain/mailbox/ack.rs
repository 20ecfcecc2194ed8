//! AckMail: what a thread received is done with, by number or by report version.

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::caller::Caller;
use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::ids::{HandoffId, ThreadId};
use crate::domain::plan::Event;
use crate::domain::refusal::{Refusal, Violation};
use crate::domain::world::World;

/// A report version that the parent received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportAck {
    /// Of which handoff.
    pub handoff_id: HandoffId,
    /// This version and all older ones.
    pub version: u64,
}

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct AckMail {
    /// Who calls.
    #[serde(skip)]
    pub caller: Caller,
    /// Whose mailbox, where it is named.
    pub thread: Option<ThreadId>,
    /// Mail through this number is done with.
    pub received_through: Option<u64>,
    /// Reports that are done with, wherever they came from.
    pub reports: Vec<ReportAck>,
}

/// Where the mailbox stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailAcked {
    /// Whose mailbox.
    pub thread_id: ThreadId,
    /// The consumed mark after this.
    pub consumed_through: u64,
    /// Mail above it, counted by number.
    pub unread: u64,
    /// It was acknowledged before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for MailAcked {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for AckMail {
    type Answer = MailAcked;
    const NAME: &'static str = "mailbox.ack";

    fn lane_key(&self) -> u128 {
        match self.caller {
            Caller::Turn { turn_id, .. } => turn_id.into_untyped().as_u128(),
            Caller::Operator => self
                .thread
                .map_or(0, |thread| thread.into_untyped().as_u128()),
        }
    }

    fn caller(&self) -> &Caller {
        &self.caller
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let footprint = self.caller.footprint(self.thread, route);
        self.reports.iter().fold(footprint, |footprint, ack| {
            footprint.handoff(ack.handoff_id)
        })
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        ask.waking
            .extend(self.caller.thread(self.thread, &world.route));
        ask.reports
            .extend(self.reports.iter().map(|ack| ack.handoff_id));
    }

    fn decide(&self, world: &World, _: &mut Context<'_>) -> Result<Decision<MailAcked>, Stop> {
        let Some(acting) = self.caller.acting(world, self.thread)? else {
            let missing = Violation::new("thread_id", "is required where no turn acknowledges");
            return Err(Refusal::Invalid(vec![missing]).into());
        };
        let head = world.head(acting.thread_id)?;
        let thread_id = head.thread_id;
        let in_turn = acting.turn_id.is_some();
        if !in_turn && head.turn_id.is_some() {
            return Err(Refusal::ThreadHasLiveTurn { thread_id }.into());
        }
        if !in_turn && head.delete_time.is_some() {
            return Err(Refusal::ThreadDeleted { thread_id }.into());
        }
        let mut events = acting.begin;
        let mut consumed_through = head.consumed_through;
        if let Some(asked) = self.received_through {
            let given = if in_turn {
                head.given_through
            } else {
                head.mail_number
            };
            if asked > given {
                return Err(Refusal::MailNotGiven { asked, given }.into());
            }
            if asked > head.consumed_through {
                consumed_through = asked;
                events.push(Event::MailGiven {
                    thread_id,
                    through: asked,
                    messages: Vec::new(),
                });
                events.push(Event::MailConsumed {
                    thread_id,
                    through: asked,
                });
            }
        }
        events.extend(acknowledge(world, thread_id, &self.reports)?);
        let unread = head.mail_number - consumed_through;
        Ok(Decision {
            events,
            answer: Ok(MailAcked {
                thread_id,
                consumed_through,
                unread,
                deduplicated: false,
            }),
        })
    }
}

/// The events by which `parent` acknowledges report versions of its own handoffs.
///
/// # Errors
/// A handoff is not that thread's, or has no such version yet.
pub fn acknowledge(
    world: &World,
    parent: ThreadId,
    acks: &[ReportAck],
) -> Result<Vec<Event>, Stop> {
    let mut events = Vec::new();
    for ack in acks {
        let handoff = world.handoff(ack.handoff_id)?;
        let mut returned = world.made.reports_returned.iter();
        if returned.any(|it| it.handoff_id == ack.handoff_id) {
            // It got another mail in this very batch: the next one finds that stored.
            return Err(Stop::Needs(Footprint::default().handoff(ack.handoff_id)));
        }
        if handoff.parent_thread_id != Some(parent) {
            // The child sees its own handoff; to anybody else it does not exist.
            let handoff_id = ack.handoff_id;
            return Err(if handoff.child_thread_id == Some(parent) {
                Refusal::NotParent { handoff_id }.into()
            } else {
                Refusal::HandoffNotFound(handoff_id).into()
            });
        }
        if ack.version == 0 || ack.version > handoff.report_version {
            let newest = handoff.report_version;
            let refusal = Refusal::ReportVersionUnknown {
                handoff_id: ack.handoff_id,
                asked: ack.version,
                newest,
            };
            return Err(refusal.into());
        }
        events.push(Event::ReportAcknowledged {
            handoff_id: ack.handoff_id,
            version: ack.version,
        });
    }
    Ok(events)
}
