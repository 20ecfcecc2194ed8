//! A command on its way through the pipeline, with its caller waiting.

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::app::error::Error;
use crate::domain::ask::{Ask, Beside};
use crate::domain::command::{
    Answer, Command, Context, Decision, Fingerprint, Footprint, KeyHash, Route, RouteAsk, Stop,
};
use crate::domain::digest;
use crate::domain::plan::Event;
use crate::domain::refusal::Refusal;
use crate::domain::time::Timestamp;
use crate::domain::world::{Inconsistent, World};

use super::queue::Queued;

/// How often a command may find that it needs other rows than it thought, before its caller is told
/// that they are too busy.
const TRIES: u32 = 5;

/// What a command came to in one batch.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It has an answer, to be given after the commit.
    Decided,
    /// It must run again: with more rows, or with its key looked up.
    Again,
    /// Its plan cannot be carried out.
    Broken(Inconsistent),
}

/// A command of any kind, as the pipeline sees it.
pub(super) trait Job: Queued {
    fn name(&self) -> &'static str;
    /// The caller is gone, or its time is up: not worth beginning.
    fn is_moot(&self) -> bool;
    fn route(&self) -> RouteAsk;
    fn footprint(&self, route: &Route) -> Footprint;
    fn beside(&self, route: &Route, beside: &mut Beside);
    fn ask(&self, world: &World, ask: &mut Ask);
    fn decide(&mut self, world: &mut World, context: &mut Context<'_>) -> Verdict;
    /// Looks its key up next time.
    fn read_keys(&mut self);
    /// Gives the decided answer to the caller.
    fn answer(&mut self);
    /// It has been tried too often.
    fn is_worn_out(&self) -> bool;
    fn deadline(&self) -> Option<Instant>;
}

/// Where an answer goes, with the time it holds for.
type Reply<A> = oneshot::Sender<Result<(A, Timestamp), Error>>;

pub(super) struct CommandJob<C: Command> {
    pub(super) command: C,
    pub(super) request_id: Option<String>,
    pub(super) size: usize,
    pub(super) deadline: Option<Instant>,
    /// Nobody waits for the answer; it is to be done all the same.
    pub(super) detached: bool,
    pub(super) reply: Option<Reply<C::Answer>>,
    pub(super) extra: Footprint,
    pub(super) keys: bool,
    pub(super) tries: u32,
    pub(super) decided: Option<(Result<C::Answer, Refusal>, Timestamp)>,
}

impl<C: Command> CommandJob<C> {
    fn key_hash(&self) -> Option<KeyHash> {
        self.request_id.as_deref().map(request_key)
    }

    /// The recorded answer of this request id, if it was used before.
    fn repeated(
        &self,
        world: &World,
        fingerprint: Fingerprint,
    ) -> Option<Result<C::Answer, Refusal>> {
        let hash = self.key_hash()?;
        let bound = world
            .made
            .keys
            .get(&hash)
            .map(|new| &new.key)
            .or_else(|| world.loaded.keys.get(&hash))?;
        let answer = bound
            .answer
            .as_deref()
            .filter(|_| bound.fingerprint == fingerprint);
        Some(
            match answer.and_then(|bytes| serde_json::from_slice::<C::Answer>(bytes).ok()) {
                Some(mut answer) => {
                    answer.mark_deduplicated();
                    Ok(answer)
                }
                None => Err(Refusal::IdempotencyConflict { what: "request_id" }),
            },
        )
    }

    /// The digest of what is asked, with the acting thread in place of the turn.
    fn fingerprint(&self, world: &World) -> Fingerprint {
        let acting = self.command.caller().thread(None, &world.route);
        let body = serde_json::to_vec(&self.command).unwrap_or_default();
        fingerprint(
            C::NAME,
            acting.map(|thread| thread.to_string()).as_deref(),
            &body,
        )
    }

    fn carry_out(
        &mut self,
        world: &mut World,
        mut events: Vec<Event>,
        answer: Result<C::Answer, Refusal>,
        fingerprint: Fingerprint,
    ) -> Verdict {
        // What binds nothing does not run into the key of the call it repeats: that is looked up.
        let unbound = answer.as_ref().is_ok_and(|answer| !answer.binds());
        if unbound && self.request_id.is_some() && !self.keys {
            self.keys = true;
            return Verdict::Again;
        }
        if let (Some(hash), Ok(answer)) = (self.key_hash(), &answer)
            && answer.binds()
        {
            let recorded = serde_json::to_vec(answer).ok();
            events.push(Event::KeyBound {
                hash,
                fingerprint,
                handoff_id: None,
                answer: recorded,
            });
        }
        match world.apply(events) {
            Ok(()) => {
                self.decided = Some((answer, world.now));
                Verdict::Decided
            }
            Err(inconsistent) => Verdict::Broken(inconsistent),
        }
    }
}

impl<C: Command> Queued for CommandJob<C> {
    fn size(&self) -> usize {
        self.size
    }

    fn fail(&mut self, error: Error) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(Err(error));
        }
    }
}

impl Queued for Box<dyn Job> {
    fn size(&self) -> usize {
        (**self).size()
    }

    fn fail(&mut self, error: Error) {
        (**self).fail(error);
    }
}

impl<C: Command> Job for CommandJob<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn is_moot(&self) -> bool {
        let nobody = self.reply.as_ref().is_none_or(oneshot::Sender::is_closed);
        (nobody && !self.detached)
            || self
                .deadline
                .is_some_and(|deadline| deadline <= Instant::now())
    }

    fn route(&self) -> RouteAsk {
        self.command.route()
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let mut footprint = self.command.footprint(route);
        footprint.merge(&self.extra);
        footprint
    }

    fn beside(&self, route: &Route, beside: &mut Beside) {
        self.command.beside(route, beside);
        beside.keys.extend(&self.extra.keys);
        if self.keys {
            beside.keys.extend(self.key_hash());
        }
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        self.command.ask(world, ask);
        ask.names.extend(self.extra.names.iter().cloned());
    }

    fn decide(&mut self, world: &mut World, context: &mut Context<'_>) -> Verdict {
        let fingerprint = self
            .request_id
            .as_ref()
            .map_or([0; 32], |_| self.fingerprint(world));
        if let Some(answer) = self.repeated(world, fingerprint) {
            self.decided = Some((answer, world.now));
            return Verdict::Decided;
        }
        let decided = self.command.decide(world, context);
        let refused = matches!(
            decided,
            Ok(Decision { answer: Err(_), .. }) | Err(Stop::Refused(_))
        );
        if refused && self.request_id.is_some() && !self.keys {
            // A repeat of a call whose turn has closed since must still get the recorded answer.
            self.keys = true;
            return Verdict::Again;
        }
        match decided {
            Ok(decision) => self.carry_out(world, decision.events, decision.answer, fingerprint),
            Err(Stop::Refused(refusal)) => {
                self.decided = Some((Err(refusal), world.now));
                Verdict::Decided
            }
            Err(Stop::Needs(more)) => {
                self.tries += 1;
                self.extra.merge(&more);
                Verdict::Again
            }
        }
    }

    fn read_keys(&mut self) {
        self.keys = true;
    }

    fn answer(&mut self) {
        if let (Some(reply), Some((decided, now))) = (self.reply.take(), self.decided.take()) {
            // A caller that has gone meanwhile finds the effect by its request id.
            let _ = reply.send(decided.map(|answer| (answer, now)).map_err(Error::from));
        }
    }

    fn is_worn_out(&self) -> bool {
        self.tries > TRIES
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

/// The stored form of a request id; its scope is the namespace and the principal.
fn request_key(id: &str) -> KeyHash {
    digest::short(&[b"request", b"anonymous", id.as_bytes()])
}

/// Version 1 of the fingerprint: name of the command, acting thread, body in fixed field order.
fn fingerprint(name: &str, acting: Option<&str>, body: &[u8]) -> Fingerprint {
    digest::digest(&[
        b"1",
        name.as_bytes(),
        acting.unwrap_or_default().as_bytes(),
        body,
    ])
}
