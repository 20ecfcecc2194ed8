//! Hot reads, answered for many callers by one statement.
//!
//! Status calls and the looks of waiting calls ask here. One task takes whatever was asked while its
//! last statement ran, and asks the database once for each handoff, so that ten thousand waiters on
//! one event cost a few statements. An ask never joins a statement that was sent before it: the answer
//! is as new as the ask. Whoever goes away costs nothing but a dropped message.

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::postgres::PgConnectOptions;
use tokio::sync::{mpsc, oneshot};

use crate::domain::ids::{HandoffId, Namespace};
use crate::domain::status::Observed;
use crate::store::StoreError;
use crate::store::reads::status;
use crate::store::session::Session;

use super::error::Error;

/// Handoffs of one statement.
const BATCH: usize = 500;
/// Asks that may wait; beyond that callers are turned away.
const ASKS: usize = 65_536;

type Answer = Result<Option<Arc<Observed>>, Error>;

/// One caller's ask.
#[derive(Debug)]
pub(super) struct Ask {
    key: (Namespace, HandoffId),
    reply: oneshot::Sender<Answer>,
}

/// Where reads go.
#[derive(Debug)]
pub(super) struct Reader {
    entrance: mpsc::Sender<Ask>,
}

impl Reader {
    /// A reader and the asks that `run` answers.
    pub(super) fn new() -> (Self, mpsc::Receiver<Ask>) {
        let (entrance, asks) = mpsc::channel(ASKS);
        (Self { entrance }, asks)
    }

    /// Reads a handoff; none where there is no such one.
    pub(super) async fn read(&self, namespace: &Namespace, id: HandoffId) -> Answer {
        let (reply, answer) = oneshot::channel();
        let ask = Ask {
            key: (namespace.clone(), id),
            reply,
        };
        self.entrance.try_send(ask).map_err(|_| Error::Overloaded)?;
        answer.await.unwrap_or(Err(Error::Draining))
    }

    /// Answers asks until the reader is gone.
    pub(super) async fn run(options: PgConnectOptions, mut asks: mpsc::Receiver<Ask>) {
        let mut session = None;
        let mut taken = Vec::new();
        while asks.recv_many(&mut taken, ASKS).await > 0 {
            let mut callers: HashMap<_, Vec<oneshot::Sender<Answer>>> = HashMap::new();
            for ask in taken.drain(..).filter(|ask| !ask.reply.is_closed()) {
                callers.entry(ask.key).or_default().push(ask.reply);
            }
            let keys: Vec<(Namespace, HandoffId)> = callers.keys().cloned().collect();
            for keys in keys.chunks(BATCH) {
                let found = look(&options, &mut session, keys).await;
                answer(&mut callers, keys, &found);
            }
        }
    }
}

type Found = Result<HashMap<(Namespace, HandoffId), Arc<Observed>>, Error>;

/// Reads in the session there is; one that died unnoticed is replaced once.
async fn look(
    options: &PgConnectOptions,
    session: &mut Option<Session>,
    keys: &[(Namespace, HandoffId)],
) -> Found {
    let reused = session.is_some();
    match look_once(options, session, keys).await {
        Err(StoreError::Unavailable(_)) if reused => Ok(look_once(options, session, keys).await?),
        result => Ok(result?),
    }
}

async fn look_once(
    options: &PgConnectOptions,
    session: &mut Option<Session>,
    keys: &[(Namespace, HandoffId)],
) -> Result<HashMap<(Namespace, HandoffId), Arc<Observed>>, StoreError> {
    let mut open = match session.take() {
        Some(open) => open,
        None => Session::open(options).await?,
    };
    let rows = status::read(open.connection(), keys).await;
    *session = open.after(&rows).await;
    let rows = rows?;
    let found = rows.into_iter().map(|(namespace, observed)| {
        let id = observed.facts.handoff.handoff_id;
        ((namespace, id), Arc::new(observed))
    });
    Ok(found.collect())
}

fn answer(
    callers: &mut HashMap<(Namespace, HandoffId), Vec<oneshot::Sender<Answer>>>,
    keys: &[(Namespace, HandoffId)],
    found: &Found,
) {
    for key in keys {
        for reply in callers.remove(key).into_iter().flatten() {
            let answer = match found {
                Ok(found) => Ok(found.get(key).cloned()),
                Err(error) => Err(error.clone()),
            };
            // A caller that went away meanwhile wants nothing.
            drop(reply.send(answer));
        }
    }
}
