//! Work that has ended.

use std::time::Duration;

use super::*;
use crate::domain::handoffs::{OpenStatus, TerminalStatus};

#[test]
fn finished_work_is_completed_and_closed_work_has_no_live_state() {
    let rules = Rules::default();
    let mut finished = idle();
    finished.handoff.progress = Progress::Finished {
        status: OpenStatus::Running,
        outcome: Outcome::Succeeded,
        outcome_stated: true,
        first_turn_time: Some(at(1)),
        finish_time: at(4),
        collect_time: at(3_604),
    };
    let assessment = assess(&finished, at(9), &rules);
    let live = assessment.live.unwrap();
    assert_eq!((live.state, live.since), (LiveState::Completed, at(4)));
    assert_eq!(live.waiting_on, WaitingOn::Collection(at(3_604)));
    assert_eq!(assessment.elapsed, Duration::from_secs(4));
    assert_eq!(assessment.abandon_time, None);
    let mut closed = idle();
    closed.handoff.progress = Progress::Closed {
        status: TerminalStatus::Completed,
        outcome: Outcome::Succeeded,
        outcome_stated: true,
        first_turn_time: Some(at(1)),
        finish_time: at(5),
        close_time: at(6),
    };
    let assessment = assess(&closed, at(1_000), &rules);
    assert_eq!(assessment.live, None);
    assert_eq!(assessment.since, at(6));
    assert_eq!(assessment.elapsed, Duration::from_secs(5));
    assert_eq!(assessment.idle, Some(Duration::from_secs(5)));
    assert_eq!(
        (assessment.next_reminder_time, assessment.abandon_time),
        (None, None)
    );
}
