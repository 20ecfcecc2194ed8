//! `GetHandoffTimeline`.

use crate::app::App;
use crate::app::error::Error;
use crate::domain::handoffs::HandoffEvent;
use crate::domain::ids::{HandoffId, Namespace};
use crate::domain::limits;
use crate::domain::refusal::Refusal;
use crate::store::reads::timeline;

/// A page of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// By number.
    pub entries: Vec<HandoffEvent>,
    /// More exist.
    pub has_more: bool,
}

impl App {
    /// Tells the history of a handoff above a number, as much as fits an answer.
    ///
    /// # Errors
    /// There is no such one; the database is away.
    pub async fn timeline(
        &self,
        namespace: &Namespace,
        id: HandoffId,
        after: u64,
        size: usize,
    ) -> Result<Timeline, Error> {
        let mut entries =
            timeline::list(&*self.pool.place().await?, namespace, id, after, size + 1).await?;
        if entries.is_empty()
            && !timeline::has_handoff(&*self.pool.place().await?, namespace, id).await?
        {
            return Err(Refusal::HandoffNotFound(id).into());
        }
        let mut left = limits::PAGE_BYTES;
        let fit = entries
            .iter()
            .take(size)
            .take_while(|entry| {
                let weight = 512 + entry.text.len();
                let fits = weight <= left;
                left = left.saturating_sub(weight);
                fits
            })
            .count();
        let has_more = fit < entries.len();
        entries.truncate(fit);
        Ok(Timeline { entries, has_more })
    }
}
