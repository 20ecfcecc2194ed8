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
use crate::domain::status::{Observed, Texts};
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
    texts: Texts,
    reply: oneshot::Sender<Answer>,
}

/// Who asked for one handoff, and which texts they want together.
#[derive(Debug, Default)]
struct Callers {
    texts: Texts,
    replies: Vec<oneshot::Sender<Answer>>,
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

    /// Reads a handoff with these texts at least; none where there is no such one.
    pub(super) async fn read(&self, namespace: &Namespace, id: HandoffId, texts: Texts) -> Answer {
        let (reply, answer) = oneshot::channel();
        let ask = Ask {
            key: (namespace.clone(), id),
            texts,
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
            let mut callers: HashMap<(Namespace, HandoffId), Callers> = HashMap::new();
            for ask in taken.drain(..).filter(|ask| !ask.reply.is_closed()) {
                let callers = callers.entry(ask.key).or_default();
                callers.texts = callers.texts.or(ask.texts);
                callers.replies.push(ask.reply);
            }
            let wanted = callers.iter();
            let wanted: Vec<Wanted> = wanted
                .map(|((namespace, id), callers)| (namespace.clone(), *id, callers.texts))
                .collect();
            for wanted in wanted.chunks(BATCH) {
                let found = look(&options, &mut session, wanted).await;
                answer(&mut callers, wanted, &found);
            }
        }
    }
}

type Wanted = (Namespace, HandoffId, Texts);
type Found = Result<HashMap<(Namespace, HandoffId), Arc<Observed>>, Error>;

/// Reads in the session there is; one that died unnoticed is replaced once.
async fn look(
    options: &PgConnectOptions,
    session: &mut Option<Session>,
    wanted: &[Wanted],
) -> Found {
    let reused = session.is_some();
    match look_once(options, session, wanted).await {
        Err(StoreError::Unavailable(_)) if reused => Ok(look_once(options, session, wanted).await?),
        result => Ok(result?),
    }
}

async fn look_once(
    options: &PgConnectOptions,
    session: &mut Option<Session>,
    wanted: &[Wanted],
) -> Result<HashMap<(Namespace, HandoffId), Arc<Observed>>, StoreError> {
    let mut open = match session.take() {
        Some(open) => open,
        None => Session::open(options).await?,
    };
    let rows = status::read(open.connection(), wanted).await;
    *session = open.after(&rows).await;
    let rows = rows?;
    let found = rows.into_iter().map(|(namespace, observed)| {
        let id = observed.facts.handoff.handoff_id;
        ((namespace, id), Arc::new(observed))
    });
    Ok(found.collect())
}

fn answer(
    callers: &mut HashMap<(Namespace, HandoffId), Callers>,
    wanted: &[Wanted],
    found: &Found,
) {
    for (namespace, id, _) in wanted {
        let key = (namespace.clone(), *id);
        let replies = callers.remove(&key).map(|callers| callers.replies);
        for reply in replies.into_iter().flatten() {
            let answer = match found {
                Ok(found) => Ok(found.get(&key).cloned()),
                Err(error) => Err(error.clone()),
            };
            // A caller that went away meanwhile wants nothing.
            drop(reply.send(answer));
        }
    }
}
