//! What is taken from a child whose work is over: work that no turn began is not begun any more, and a
//! stop that was asked for reaches the live turn or withdraws the wake.

use crate::domain::command::Stop;
use crate::domain::plan::{Event, GivenMail, Remark, Rerun, TurnEnd};
use crate::domain::threads::Head;
use crate::domain::turns::{AbortRequest, TurnOutcome};
use crate::domain::world::World;

use super::{Actor, Handoff, TimelineReason};

/// The events that stop the child of `handoff`; `asked` is why its live turn is asked to stop, none where
/// it may go on.
///
/// # Errors
/// The child, its turn and its slots must be locked first.
pub(in crate::domain) fn stop(
    world: &World,
    handoff: &Handoff,
    asked: Option<&str>,
    by: &Actor,
) -> Result<Vec<Event>, Stop> {
    let child = handoff.child_thread_id;
    let Some(head) = child.map(|child| world.head(child)).transpose()? else {
        return Ok(Vec::new());
    };
    let began = handoff.first_turn_time().is_some();
    let thread_id = head.thread_id;
    let Some(turn_id) = head.turn_id else {
        let withdraw = !began || asked.is_some();
        return Ok(withdraw
            .then_some(Event::WakeWithdrawn { thread_id })
            .into_iter()
            .collect());
    };
    if !began && !head.turn_running {
        let turn = world.turn(turn_id)?;
        if turn.holds_slot {
            world.slots(&turn.agent_id)?;
        }
        return Ok(vec![Event::TurnEnded(TurnEnd {
            turn_id,
            outcome: TurnOutcome::Aborted,
            next: None,
            response: None,
            error: None,
            mail: GivenMail::Returned,
            rerun: Rerun::IfMail,
            fingerprint: None,
            finish_answer: Vec::new(),
        })]);
    }
    match asked {
        Some(why) => asking(world, handoff, head, why, by),
        None => Ok(Vec::new()),
    }
}

fn asking(
    world: &World,
    handoff: &Handoff,
    head: &Head,
    why: &str,
    by: &Actor,
) -> Result<Vec<Event>, Stop> {
    let Some(turn_id) = head.turn_id else {
        return Ok(Vec::new());
    };
    world.turn(turn_id)?;
    let request = AbortRequest {
        request_time: world.now,
        reason: why.to_owned(),
    };
    let remark = Remark {
        handoff_id: handoff.handoff_id,
        actor: by.clone(),
        reason: TimelineReason::StopRequested,
        text: String::new(),
        turn_id: Some(turn_id),
        report_version: None,
    };
    Ok(vec![
        Event::AbortRequested { turn_id, request },
        Event::Remarked(remark),
    ])
}
