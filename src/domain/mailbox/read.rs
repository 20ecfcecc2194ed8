//! ReadMail: hands over mail in number order, without gaps.
//!
//! In a turn it moves the given mark and consumes nothing: a lost turn moves the mark back, and the
//! mail is given again. Outside turns there is nobody to lose it, so it is consumed at once.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::caller::Caller;
use crate::domain::command::{Answer, Command, Context, Decision, Footprint, Route, Stop};
use crate::domain::ids::{AgentId, ThreadId};
use crate::domain::limits;
use crate::domain::plan::{Event, MailTag};
use crate::domain::refusal::{Refusal, Violation};
use crate::domain::threads::{Drive, Head};
use crate::domain::time::Timestamp;
use crate::domain::world::World;

use super::{Marks, Message, MessageKind};

/// Reads that find nothing note the life of a PULL thread no more often than this.
const ACTIVITY_STEP: Duration = Duration::from_secs(5);

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct ReadMail {
    /// Who calls.
    #[serde(skip)]
    pub caller: Caller,
    /// Whose mailbox, where it is named.
    pub thread: Option<ThreadId>,
    /// What the caller has for sure; what it was given above that is handed out again.
    pub received_through: Option<u64>,
    /// Messages at most.
    pub max_messages: usize,
    /// Look only: nothing is given or consumed.
    pub peek: bool,
    /// Only these, in a peek; all where empty.
    pub kinds: Vec<MessageKind>,
}

/// What was handed over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MailRead {
    /// Whose mail.
    pub thread_id: ThreadId,
    /// The agent of that thread.
    pub agent_id: AgentId,
    /// In number order.
    pub messages: Vec<Message>,
    /// The number this answer covers. What is handed out again may not fit, so it can lie below the
    /// given mark: who passes it on as received misses nothing.
    pub through: u64,
    /// More waits.
    pub has_more: bool,
    /// Where the mailbox stands after this.
    pub marks: Marks,
    /// It was read before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for MailRead {
    /// What handed over nothing lost nothing: its repeat may find what came since. A wait that looks
    /// many times under one request id lives by that.
    fn binds(&self) -> bool {
        !self.messages.is_empty()
    }

    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

/// A stretch of a mailbox, as much as fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// In number order.
    pub messages: Vec<Message>,
    /// The mark behind it; it also passes over mail that is skipped.
    pub through: u64,
    /// More waits.
    pub has_more: bool,
}

impl Stretch {
    /// What the history says of it.
    #[must_use]
    pub fn tags(&self) -> Vec<MailTag> {
        let tag = |message: &Message| MailTag {
            number: message.mail_number,
            kind: message.kind,
        };
        self.messages.iter().map(tag).collect()
    }
}

/// The mail of a thread above a number, bounded by count and bytes, at least one message.
#[must_use]
pub fn stretch(world: &World, head: &Head, above: u64, count: usize, bytes: usize) -> Stretch {
    let (mail, complete) = world.mail_above(head.thread_id, above);
    let waiting = mail.len();
    let mut size = 0;
    let fits = |message: &&Message| {
        let first = size == 0;
        size += message.weight();
        first || size <= bytes
    };
    let messages: Vec<Message> = mail
        .into_iter()
        .take(count)
        .take_while(fits)
        .cloned()
        .collect();
    let all = complete && messages.len() == waiting;
    let last = messages.last().map_or(above, |message| message.mail_number);
    Stretch {
        messages,
        through: if all { head.mail_number } else { last },
        has_more: !all,
    }
}

impl Command for ReadMail {
    type Answer = MailRead;
    const NAME: &'static str = "mailbox.read";

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
        self.caller.footprint(self.thread, route)
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        let thread = self.caller.thread(self.thread, &world.route);
        if let Some(head) = thread.and_then(|thread| world.heads.get(&thread)) {
            let above = self.above(head);
            let limit = self.max_messages + 1;
            ask.mail(head.thread_id, above, limit, limits::PAGE_BYTES);
            ask.waking.insert(head.thread_id);
        }
    }

    fn decide(&self, world: &World, _: &mut Context<'_>) -> Result<Decision<MailRead>, Stop> {
        let acting = self.caller.acting(world, self.thread)?;
        let Some(acting) = acting else {
            let missing = Violation::new("thread_id", "is required where no turn reads");
            return Err(Refusal::Invalid(vec![missing]).into());
        };
        let head = world.head(acting.thread_id)?;
        let thread_id = head.thread_id;
        let above = self.above(head);
        if self.peek {
            let mut read = self.stretch(world, head, above)?;
            read.messages
                .retain(|message| self.kinds.is_empty() || self.kinds.contains(&message.kind));
            return Ok(Decision::unchanged(answer(head, read, Marks::of(head))));
        }
        let in_turn = acting.turn_id.is_some();
        if !in_turn && head.turn_id.is_some() {
            return Err(Refusal::ThreadHasLiveTurn { thread_id }.into());
        }
        if !in_turn && head.delete_time.is_some() {
            return Err(Refusal::ThreadDeleted { thread_id }.into());
        }
        let given = head.given_through;
        if let Some(asked) = self.received_through.filter(|asked| *asked > given) {
            return Err(Refusal::MailNotGiven { asked, given }.into());
        }
        let read = self.stretch(world, head, above)?;
        let through = read.through.max(given);
        let mut events = acting.begin;
        if through > given || !read.messages.is_empty() || is_quiet(head, world.now) {
            // What is handed out again stands in the history already.
            let mut tags = read.tags();
            tags.retain(|tag| tag.number > given);
            events.push(Event::MailGiven {
                thread_id,
                through,
                messages: tags,
            });
        }
        let mut marks = Marks {
            given_through: through,
            ..Marks::of(head)
        };
        if !in_turn && through > head.consumed_through {
            marks.consumed_through = through;
            events.push(Event::MailConsumed { thread_id, through });
        }
        Ok(Decision {
            events,
            answer: Ok(answer(head, read, marks)),
        })
    }
}

impl ReadMail {
    /// What is to be handed over. An earlier command of the batch may have moved the marks beyond what
    /// was loaded: then the next batch loads from there.
    fn stretch(&self, world: &World, head: &Head, above: u64) -> Result<Stretch, Stop> {
        let read = stretch(world, head, above, self.max_messages, limits::PAGE_BYTES);
        if read.has_more && read.messages.is_empty() {
            return Err(Stop::Needs(Footprint::default().head(head.thread_id)));
        }
        Ok(read)
    }

    /// The number above which mail is wanted, among those that were given to messages.
    pub(in crate::domain) fn above(&self, head: &Head) -> u64 {
        match (self.received_through, self.caller) {
            (Some(received), _) => received.max(head.consumed_through).min(head.mail_number),
            (None, Caller::Turn { .. }) if !self.peek => head.given_through,
            (None, Caller::Turn { .. } | Caller::Operator) => head.consumed_through,
        }
    }
}

/// Whether a call of a PULL thread is worth noting: its calls are its activity.
fn is_quiet(head: &Head, now: Timestamp) -> bool {
    head.drive == Drive::Pull && now.since(head.last_activity_time) >= ACTIVITY_STEP
}

fn answer(head: &Head, read: Stretch, marks: Marks) -> MailRead {
    MailRead {
        thread_id: head.thread_id,
        agent_id: head.agent_id.clone(),
        messages: read.messages,
        through: read.through,
        has_more: read.has_more,
        marks,
        deduplicated: false,
    }
}
