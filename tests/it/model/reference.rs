//! What the server is to do, said as simply as can be: plain lists, nothing cached, nothing locked.
//!
//! Its own words and its own code. What the server counts is looked for here each time: unread mail,
//! unfinished children, taken slots. Time is whole seconds.

use std::collections::BTreeMap;

use super::rules::{Finished, Finishing};

pub(crate) const LEASE: u64 = 60;
pub(crate) const ASSIGN_LEASE: u64 = 10;
pub(crate) const LOSSES: u32 = 3;
pub(crate) const REMINDER_AFTER: u64 = 1_800;
pub(crate) const REMINDER_INTERVAL: u64 = 3_600;
pub(crate) const REMINDERS: u32 = 3;
pub(crate) const ABANDON_AFTER: u64 = 7 * 86_400;
pub(crate) const COLLECTION_WINDOW: u64 = 3_600;
pub(crate) const PAIR_WINDOW: u64 = 300;
pub(crate) const PAIR_LIMIT: usize = 12;
pub(crate) const PAIR_RESERVED: usize = 2;

#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) active: bool,
    pub(crate) slots: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Report,
    Progress,
    Note,
    Reminder,
    Notice,
}

/// What took a message out of the normal life of mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    Consumed,
    SetAside,
    Withdrawn,
}

#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) from: Option<usize>,
    pub(crate) kind: Kind,
    pub(crate) work: Option<usize>,
    pub(crate) version: Option<u64>,
    pub(crate) quiet: bool,
    pub(crate) late: bool,
    pub(crate) sent: u64,
    pub(crate) gone: Option<Gone>,
}

#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) id: String,
    pub(crate) agent: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) pull: bool,
    /// Number 1 is at 0.
    pub(crate) mail: Vec<Mail>,
    pub(crate) given: u64,
    pub(crate) consumed: u64,
    pub(crate) turn: Option<usize>,
    pub(crate) turns: u64,
    /// When it is to run, and whether for another reason than mail.
    pub(crate) wake: Option<u64>,
    pub(crate) own_cause: bool,
    /// The newest handoff it is the child of.
    pub(crate) work: Option<usize>,
    pub(crate) lost: u32,
    pub(crate) lost_given: Option<u64>,
    pub(crate) active: u64,
    pub(crate) waited: u64,
    pub(crate) due: Option<u64>,
    pub(crate) response: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Started,
    Running,
    Completed,
    Error,
    Cancelled,
    MaterializeFailed,
    ExpiredUnnotified,
    Abandoned,
}

/// What is done with the end of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Mailed to the parent.
    Mail,
    /// Kept until the parent takes it.
    Taken,
    /// Told to nobody.
    Nobody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeded,
    Blocked,
    Failed,
    Cancelled,
    Abandoned,
}

/// The end of work, and whether the parent has it.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) outcome: Outcome,
    pub(crate) mail: Option<u64>,
    pub(crate) acknowledged: bool,
    /// Until when the parent may take it, while it may.
    pub(crate) kept: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) id: String,
    pub(crate) parent: Option<usize>,
    pub(crate) child: Option<usize>,
    pub(crate) told: Told,
    pub(crate) fail_on_loss: bool,
    pub(crate) status: Status,
    pub(crate) end: Option<End>,
    pub(crate) reminders: u32,
    pub(crate) reminded: Option<u64>,
    pub(crate) reminder: Option<u64>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, which the server keeps apart too"
)]
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) token: u64,
    pub(crate) thread: usize,
    pub(crate) runtime: usize,
    pub(crate) holds_slot: bool,
    pub(crate) running: bool,
    pub(crate) ended: bool,
    pub(crate) lease: u64,
    pub(crate) look: u64,
    pub(crate) active: u64,
    pub(crate) stop: bool,
    /// Its runtime crashed: nobody calls for it any more.
    pub(crate) orphan: bool,
    /// The finish that closed it, for whoever says it again.
    pub(crate) finish: Option<(Finishing, Finished)>,
}

/// Who calls: somebody outside, or a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Outside,
    Turn(usize),
}

/// The answer no, by the name of its reason.
pub(crate) type No = &'static str;

#[derive(Clone, Debug, Default)]
pub(crate) struct Reference {
    pub(crate) now: u64,
    /// The service came back then: leases count from there at the earliest.
    pub(crate) resumed: u64,
    pub(crate) agents: Vec<Agent>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) works: Vec<Work>,
    pub(crate) turns: Vec<Turn>,
    /// Work by agent and key: which, and what was asked.
    pub(crate) keys: BTreeMap<(usize, u8), (usize, u8)>,
    /// Refusals that left a record, by who asked what of whom under which key.
    pub(crate) refusals: BTreeMap<(Option<usize>, usize, u8, u8), usize>,
}

impl Reference {
    pub(crate) fn unfinished(&self, work: usize) -> bool {
        self.works[work].end.is_none()
    }

    /// The unfinished work of a child.
    pub(crate) fn owes(&self, thread: usize) -> Option<usize> {
        self.threads[thread]
            .work
            .filter(|work| self.unfinished(*work))
    }

    /// Unfinished children whose end is told to a thread.
    pub(crate) fn awaits(&self, thread: usize) -> bool {
        let mut works = self.works.iter();
        works.any(|it| it.parent == Some(thread) && it.told != Told::Nobody && it.end.is_none())
    }

    pub(crate) fn slots_taken(&self, agent: usize) -> u32 {
        let mut taken = 0;
        for turn in self.turns.iter().filter(|it| !it.ended && it.holds_slot) {
            taken += u32::from(self.threads[turn.thread].agent == agent);
        }
        taken
    }

    pub(crate) fn has_free_slot(&self, agent: usize) -> bool {
        let it = &self.agents[agent];
        it.active && it.slots.is_none_or(|slots| self.slots_taken(agent) < slots)
    }

    /// Numbers of the mail above a number that may still be read.
    pub(crate) fn mail_above(&self, thread: usize, above: u64) -> Vec<u64> {
        let mail = (1..).zip(&self.threads[thread].mail);
        let there = mail.filter(|(number, it)| *number > above && it.gone.is_none());
        there.map(|(number, _)| number).collect()
    }

    /// Unread mail above a number that makes the thread run.
    pub(crate) fn waking_above(&self, thread: usize, above: u64) -> usize {
        let it = &self.threads[thread];
        let wakes = |number: &u64| {
            let mail = &it.mail[usize::try_from(*number).unwrap() - 1];
            !it.pull && !mail.quiet && mail.kind != Kind::Progress
        };
        self.mail_above(thread, above)
            .iter()
            .filter(|number| wakes(number))
            .count()
    }

    fn waking(&self, thread: usize) -> usize {
        self.waking_above(thread, self.threads[thread].given)
    }

    /// A wake without any cause left is none.
    fn settle_wake(&mut self, thread: usize) {
        if !self.threads[thread].own_cause && self.waking(thread) == 0 {
            self.threads[thread].wake = None;
        }
    }

    /// Something came for a thread that it must run for.
    fn wake(&mut self, thread: usize) {
        let now = self.now;
        let it = &mut self.threads[thread];
        if it.pull || it.turn.is_some() {
            return;
        }
        let pause = it.lost > 0 && it.wake.is_some_and(|wake| wake > now);
        if !pause {
            it.wake = Some(it.wake.map_or(now, |wake| wake.min(now)));
        }
    }

    /// Puts mail into a mailbox; returns its number.
    pub(crate) fn deliver(&mut self, to: usize, mail: Mail) -> u64 {
        let wakes = !mail.quiet && mail.kind != Kind::Progress;
        self.threads[to].mail.push(mail);
        if wakes {
            self.wake(to);
        }
        self.threads[to].mail.len() as u64
    }

    fn server_mail(&self, kind: Kind, work: usize, version: Option<u64>, quiet: bool) -> Mail {
        Mail {
            from: None,
            kind,
            work: Some(work),
            version,
            quiet,
            late: false,
            sent: self.now,
            gone: None,
        }
    }

    /// The thread a call acts for; `named` must agree with a turn's own.
    pub(crate) fn acting(&self, who: Who, named: Option<usize>) -> Result<Option<usize>, No> {
        let Who::Turn(turn) = who else {
            return Ok(named);
        };
        let thread = self.turns[turn].thread;
        if named.is_some_and(|named| named != thread) {
            return Err("TURN_OF_OTHER_THREAD");
        }
        if self.turns[turn].ended {
            return Err("TURN_CLOSED");
        }
        Ok(Some(thread))
    }

    /// An accepted call of a turn is life of it, and its first one begins it.
    pub(crate) fn call(&mut self, who: Who) {
        if let Who::Turn(turn) = who {
            self.begin(turn);
            let now = self.now;
            let it = &mut self.turns[turn];
            it.lease = now + LEASE;
            it.active = now;
        }
    }

    pub(crate) fn begin(&mut self, turn: usize) {
        let now = self.now;
        let it = &mut self.turns[turn];
        if it.running || it.ended {
            return;
        }
        it.running = true;
        it.lease = now + LEASE;
        it.look = it.lease;
        it.active = now;
        let thread = it.thread;
        self.threads[thread].active = now;
        if let Some(work) = self.owes(thread)
            && self.works[work].status == Status::Started
        {
            self.works[work].status = Status::Running;
        }
    }

    /// A child has said how its work came out, in mail or not.
    pub(crate) fn end_with_result(&mut self, work: usize, outcome: Outcome, mail: Option<u64>) {
        let it = &self.works[work];
        let kept = it.told == Told::Taken && it.parent.is_some();
        let status = if kept { it.status } else { Status::Completed };
        let end = End {
            outcome,
            mail,
            acknowledged: false,
            kept: kept.then_some(self.now + COLLECTION_WINDOW),
        };
        self.end(work, status, end);
    }

    /// Work ends, once. Its report went as mail already, or the server tells of it.
    pub(crate) fn end(&mut self, work: usize, status: Status, end: End) {
        self.withdraw_reminder(work);
        let it = &mut self.works[work];
        assert!(it.end.is_none(), "an end of what had ended");
        it.status = status;
        it.end = Some(end);
        if let Some(child) = it.child {
            self.threads[child].due = None;
        }
    }

    /// Work ends without a report, and its parent is told, loudly or not.
    pub(crate) fn end_with_notice(
        &mut self,
        work: usize,
        status: Status,
        outcome: Outcome,
        loud: bool,
    ) {
        let mailed = self.works[work].told == Told::Mail;
        let parent = self.works[work].parent.filter(|_| mailed);
        let acknowledged = false;
        let mail = parent.map(|parent| self.threads[parent].mail.len() as u64 + 1);
        self.end(
            work,
            status,
            End {
                outcome,
                mail,
                acknowledged,
                kept: None,
            },
        );
        if let Some(parent) = parent {
            let notice = self.server_mail(Kind::Notice, work, Some(1), !loud);
            self.deliver(parent, notice);
        }
    }

    fn withdraw_reminder(&mut self, work: usize) {
        let it = &mut self.works[work];
        let (Some(number), Some(child)) = (it.reminder, it.child) else {
            return;
        };
        let thread = &mut self.threads[child];
        if number <= thread.given {
            return;
        }
        thread.mail[usize::try_from(number).unwrap() - 1].gone = Some(Gone::Withdrawn);
        it.reminders -= 1;
        it.reminder = None;
        if self.threads[child].turn.is_none() {
            self.settle_wake(child);
        }
    }

    /// What a thread was to do is taken back, as far as no mail asks for it.
    pub(crate) fn withdraw_wake(&mut self, thread: usize) {
        if self.waking(thread) == 0 {
            self.threads[thread].own_cause = false;
            self.threads[thread].wake = None;
        }
    }

    pub(crate) fn give(&mut self, thread: usize, through: u64) {
        let it = &mut self.threads[thread];
        it.given = it.given.max(through);
        if it.turn.is_none() {
            self.settle_wake(thread);
        }
    }

    pub(crate) fn consume(&mut self, thread: usize, through: u64) {
        self.give(thread, through);
        let it = &mut self.threads[thread];
        it.consumed = it.consumed.max(through);
    }

    /// A parent has what its work came to.
    pub(crate) fn acknowledge(&mut self, work: usize) {
        let parent = self.works[work].parent.unwrap();
        let end = self.works[work].end.as_mut().unwrap();
        end.acknowledged = true;
        if end.kept.take().is_some() {
            self.works[work].status = Status::Completed;
        }
        let end = self.works[work].end.as_ref().unwrap();
        if let Some(number) = end
            .mail
            .filter(|number| *number > self.threads[parent].consumed)
        {
            let mail = &mut self.threads[parent].mail[usize::try_from(number).unwrap() - 1];
            mail.gone.get_or_insert(Gone::Consumed);
        }
        if self.threads[parent].turn.is_none() {
            self.settle_wake(parent);
        }
    }

    /// A turn is over: mail through a number is done with, the rest was never seen. `again` is when the
    /// thread runs for another reason than mail; `only` that nothing makes it run before.
    pub(crate) fn close(&mut self, turn: usize, through: u64, again: Option<u64>, only: bool) {
        let now = self.now;
        let thread = self.turns[turn].thread;
        self.turns[turn].ended = true;
        let ended = self.threads[thread]
            .work
            .filter(|work| !self.unfinished(*work));
        let reminder = ended.and_then(|work| self.works[work].reminder);
        let it = &mut self.threads[thread];
        if let Some(number) = reminder.filter(|number| through < *number && *number <= it.given) {
            let mail = &mut it.mail[usize::try_from(number).unwrap() - 1];
            mail.gone.get_or_insert(Gone::Consumed);
        }
        it.turn = None;
        it.consumed = through;
        it.given = through;
        it.own_cause = again.is_some();
        let mail = self.waking(thread) > 0;
        let it = &mut self.threads[thread];
        it.wake = match again {
            Some(again) if mail && !only => Some(again.min(now)),
            Some(again) => Some(again),
            None => mail.then_some(now),
        };
        if self.owes(thread).is_some() {
            let due = now + REMINDER_AFTER;
            let it = &mut self.threads[thread];
            it.due = Some(it.due.map_or(due, |before| before.min(due)));
        }
    }
}
