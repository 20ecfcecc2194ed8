//! What is stuck, and what comes next.

use super::*;

#[test]
fn what_is_stuck_says_why_and_what_helps_and_the_rest_is_left_alone() {
    use HintAction::{ActivateAgent, Look, RaiseSlots, StartRuntime};
    use stuck::{StuckKind, stuck};
    let look = |facts: &Facts, now| stuck(facts, at(now), &Rules::default());
    let found = |facts: &Facts, now| look(facts, now).map(|it| (it.kind, it.action, it.since));
    assert_eq!(found(&idle(), 120), None);
    assert_eq!(found(&idle(), 121), Some((StuckKind::Quiet, Look, at(120))));
    let turn = in_turn(at(20));
    assert_eq!(found(&turn, 919), None);
    assert_eq!(
        found(&turn, 920),
        Some((StuckKind::NoProgress, Look, at(920)))
    );
    let waits = |state, slots| woken(5, state, slots, 0);
    let unclaimed = waits(AgentState::Active, None);
    assert_eq!(found(&unclaimed, 3_605), None);
    let expected = (StuckKind::Unclaimed, StartRuntime, at(3_605));
    assert_eq!(found(&unclaimed, 3_606), Some(expected));
    let inactive = found(&waits(AgentState::Deactivated, None), 3_606).unwrap();
    assert_eq!(
        (inactive.0, inactive.1),
        (StuckKind::Unclaimed, ActivateAgent)
    );
    let full = found(&waits(AgentState::Active, Some(0)), 6);
    assert_eq!(full, Some((StuckKind::SlotsShort, RaiseSlots, at(5))));
    let gone = with_head(|head| head.delete_time = Some(at(7)));
    assert_eq!(
        found(&gone, 8),
        Some((StuckKind::ChildMissing, Look, at(7)))
    );

    let mut unbegun = unclaimed;
    unbegun.handoff.progress = Progress::Started;
    unbegun.head.as_mut().unwrap().turn_number = 9;
    assert_eq!(found(&unbegun, 6), None);
    unbegun.head.as_mut().unwrap().turn_number = 10;
    let found = look(&unbegun, 6).unwrap();
    assert_eq!((found.kind, found.since), (StuckKind::NeverBegan, at(0)));
    assert!(found.text.contains("10 turns"), "{}", found.text);
}

#[test]
fn what_comes_next_is_told_in_order() {
    use next::{NextKind, next_steps};
    let steps = |facts: &Facts| {
        let steps = next_steps(facts, at(30), &Rules::default());
        steps
            .into_iter()
            .map(|it| (it.kind, it.time))
            .collect::<Vec<_>>()
    };
    let abandoned = (NextKind::Abandonment, at(7 * 24 * 3_600));
    let quiet = [
        (NextKind::Stalled, at(120)),
        (NextKind::Reminder, at(1_800)),
        abandoned,
    ];
    assert_eq!(steps(&idle()), quiet);
    let turn = [
        (NextKind::Stalled, at(920)),
        (NextKind::LeaseEnd, at(100_000)),
    ];
    assert_eq!(steps(&in_turn(at(20))), turn);
    let timer = woken(500, AgentState::Active, None, 0);
    assert_eq!(steps(&timer), [(NextKind::Wake, at(500))]);
    let due = woken(5, AgentState::Active, None, 0);
    assert_eq!(steps(&due), [(NextKind::Stalled, at(3_605)), abandoned]);
    let mut looked_at = with_head(|head| head.awaited_children = 1);
    looked_at.head.as_mut().unwrap().due_time = Some(at(90));
    assert_eq!(steps(&looked_at), [(NextKind::Look, at(90))]);
}
