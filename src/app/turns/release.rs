//! ReleaseTurns: a runtime that drains gives back what it holds.

use futures_util::future::join_all;

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::domain::ids::TurnId;
use crate::domain::limits;
use crate::domain::refusal::Refusal;
use crate::domain::turns::assign::Claimer;
use crate::domain::turns::release::ReleaseTurn;
use crate::store::reads;

/// What was given back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Returned {
    /// The turns that this call gave back.
    pub turns: Vec<TurnId>,
    /// More are left.
    pub has_more: bool,
}

impl App {
    /// Gives turns back: those named, or all that `holder` has where none is.
    ///
    /// # Errors
    /// The runtime is unknown; the database is away.
    pub async fn release(
        &self,
        request: &Request,
        holder: Claimer,
        named: Vec<(TurnId, u64)>,
    ) -> Result<Returned, Error> {
        self.registered(&request.namespace, &holder.runtime_id)
            .await?;
        let mut turns = named;
        let mut has_more = false;
        if turns.is_empty() {
            let limit = limits::TURNS_PER_HEARTBEAT;
            turns = reads::turns::list_held(
                &*self.pool.place().await?,
                &request.namespace,
                &holder,
                limit + 1,
            )
            .await?;
            has_more = turns.len() > limit;
            turns.truncate(limit);
        }
        let releases = turns.into_iter().map(|(turn_id, token)| {
            let release = ReleaseTurn {
                turn_id,
                token,
                holder: Some(holder.clone()),
            };
            async move { (turn_id, self.submit(request.clone(), release).await) }
        });
        let mut returned = Returned {
            turns: Vec::new(),
            has_more,
        };
        for (turn_id, answer) in join_all(releases).await {
            match answer {
                Ok(answer) if answer.released => returned.turns.push(turn_id),
                // What is not this runtime's to give back, or not any more, is left out.
                Ok(_)
                | Err(Error::Refused(Refusal::TurnNotFound(_) | Refusal::StaleToken { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(returned)
    }
}
