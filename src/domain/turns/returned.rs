//! What a lost or released turn had read by the answers of its own calls: with the turn that is gone,
//! and the mail of it, which woke nobody, is mail again.

use crate::domain::command::{Context, Footprint, Stop};
use crate::domain::plan::Event;
use crate::domain::world::World;

use super::Turn;

/// The events that come behind the end of `turn`.
///
/// # Errors
/// What it read must be loaded first.
pub(in crate::domain) fn returned(
    world: &World,
    context: &mut Context<'_>,
    turn: &Turn,
) -> Result<Vec<Event>, Stop> {
    let read = world
        .read_reports(turn.turn_id)
        .ok_or_else(|| Stop::Needs(Footprint::default().turn(turn.turn_id)))?;
    let mut events = Vec::new();
    for report in read {
        let Some(handoff_id) = report.message.handoff_id else {
            continue;
        };
        let mut message = report.message;
        message.message_id = context.ids.next(context.now);
        message.exception = None;
        message.rated = false;
        events.push(Event::ReportReturned {
            handoff_id,
            version: report.version,
            message,
        });
    }
    Ok(events)
}
