//! Carries out events of mail: numbers, marks, wakes.

use crate::domain::history::EventKind;
use crate::domain::ids::{HandoffId, ThreadId};
use crate::domain::mailbox::{MailException, Message};
use crate::domain::plan::MailTag;
use crate::domain::threads::Drive;

use super::apply::Inconsistent;
use super::{Hint, MailExcept, ReportDelivered, ReportReturned, World};

impl World {
    pub(super) fn accept_message(&mut self, mut message: Message) -> Result<(), Inconsistent> {
        let thread_id = message.to_thread_id;
        let head = self.head_mut(thread_id)?;
        head.mail_number += 1;
        message.mail_number = head.mail_number;
        message.wakes &= head.drive == Drive::Runtime && head.delete_time.is_none();
        if message.wakes && message.exception.is_none() {
            head.waking_unread += 1;
            if let Some(numbers) = self.loaded.waking.get_mut(&thread_id) {
                numbers.insert(message.mail_number);
            }
            self.wake(thread_id)?;
        }
        if let Some(from) = message.from_thread_id.filter(|_| message.rated) {
            let window = self.loaded.pairs.entry((thread_id, from)).or_default();
            window.count += 1;
            window.oldest.get_or_insert(message.create_time);
        }
        self.hints.insert(Hint::Mailbox(thread_id));
        self.made.messages.push(message);
        Ok(())
    }

    pub(super) fn give_mail(
        &mut self,
        thread_id: ThreadId,
        through: u64,
        messages: &[MailTag],
    ) -> Result<(), Inconsistent> {
        let now = self.now;
        let head = self.head_mut(thread_id)?;
        let turn_id = head.turn_id;
        if turn_id.is_none() || head.turn_running {
            // A claim hands mail over before anybody did anything: that is no activity yet.
            head.last_activity_time = head.last_activity_time.max(now);
        }
        if through > head.given_through {
            head.given_through = through;
            self.recount_waking(thread_id)?;
        }
        if !messages.is_empty() {
            let numbers = messages.iter().map(|tag| tag.number).collect();
            let kinds = messages.iter().map(|tag| tag.kind).collect();
            self.record(
                thread_id,
                false,
                turn_id,
                EventKind::Mail { numbers, kinds },
            )?;
        }
        Ok(())
    }

    /// Counts anew what must wake, after the given mark rose or mail was taken out. Only a thread
    /// with nothing to count may do without the numbers: a guess here would lose a wake.
    fn recount_waking(&mut self, thread_id: ThreadId) -> Result<(), Inconsistent> {
        let head = self.head_mut(thread_id)?;
        let (given, before) = (head.given_through, head.waking_unread);
        if before == 0 {
            return Ok(());
        }
        let left = self
            .waking_above(thread_id, given)
            .ok_or_else(|| Inconsistent::of(("waking mail of", thread_id)))?;
        let head = self.head_mut(thread_id)?;
        let woken = head.wake_time.is_some();
        head.drop_waking(before.saturating_sub(left));
        if woken && head.wake_time.is_none() {
            self.rest(thread_id)?;
        }
        Ok(())
    }

    pub(super) fn consume_mail(
        &mut self,
        thread_id: ThreadId,
        through: u64,
    ) -> Result<(), Inconsistent> {
        let head = self.head_mut(thread_id)?;
        head.consumed_through = head.consumed_through.max(through);
        Ok(())
    }

    /// Takes a range out of the normal life of mail; what had to wake no longer does.
    pub(super) fn except_mail(
        &mut self,
        thread_id: ThreadId,
        (above, through): (u64, u64),
        exception: MailException,
    ) -> Result<(), Inconsistent> {
        if let Some(numbers) = self.loaded.waking.get_mut(&thread_id) {
            numbers.retain(|number| *number <= above || through < *number);
        }
        self.recount_waking(thread_id)?;
        let new = self
            .made
            .messages
            .iter_mut()
            .filter(|message| message.to_thread_id == thread_id);
        for message in new.filter(|m| above < m.mail_number && m.mail_number <= through) {
            message.exception = Some(exception);
        }
        self.made.mail_excepts.push(MailExcept {
            thread_id,
            above,
            through,
            exception,
        });
        Ok(())
    }

    /// A report that a lost turn had read by the answer of its own call is mail again, under a new number.
    pub(super) fn return_report(
        &mut self,
        id: HandoffId,
        version: u64,
        message: Message,
    ) -> Result<(), Inconsistent> {
        let mail_number = self.head_mut(message.to_thread_id)?.mail_number + 1;
        self.accept_message(message)?;
        // W updates what is stored and does not see what it inserts.
        let mut made = self.made.reports.iter_mut();
        if let Some(report) = made.find(|it| it.handoff_id == id && it.version == version) {
            report.mail_number = Some(mail_number);
            report.reader_turn_id = None;
        } else {
            self.made.reports_returned.push(ReportReturned {
                handoff_id: id,
                version,
                mail_number,
            });
        }
        self.hints.insert(Hint::Handoff(id));
        Ok(())
    }

    pub(super) fn acknowledge_report(
        &mut self,
        id: HandoffId,
        version: u64,
    ) -> Result<(), Inconsistent> {
        let handoff = self.handoffs.get(&id).ok_or_else(|| Inconsistent::of(id))?;
        let parent = handoff
            .parent_thread_id
            .ok_or_else(|| Inconsistent::of(id))?;
        let consumed = self.head_mut(parent)?.consumed_through;
        let due = self
            .mailed_reports(id)
            .into_iter()
            .filter(|report| report.version <= version);
        for number in due
            .filter_map(|report| report.mail_number)
            .filter(|number| *number > consumed)
        {
            self.except_mail(parent, (number - 1, number), MailException::Consumed)?;
        }
        let deliver_time = self.now;
        // W updates what is stored and does not see what it inserts.
        let made = self.made.reports.iter_mut();
        for report in made.filter(|it| it.handoff_id == id && it.version <= version) {
            report.deliver_time.get_or_insert(deliver_time);
        }
        self.made.reports_delivered.push(ReportDelivered {
            handoff_id: id,
            version,
            deliver_time,
        });
        self.hints.insert(Hint::Handoff(id));
        self.collect(id, version)
    }
}
