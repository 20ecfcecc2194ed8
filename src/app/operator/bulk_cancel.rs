//! `BulkCancel`: cancels the open handoffs that a filter finds, one command each, as any call would. What
//! it would do is looked at first; the token of that look is what lets it be done.

use futures_util::StreamExt;
use futures_util::stream;

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::app::status::list::{Cursor, Filter};
use crate::domain::caller::Caller;
use crate::domain::handoffs::cancel::{CancelHandoff, Cancelled};
use crate::domain::ids::HandoffId;
use crate::domain::status::Facts;
use crate::domain::time::Timestamp;

/// Handoffs cancelled at the same time: they meet in the same batches.
const AT_ONCE: usize = 64;

/// What is done with each handoff that is found.
#[derive(Clone, Debug)]
pub struct BulkCancel {
    /// Which.
    pub filter: Filter,
    /// Nothing is done.
    pub dry_run: bool,
    /// Why, for people.
    pub reason: String,
    /// Asks the children's turns to stop.
    pub stop_child: bool,
    /// The parents' notices wake them.
    pub wake_parent: bool,
}

/// A handoff that was found, and what became of it; nothing in a dry run.
#[derive(Debug)]
pub struct BulkCancelled {
    /// What was found.
    pub facts: Facts,
    /// When.
    pub now: Timestamp,
    /// What was done.
    pub result: Option<Result<Cancelled, Error>>,
}

/// What one call came to.
#[derive(Debug)]
pub struct BulkPage {
    /// Each handoff, in the order of the list.
    pub handoffs: Vec<BulkCancelled>,
    /// Where the next call goes on; none where nothing is left.
    pub next: Option<Cursor>,
}

impl App {
    /// Looks for handoffs and cancels them, unless it is a dry run.
    ///
    /// # Errors
    /// A filter names nothing; the database is away.
    pub async fn bulk_cancel(
        &self,
        request: Request,
        command: &BulkCancel,
        after: Option<Cursor>,
        size: usize,
    ) -> Result<BulkPage, Error> {
        let namespace = &request.namespace;
        let page = self.list_handoffs(namespace, &command.filter, after, size);
        let page = page.await?;
        let each = page.rows.into_iter().map(|(facts, now)| {
            let request = request.clone();
            async move {
                let id = facts.handoff.handoff_id;
                let result = if command.dry_run {
                    None
                } else {
                    Some(self.submit(request, command.of(id)).await)
                };
                BulkCancelled { facts, now, result }
            }
        });
        Ok(BulkPage {
            handoffs: stream::iter(each).buffered(AT_ONCE).collect().await,
            next: page.next,
        })
    }
}

impl BulkCancel {
    fn of(&self, handoff_id: HandoffId) -> CancelHandoff {
        CancelHandoff {
            caller: Caller::Operator,
            handoff_id,
            reason: self.reason.clone(),
            stop_child: self.stop_child,
            wake_parent: self.wake_parent,
        }
    }
}
