//! Who may be written to, and whether there is room.

use super::SendMessage;
use crate::domain::command::Stop;
use crate::domain::ids::ThreadId;
use crate::domain::limits;
use crate::domain::mailbox::MessageKind;
use crate::domain::refusal::Refusal;
use crate::domain::threads::Head;
use crate::domain::world::World;

impl SendMessage {
    pub(super) fn recipient<'w>(&self, world: &'w World, to: ThreadId) -> Result<&'w Head, Stop> {
        let recipient = world.head(to)?;
        self.check_agent(recipient)?;
        if recipient.delete_time.is_some() {
            return Err(Refusal::ThreadDeleted { thread_id: to }.into());
        }
        Ok(recipient)
    }

    pub(super) fn check_agent(&self, recipient: &Head) -> Result<(), Refusal> {
        match &self.to_agent {
            Some(agent) if *agent != recipient.agent_id => {
                let thread_id = recipient.thread_id;
                Err(Refusal::WrongAgent {
                    thread_id,
                    agent_id: agent.clone(),
                })
            }
            _ => Ok(()),
        }
    }

    /// A note may name a handoff between the two threads.
    pub(super) fn check_handoff(&self, sender: &Head, recipient: &Head) -> Result<(), Refusal> {
        match self.handoff {
            Some(named) if ![sender.handoff_id, recipient.handoff_id].contains(&Some(named)) => {
                Err(Refusal::HandoffOfOtherThread { handoff_id: named })
            }
            _ => Ok(()),
        }
    }

    /// The pair limit, whose last places are kept for reports, and the size of the mailbox.
    pub(super) fn check_room(
        world: &World,
        sender: &Head,
        recipient: &Head,
        kind: MessageKind,
    ) -> Result<(), Refusal> {
        let (from, to) = (sender.thread_id, recipient.thread_id);
        let rules = &world.rules;
        let (limit, reserved) = (rules.pair_limit, limits::PAIR_RESERVED);
        let places = match kind {
            MessageKind::Report => limit,
            MessageKind::Progress
            | MessageKind::Note
            | MessageKind::Reminder
            | MessageKind::Notice => limit.saturating_sub(reserved),
        };
        let window = world
            .loaded
            .pairs
            .get(&(to, from))
            .copied()
            .unwrap_or_default();
        if window.count >= places {
            let oldest = window.oldest.unwrap_or(world.now);
            let retry = (oldest + rules.pair_window).since(world.now);
            return Err(Refusal::PairLimit {
                from,
                to,
                limit,
                reserved,
                window: rules.pair_window,
                retry,
            });
        }
        if kind == MessageKind::Report {
            return Ok(());
        }
        check_mailbox(recipient)
    }
}

/// Whether the mailbox has room for what is neither a report nor the server's own.
pub(super) fn check_mailbox(recipient: &Head) -> Result<(), Refusal> {
    if recipient.unread() < limits::MAILBOX {
        return Ok(());
    }
    Err(Refusal::MailboxFull {
        thread_id: recipient.thread_id,
        limit: limits::MAILBOX,
    })
}
