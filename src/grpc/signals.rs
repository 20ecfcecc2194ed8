//! What a live turn is told in the answers of its calls.

use super::encode::{Wire, timestamp};
use crate::app::App;
use crate::app::error::Error;
use crate::app::signals::TurnSignals;
use crate::domain::ids::{Namespace, TurnId};
use crate::domain::turns::AbortRequest;
use crate::proto::v1;

/// Reads and encodes the signals of one turn; empty for a call without one.
///
/// # Errors
/// The database is away.
pub(crate) async fn of_turn(
    app: &App,
    namespace: &Namespace,
    turn: Option<TurnId>,
) -> Result<Vec<v1::Signal>, Error> {
    let Some(turn) = turn else {
        return Ok(Vec::new());
    };
    let mut signals = app.signals(namespace, &[turn]).await?;
    Ok(signals.remove(&turn).map_or_else(Vec::new, encode))
}

/// Writes down signals: MAIL while the turn was not given waking mail, ABORT until it ends.
pub(crate) fn encode(signals: TurnSignals) -> Vec<v1::Signal> {
    use v1::signal::Kind;

    let TurnSignals {
        waking_unread,
        newest,
        abort,
    } = signals;
    let mail = (waking_unread > 0).then(|| {
        let messages = newest.into_iter().map(|mail| v1::MailSummary {
            message_id: mail.message_id.to_string(),
            mail_number: mail.mail_number,
            kind: mail.kind.wire(),
            subject: mail.subject,
        });
        Kind::Mail(v1::MailSignal {
            unread_count: waking_unread,
            messages: messages.collect(),
        })
    });
    let abort = abort.map(|request| Kind::Abort(abort_signal(&request)));
    let kinds = mail.into_iter().chain(abort);
    kinds.map(|kind| v1::Signal { kind: Some(kind) }).collect()
}

fn abort_signal(request: &AbortRequest) -> v1::AbortSignal {
    v1::AbortSignal {
        // A cancel is the only thing that asks a turn to stop.
        reason: v1::AbortReason::Cancelled as i32,
        request_time: Some(timestamp(request.request_time)),
    }
}
