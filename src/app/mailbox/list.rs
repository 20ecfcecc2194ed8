//! ListMail: a page of any mailbox, with states. For people; it takes no part in the life of mail.

use crate::app::App;
use crate::app::error::Error;
use crate::domain::ids::{AgentId, Namespace, ThreadId};
use crate::domain::mailbox::{Marks, Message, MessageState};
use crate::domain::refusal::Refusal;
use crate::domain::time::Timestamp;
use crate::store::reads;

/// Numbers that one page looks at where states are wanted, so that a page of a huge mailbox with few
/// of them stays cheap.
const SCAN: u64 = 5_000;

/// Which page.
#[derive(Clone, Debug)]
pub struct ListMail {
    /// Whose mailbox.
    pub thread_id: ThreadId,
    /// Only these; all where empty.
    pub states: Vec<MessageState>,
    /// Numbers above this one.
    pub above: u64,
    /// Messages at most.
    pub page_size: usize,
}

/// A page.
#[derive(Clone, Debug)]
pub struct MailPage {
    /// In number order.
    pub messages: Vec<Message>,
    /// The number to go on above; none at the end.
    pub next: Option<u64>,
    /// The agent of the thread.
    pub agent_id: AgentId,
    /// The marks of the mailbox.
    pub marks: Marks,
    /// When this was read.
    pub now: Timestamp,
}

impl App {
    /// Lists mail.
    ///
    /// # Errors
    /// There is no such thread; the database is away.
    pub async fn list_mail(
        &self,
        namespace: &Namespace,
        list: &ListMail,
    ) -> Result<MailPage, Error> {
        let mailbox = reads::mailbox::get(&*self.pool.place().await?, namespace, list.thread_id)
            .await?
            .ok_or(Refusal::ThreadNotFound(list.thread_id))?;
        let newest = mailbox.mail_number;
        let through = if list.states.is_empty() {
            newest
        } else {
            newest.min(list.above.saturating_add(SCAN))
        };
        let wanted = reads::mailbox::Wanted {
            above: list.above,
            through,
            marks: mailbox.marks,
            states: &list.states,
            limit: list.page_size,
        };
        let (messages, more) = reads::mailbox::list(
            &*self.pool.place().await?,
            namespace,
            list.thread_id,
            &wanted,
        )
        .await?;
        let next = if more {
            messages.last().map(|message| message.mail_number)
        } else {
            Some(through).filter(|through| *through < newest)
        };
        Ok(MailPage {
            messages,
            next,
            agent_id: mailbox.agent_id,
            marks: mailbox.marks,
            now: mailbox.now,
        })
    }
}
