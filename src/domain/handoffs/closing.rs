//! When work that ended with a result is closed, and why nobody is told of an end.

use crate::domain::threads::Head;

use super::{Handoff, OnCompletion, TerminalStatus};

/// When the terminal status of ended work is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// With its end.
    AtOnce(TerminalStatus),
    /// When its parent thread has collected it, at the latest with the end of the collection window.
    WhenCollected,
}

/// How work is closed that ends with a result. Where the thread that is to have it is deleted, nobody is
/// left who could.
#[must_use]
pub fn closing(handoff: &Handoff, parent: Option<&Head>) -> Closing {
    match (handoff.on_completion, parent) {
        (OnCompletion::None, _) | (OnCompletion::Notify | OnCompletion::Return, None) => {
            Closing::AtOnce(TerminalStatus::Completed)
        }
        (OnCompletion::Notify | OnCompletion::Return, Some(parent))
            if parent.delete_time.is_some() =>
        {
            Closing::AtOnce(TerminalStatus::ExpiredUnnotified)
        }
        (OnCompletion::Notify, Some(_)) => Closing::AtOnce(TerminalStatus::Completed),
        (OnCompletion::Return, Some(_)) => Closing::WhenCollected,
    }
}

/// Why an end is told to nobody; none where it was mailed, or waits to be collected.
#[must_use]
pub(in crate::domain) fn untold(
    handoff: &Handoff,
    parent: Option<&Head>,
    closing: Closing,
) -> Option<&'static str> {
    match (handoff.on_completion, parent) {
        (_, None) => Some("there is no parent thread that could be told"),
        (OnCompletion::None, Some(_)) => Some("on_completion is NONE: no notice was wanted"),
        (OnCompletion::Notify | OnCompletion::Return, Some(parent))
            if parent.delete_time.is_some() =>
        {
            Some("its parent thread is deleted")
        }
        (OnCompletion::Notify, Some(_)) => None,
        (OnCompletion::Return, Some(_)) => match closing {
            Closing::WhenCollected => None,
            Closing::AtOnce(_) => {
                Some("on_completion is RETURN: its parent thread finds the end where it is kept")
            }
        },
    }
}
