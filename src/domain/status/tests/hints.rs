//! What the hints say.

use super::*;

#[test]
fn a_hint_tells_what_is_the_case_and_how_long_ago() {
    let hint = |facts: &Facts, now: u64| live(facts, now).reason;
    assert_eq!(
        hint(&idle(), 57),
        "no turn is live; last activity 57 s ago; it counts as running until the stall threshold of \
         120 s, and a result is still owed"
    );
    assert_eq!(
        hint(&in_turn(at(20)), 77),
        "a turn is at work on runtime `r1`; last activity 57 s ago"
    );
    let pull = with_head(|head| head.drive = Drive::Pull);
    assert_eq!(
        hint(&pull, 500),
        "it waits for a call from outside and was quiet for 500 s; send it a note, or cancel"
    );
    let mut assigned = in_turn(at(20));
    let turn = assigned.turn.as_mut().unwrap();
    (turn.state, turn.lease_expire_time) = (TurnState::Assigned, at(30));
    assert_eq!(
        hint(&assigned, 23),
        "a turn is assigned to runtime `r1`, which has 7 s left to begin it"
    );
    assert!(hint(&assigned, 31).contains("did not begin"));
}
