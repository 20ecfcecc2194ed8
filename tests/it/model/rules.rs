//! What each call does to the reference: refused by a reason, or done.

use super::reference::{
    ABANDON_AFTER, ASSIGN_LEASE, End, Gone, Kind, LEASE, LOSSES, Mail, No, Outcome, PAIR_LIMIT,
    PAIR_RESERVED, PAIR_WINDOW, REMINDER_AFTER, REMINDER_INTERVAL, REMINDERS, Reference, Status,
    Thread, Told, Turn, Who, Work,
};

/// What a sender hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Signal,
    Wake,
    Waiting,
    Held,
    Recorded,
}

/// A message as it is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) from: Option<usize>,
    pub(crate) to: Option<usize>,
    pub(crate) kind: Option<Kind>,
    pub(crate) quiet: bool,
    pub(crate) outcome: Option<Outcome>,
}

/// Work as it is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    pub(crate) parent: Option<usize>,
    pub(crate) agent: usize,
    pub(crate) told: Option<Told>,
    pub(crate) fail_on_loss: bool,
    pub(crate) key: Option<u8>,
    pub(crate) task: u8,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    New(usize),
    Found(usize),
    /// Refused, with the record of that, a new one or an earlier one.
    Refused {
        work: usize,
        new: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Finished,
    Wait,
    Continue,
    WakeAt(u64),
    Failed,
    Interrupted,
    Aborted,
}

/// A finish as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finishing {
    pub(crate) finish: Finish,
    pub(crate) response: Option<String>,
    pub(crate) received: Option<u64>,
}

/// What a runtime hears of a finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) open: bool,
    pub(crate) owed: bool,
    pub(crate) woken: bool,
    pub(crate) status: Option<Status>,
}

impl Reference {
    pub(crate) fn add_thread(
        &mut self,
        id: String,
        agent: usize,
        parent: Option<usize>,
        pull: bool,
    ) -> usize {
        self.threads.push(Thread {
            id,
            agent,
            parent,
            pull,
            mail: Vec::new(),
            given: 0,
            consumed: 0,
            turn: None,
            turns: 0,
            wake: None,
            own_cause: false,
            work: None,
            lost: 0,
            lost_given: None,
            active: self.now,
            waited: 0,
            due: None,
            response: None,
        });
        self.threads.len() - 1
    }

    /// Ids are given by the server: `name` sets them.
    pub(crate) fn create(&mut self, who: Who, asking: Asking) -> Result<Made, No> {
        let parent = self.acting(who, asking.parent)?;
        if let Some((work, task)) = asking
            .key
            .and_then(|key| self.keys.get(&(asking.agent, key)).copied())
        {
            if task != asking.task {
                return Err("IDEMPOTENCY_CONFLICT");
            }
            if self.works[work].parent != parent {
                return Err("KEY_OF_OTHER_PARENT");
            }
            self.call(who);
            return Ok(Made::Found(work));
        }
        let told = match (asking.told, parent) {
            (Some(Told::Mail), None) => return Err("INVALID_FIELD"),
            (Some(told), _) => told,
            (None, Some(_)) => Told::Mail,
            (None, None) => Told::Nobody,
        };
        let mut work = Work {
            id: String::new(),
            parent,
            child: None,
            told,
            fail_on_loss: asking.fail_on_loss,
            status: Status::Started,
            end: None,
            reminders: 0,
            reminded: None,
            reminder: None,
        };
        let at = self.works.len();
        if !self.agents[asking.agent].active {
            if let Who::Turn(turn) = who {
                self.begin(turn);
            }
            let name = asking
                .key
                .map(|key| (parent, asking.agent, key, asking.task));
            if let Some(&earlier) = name.and_then(|name| self.refusals.get(&name)) {
                return Ok(Made::Refused {
                    work: earlier,
                    new: false,
                });
            }
            work.status = Status::MaterializeFailed;
            work.end = Some(End {
                outcome: Outcome::Failed,
                mail: None,
                acknowledged: false,
                kept: None,
            });
            self.works.push(work);
            self.refusals.extend(name.map(|name| (name, at)));
            return Ok(Made::Refused {
                work: at,
                new: true,
            });
        }
        self.call(who);
        let child = self.add_thread(String::new(), asking.agent, parent, false);
        work.child = Some(child);
        self.works.push(work);
        let it = &mut self.threads[child];
        it.work = Some(at);
        it.own_cause = true;
        it.wake = Some(self.now);
        it.due = Some(self.now + REMINDER_AFTER);
        if let Some(parent) = parent {
            self.threads[parent].active = self.now;
        }
        if let Some(key) = asking.key {
            self.keys.insert((asking.agent, key), (at, asking.task));
        }
        Ok(Made::New(at))
    }

    /// What is wrong with a message before anything is looked up.
    fn malformed(who: Who, it: &Sending) -> bool {
        let upward = matches!(it.kind, Some(Kind::Report | Kind::Progress));
        let nobody = who == Who::Outside && it.from.is_none();
        (it.quiet && upward)
            || (it.outcome.is_some() && it.kind.is_some_and(|kind| kind != Kind::Report))
            || (nobody && upward)
            || (it.to.is_none() && !upward && (it.kind == Some(Kind::Note) || it.quiet || nobody))
    }

    /// How the message is delivered, whether it is late, and where it went.
    pub(crate) fn send(
        &mut self,
        who: Who,
        it: Sending,
    ) -> Result<(Delivery, bool, Option<usize>), No> {
        if Self::malformed(who, &it) {
            return Err("INVALID_FIELD");
        }
        let Some(from) = self.acting(who, it.from)? else {
            let Some(to) = it.to.filter(|_| it.outcome.is_none()) else {
                return Err("INVALID_FIELD");
            };
            return Ok(self.accept(None, to, Kind::Note, it.quiet, None));
        };
        let parent = self.threads[from].parent;
        let to_parent = parent.is_some() && it.to.is_none_or(|to| Some(to) == parent);
        let meant = if to_parent && self.owes(from).is_some() && !it.quiet {
            Kind::Report
        } else {
            Kind::Note
        };
        match it.kind.unwrap_or(meant) {
            Kind::Note => {
                let Some(to) = it.to.filter(|_| it.outcome.is_none()) else {
                    return Err("INVALID_FIELD");
                };
                if to == from {
                    return Err("MAIL_TO_SELF");
                }
                self.room(from, to, PAIR_LIMIT - PAIR_RESERVED)?;
                self.call(who);
                Ok(self.accept(Some(from), to, Kind::Note, it.quiet, None))
            }
            kind => self.send_upward(who, from, kind, it),
        }
    }

    fn send_upward(
        &mut self,
        who: Who,
        from: usize,
        kind: Kind,
        it: Sending,
    ) -> Result<(Delivery, bool, Option<usize>), No> {
        let sender = &self.threads[from];
        let work = sender.work.ok_or("NO_HANDOFF")?;
        if it.to.is_some() && it.to != sender.parent {
            return Err(if sender.parent.is_some() {
                "NOT_TO_PARENT_THREAD"
            } else {
                "NO_PARENT_THREAD"
            });
        }
        if !sender.pull && sender.turns > 0 && who == Who::Outside {
            return Err("TURN_REQUIRED");
        }
        let late = !self.unfinished(work);
        let outcome = it.outcome.unwrap_or(Outcome::Succeeded);
        let parent = sender
            .parent
            .filter(|_| kind == Kind::Progress || self.works[work].told == Told::Mail);
        let Some(to) = parent else {
            if kind == Kind::Progress {
                return Err("NO_PARENT_THREAD");
            }
            self.call(who);
            self.threads[from].active = self.now;
            if !late {
                self.end_with_result(work, outcome, None);
            }
            return Ok((Delivery::Recorded, late, None));
        };
        let reserved = if kind == Kind::Report {
            0
        } else {
            PAIR_RESERVED
        };
        self.room(from, to, PAIR_LIMIT - reserved)?;
        self.call(who);
        let mut version = None;
        if kind == Kind::Report {
            self.threads[from].active = self.now;
            if !late {
                version = Some(1);
                let mail = Some(self.threads[to].mail.len() as u64 + 1);
                self.end_with_result(work, outcome, mail);
            }
        }
        Ok(self.accept(Some(from), to, kind, false, Some((work, version, late))))
    }

    /// The rolling window of a pair.
    fn room(&self, from: usize, to: usize, limit: usize) -> Result<(), No> {
        let mail = self.threads[to].mail.iter();
        let recent = mail.filter(|it| it.from == Some(from) && it.sent + PAIR_WINDOW > self.now);
        if recent.count() < limit {
            Ok(())
        } else {
            Err("PAIR_LIMIT")
        }
    }

    fn accept(
        &mut self,
        from: Option<usize>,
        to: usize,
        kind: Kind,
        quiet: bool,
        about: Option<(usize, Option<u64>, bool)>,
    ) -> (Delivery, bool, Option<usize>) {
        let it = &self.threads[to];
        let delivery = if it.pull || quiet || kind == Kind::Progress {
            Delivery::Waiting
        } else if it.turn.is_some() {
            Delivery::Signal
        } else if self.agents[it.agent].active {
            Delivery::Wake
        } else {
            Delivery::Held
        };
        let late = about.is_some_and(|(.., late)| late);
        let mail = Mail {
            from,
            kind,
            work: about.map(|(work, ..)| work),
            version: about.and_then(|(_, version, _)| version),
            quiet,
            late,
            sent: self.now,
            gone: None,
        };
        self.deliver(to, mail);
        (delivery, late, Some(to))
    }

    /// Numbers handed over, the mark of the answer, whether more waits.
    pub(crate) fn read(
        &mut self,
        who: Who,
        thread: usize,
        received: Option<u64>,
        max: usize,
    ) -> Result<(Vec<u64>, u64, bool), No> {
        self.acting(who, Some(thread))?;
        let in_turn = who != Who::Outside;
        let it = &self.threads[thread];
        if !in_turn && it.turn.is_some() {
            return Err("THREAD_HAS_LIVE_TURN");
        }
        if received.is_some_and(|received| received > it.given) {
            return Err("MAIL_NOT_GIVEN");
        }
        let above = match received {
            Some(received) => received.max(it.consumed),
            None if in_turn => it.given,
            None => it.consumed,
        };
        self.call(who);
        let all = self.mail_above(thread, above);
        let mut got = all.clone();
        got.truncate(max);
        let more = got.len() < all.len();
        let it = &self.threads[thread];
        let through = if more {
            *got.last().unwrap()
        } else {
            it.mail.len() as u64
        };
        let moves = through > it.given || !got.is_empty();
        let calls = it.pull && self.now - it.active >= 5;
        if moves || calls {
            self.threads[thread].active = self.now;
        }
        if in_turn {
            self.give(thread, through);
        } else {
            self.consume(thread, through);
        }
        Ok((got, through, more))
    }

    /// The mark after it.
    pub(crate) fn ack(
        &mut self,
        who: Who,
        thread: usize,
        received: Option<u64>,
        report: Option<(usize, u64)>,
    ) -> Result<u64, No> {
        self.acting(who, Some(thread))?;
        let in_turn = who != Who::Outside;
        let it = &self.threads[thread];
        if !in_turn && it.turn.is_some() {
            return Err("THREAD_HAS_LIVE_TURN");
        }
        let there = if in_turn {
            it.given
        } else {
            it.mail.len() as u64
        };
        if received.is_some_and(|received| received > there) {
            return Err("MAIL_NOT_GIVEN");
        }
        if let Some((work, version)) = report {
            let it = &self.works[work];
            if it.parent != Some(thread) {
                let is_child = it.child == Some(thread);
                return Err(if is_child {
                    "NOT_PARENT"
                } else {
                    "HANDOFF_NOT_FOUND"
                });
            }
            // A record of a refusal has an end and no report.
            let versions = u64::from(it.end.is_some() && it.child.is_some());
            if version > versions {
                return Err("REPORT_VERSION_UNKNOWN");
            }
        }
        self.call(who);
        let consumed = self.threads[thread].consumed;
        if let Some(received) = received.filter(|received| *received > consumed) {
            self.consume(thread, received);
            let it = &mut self.threads[thread];
            if it.turn.is_none_or(|turn| self.turns[turn].running) {
                it.active = self.now;
            }
        }
        if let Some((work, _)) = report {
            self.acknowledge(work);
        }
        Ok(self.threads[thread].consumed)
    }

    pub(crate) fn append(&mut self, who: Who, thread: usize) -> Result<(), No> {
        self.acting(who, Some(thread))?;
        if who == Who::Outside && !self.threads[thread].pull {
            return Err("TURN_REQUIRED");
        }
        self.call(who);
        self.threads[thread].active = self.now;
        Ok(())
    }

    /// Whether it had ended before, and whether a turn is asked to stop.
    pub(crate) fn cancel(
        &mut self,
        who: Who,
        work: usize,
        stop: bool,
        loud: bool,
    ) -> Result<(bool, bool), No> {
        let it = self.works[work].clone();
        let caller = self.acting(who, None)?;
        if caller.is_some() && caller != it.parent {
            return Err(if caller == it.child {
                "NOT_PARENT"
            } else {
                "HANDOFF_NOT_FOUND"
            });
        }
        self.call(who);
        if it.end.is_some() {
            return Ok((true, false));
        }
        let child = it.child.unwrap();
        self.end_with_notice(work, Status::Cancelled, Outcome::Cancelled, loud);
        let began = it.status != Status::Started;
        match self.threads[child].turn {
            None if !began || stop => self.withdraw_wake(child),
            Some(turn) if !began && !self.turns[turn].running => {
                self.forget_losses(child);
                self.threads[child].active = self.now;
                let consumed = self.threads[child].consumed;
                self.close(turn, consumed, None, false);
            }
            Some(turn) if stop => {
                self.turns[turn].stop = true;
                return Ok((false, true));
            }
            Some(_) | None => {}
        }
        Ok((false, false))
    }

    fn forget_losses(&mut self, thread: usize) {
        self.threads[thread].lost = 0;
        self.threads[thread].lost_given = None;
    }

    /// Threads that a claim may take now.
    pub(crate) fn claimable(&self) -> Vec<usize> {
        let ready = |at: &usize| {
            let it = &self.threads[*at];
            it.wake.is_some_and(|wake| wake <= self.now) && self.has_free_slot(it.agent)
        };
        (0..self.threads.len()).filter(ready).collect()
    }

    /// A claim that took this thread; returns the numbers of the mail handed over.
    pub(crate) fn assign(
        &mut self,
        thread: usize,
        runtime: usize,
        id: String,
        token: u64,
    ) -> Vec<u64> {
        let now = self.now;
        let mail = self.mail_above(thread, self.threads[thread].consumed);
        let it = &mut self.threads[thread];
        it.wake = None;
        it.own_cause = false;
        it.turns += 1;
        it.turn = Some(self.turns.len());
        it.given = it.mail.len() as u64;
        let agent = it.agent;
        self.turns.push(Turn {
            id,
            token,
            thread,
            runtime,
            holds_slot: self.agents[agent].slots.is_some(),
            running: false,
            ended: false,
            lease: now + ASSIGN_LEASE,
            look: now + ASSIGN_LEASE,
            active: now,
            stop: false,
            orphan: false,
            finish: None,
        });
        mail
    }

    /// Whether the turn lives.
    pub(crate) fn beat(&mut self, turn: usize) -> bool {
        if self.turns[turn].ended {
            return false;
        }
        self.begin(turn);
        self.turns[turn].lease = self.now + LEASE;
        true
    }

    pub(crate) fn finish(&mut self, turn: usize, asked: &Finishing) -> Result<Finished, No> {
        let Finishing {
            finish,
            response,
            received,
        } = asked.clone();
        if self.turns[turn].ended {
            let said = self.turns[turn].finish.clone();
            let again = said.filter(|(before, _)| before == asked);
            return again.map(|(_, answer)| answer).ok_or("TURN_CLOSED");
        }
        let thread = self.turns[turn].thread;
        let it = &self.threads[thread];
        if received.is_some_and(|received| received > it.given) {
            return Err("MAIL_NOT_GIVEN");
        }
        if finish == Finish::Aborted && !self.turns[turn].stop {
            return Err("ABORT_NOT_REQUESTED");
        }
        let through = received.map_or(it.given, |received| received.max(it.consumed));
        self.begin(turn);
        let again = match finish {
            Finish::Interrupted | Finish::Continue => Some(self.now),
            Finish::WakeAt(time) => Some(time.max(self.now)),
            Finish::Finished | Finish::Wait | Finish::Failed | Finish::Aborted => None,
        };
        let owes = self.owes(thread);
        if let Some(work) = owes {
            if finish == Finish::Failed {
                self.end_with_notice(work, Status::Error, Outcome::Failed, true);
            } else if finish == Finish::Finished
                && self.works[work].told != Told::Mail
                && self.waking_above(thread, through) == 0
                && !self.awaits(thread)
                && response.is_some()
            {
                self.end_with_result(work, Outcome::Succeeded, None);
            }
        }
        if finish != Finish::Interrupted {
            self.forget_losses(thread);
        }
        self.threads[thread].active = self.now;
        self.close(turn, through, again, false);
        if response.is_some() {
            self.threads[thread].response = response;
        }
        let work = self.threads[thread].work;
        let open = self.owes(thread).is_some();
        let answer = Finished {
            open,
            owed: open && self.works[work.unwrap()].told == Told::Mail,
            woken: self.threads[thread].wake.is_some(),
            status: work.map(|work| self.works[work].status),
        };
        self.turns[turn].finish = Some((asked.clone(), answer));
        Ok(answer)
    }

    /// Whether a turn that was asked to stop, for work that has ended, is not to run again.
    fn stopped(&self, turn: usize) -> bool {
        self.turns[turn].stop && self.owes(self.turns[turn].thread).is_none()
    }

    /// Whether the turn was given back.
    pub(crate) fn release(&mut self, turn: usize) -> bool {
        if self.turns[turn].ended {
            return false;
        }
        let thread = self.turns[turn].thread;
        let again = (!self.stopped(turn)).then_some(self.now);
        let consumed = self.threads[thread].consumed;
        self.threads[thread].active = self.now;
        self.close(turn, consumed, again, false);
        true
    }

    /// Turns whose lease is looked at now.
    pub(crate) fn leases_due(&self) -> Vec<usize> {
        let due = |at: &usize| !self.turns[*at].ended && self.turns[*at].look <= self.now;
        (0..self.turns.len()).filter(due).collect()
    }

    /// When the lease of a turn ends, also after an outage of the service.
    pub(crate) fn lease_end(&self, turn: usize) -> u64 {
        let it = &self.turns[turn];
        let lease = if it.running { LEASE } else { ASSIGN_LEASE };
        it.lease.max(self.resumed + lease)
    }

    /// Whether this loss would end the work, or set mail aside.
    pub(crate) fn is_last_loss(&self, turn: usize) -> bool {
        let thread = self.turns[turn].thread;
        let fails = self
            .owes(thread)
            .is_some_and(|work| self.works[work].fail_on_loss);
        fails || self.threads[thread].lost + 1 >= LOSSES
    }

    pub(crate) fn look_at_lease(&mut self, turn: usize) {
        let end = self.lease_end(turn);
        if end > self.now {
            self.turns[turn].look = end;
            return;
        }
        let thread = self.turns[turn].thread;
        let consumed = self.threads[thread].consumed;
        let stopped = self.stopped(turn);
        if !self.turns[turn].running {
            self.close(turn, consumed, (!stopped).then_some(self.now), false);
            return;
        }
        let last = self.is_last_loss(turn);
        let owes = self.owes(thread);
        if let Some(work) = owes.filter(|_| last) {
            self.end_with_notice(work, Status::Error, Outcome::Failed, true);
        }
        let active = self.turns[turn].active;
        let it = &mut self.threads[thread];
        it.active = it.active.max(active);
        let given = it
            .lost_given
            .map_or(it.given, |before| before.min(it.given));
        if last {
            let aside = given.max(consumed);
            for (number, mail) in (1..).zip(&mut it.mail) {
                if consumed < number && number <= aside {
                    mail.gone.get_or_insert(Gone::SetAside);
                }
            }
            self.forget_losses(thread);
            self.close(turn, aside, None, false);
        } else {
            it.lost += 1;
            it.lost_given = Some(given);
            let pause = if it.lost == 1 { 1 } else { 5 };
            let again = (!stopped).then_some(self.now + pause);
            self.close(turn, consumed, again, true);
        }
    }

    /// Results that nobody took in time.
    pub(crate) fn works_due(&self) -> Vec<usize> {
        let due = |at: &usize| {
            let end = self.works[*at].end.as_ref();
            end.and_then(|end| end.kept)
                .is_some_and(|time| time <= self.now)
        };
        (0..self.works.len()).filter(due).collect()
    }

    pub(crate) fn look_at_due(&mut self, work: usize) {
        let it = &mut self.works[work];
        it.status = Status::ExpiredUnnotified;
        it.end.as_mut().unwrap().kept = None;
    }

    /// Children that are looked at now.
    pub(crate) fn quiet_due(&self) -> Vec<usize> {
        let due = |at: &usize| self.threads[*at].due.is_some_and(|due| due <= self.now);
        (0..self.threads.len()).filter(due).collect()
    }

    pub(crate) fn is_quiet(&self, thread: usize) -> bool {
        let it = &self.threads[thread];
        let for_slot =
            it.wake.is_some() && self.agents[it.agent].active && !self.has_free_slot(it.agent);
        let for_time = it.wake.is_some_and(|wake| wake > self.now);
        it.turn.is_none() && !self.awaits(thread) && !for_slot && !for_time
    }

    pub(crate) fn is_given_up(&self, thread: usize) -> bool {
        let it = &self.threads[thread];
        self.is_quiet(thread) && self.now - it.active.max(it.waited) >= ABANDON_AFTER
    }

    pub(crate) fn look_at_quiet(&mut self, thread: usize) {
        let now = self.now;
        let work = self.owes(thread).unwrap();
        if !self.is_quiet(thread) {
            self.threads[thread].waited = now;
            self.threads[thread].due = Some(now + REMINDER_AFTER);
            return;
        }
        if self.is_given_up(thread) {
            self.end_with_notice(work, Status::Abandoned, Outcome::Abandoned, true);
            self.withdraw_wake(thread);
            return;
        }
        let (it, of) = (&self.threads[thread], &self.works[work]);
        let since = it.active.max(it.waited);
        let remind = of
            .reminded
            .map_or(0, |last| last + REMINDER_INTERVAL)
            .max(since + REMINDER_AFTER);
        let may = of.reminders < REMINDERS
            && of.reminder.is_none_or(|number| number <= it.consumed)
            && it.wake.is_none()
            && self.agents[it.agent].active;
        if may && remind <= now {
            let mail = self.threads[thread].mail.len() as u64 + 1;
            let of = &mut self.works[work];
            of.reminders += 1;
            of.reminded = Some(now);
            of.reminder = Some(mail);
            let reminder = Mail {
                from: None,
                kind: Kind::Reminder,
                work: Some(work),
                version: None,
                quiet: false,
                late: false,
                sent: now,
                gone: None,
            };
            self.deliver(thread, reminder);
            self.threads[thread].due = Some(now + REMINDER_INTERVAL);
            return;
        }
        let given_up = since + ABANDON_AFTER;
        let look = if of.reminders >= REMINDERS {
            given_up
        } else if remind > now {
            remind
        } else {
            now + REMINDER_AFTER
        };
        self.threads[thread].due = Some(look.min(given_up));
    }
}
