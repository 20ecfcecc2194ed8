use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::domain::command::{ThreadRoute, TurnRoute};
use crate::domain::ids::IdSource;
use crate::domain::limits::Rules;
use crate::domain::threads::{Head, Thread};
use crate::domain::time::Timestamp;
use crate::domain::turns::{Activity, Turn, TurnState};
use crate::domain::world::Stored;

const NOW: Timestamp = Timestamp::from_unix_micros(1_000_000_000_000);

fn id<I: From<uuid::Uuid>>(number: u128) -> I {
    I::from(uuid::Uuid::from_u128(number))
}

/// A thread 1 whose live turn 2 has token 3, with both locked.
#[expect(clippy::too_many_lines, reason = "rows with many columns")]
fn world(state: TurnState) -> World {
    let (thread_id, turn_id): (ThreadId, TurnId) = (id(1), id(2));
    let agent_id = crate::domain::ids::AgentId("worker".to_owned());
    let thread = Thread {
        thread_id,
        agent_id: agent_id.clone(),
        parent_thread_id: None,
        root_thread_id: thread_id,
        depth: 0,
        role: "init".to_owned(),
        drive: Drive::Runtime,
        title: String::new(),
        hidden: false,
        listed: true,
        owner: None,
        create_time: NOW,
    };
    let head = Head {
        turn_id: Some(turn_id),
        turn_number: 3,
        turn_running: state == TurnState::Running,
        event_number: 7,
        ..Head::new(&thread, NOW)
    };
    let turn = Turn {
        turn_id,
        thread_id,
        handoff_id: None,
        agent_id,
        runtime_id: "r".to_owned(),
        incarnation: 1,
        holds_slot: false,
        token: 3,
        state,
        claim_time: NOW,
        lease_expire_time: NOW + Duration::from_secs(10),
        heartbeat_time: NOW,
        activity_time: NOW,
        activity: Activity::default(),
        partial_text: None,
        abort: None,
        check_time: Some(NOW),
        finish: None,
    };
    let mut world = World::new(NOW, Arc::new(Rules::default()));
    let stored = Stored {
        address: 1,
        version: 1,
    };
    world.route.turns.insert(
        turn_id,
        TurnRoute {
            thread_id,
            slot_of: None,
        },
    );
    world.route.threads.insert(
        thread_id,
        ThreadRoute {
            parent_thread_id: None,
            handoff_id: None,
            turn_id: Some(turn_id),
            turn_running: head.turn_running,
        },
    );
    world.heads.load(thread_id, head, stored);
    world.turns.load(turn_id, turn, stored);
    world
}

fn append(token: u64) -> AppendEvents {
    let call = |name: &str| EventKind::ToolCall {
        call_id: "c".to_owned(),
        name: name.to_owned(),
        arguments: serde_json::Value::Null,
    };
    AppendEvents {
        caller: Caller::Turn {
            turn_id: id(2),
            token,
        },
        thread: None,
        kinds: vec![call("search"), call("read")],
    }
}

fn run(world: &mut World, command: &AppendEvents) -> Result<Appended, Stop> {
    let mut ids = IdSource::new(|| 1);
    let mut context = Context {
        now: NOW,
        ids: &mut ids,
    };
    let decision = command.decide(world, &mut context)?;
    world.apply(decision.events).unwrap();
    Ok(decision.answer?)
}

#[test]
fn the_first_call_of_a_turn_begins_it_and_the_numbers_stay_true() {
    let mut world = world(TurnState::Assigned);
    let appended = run(&mut world, &append(3)).unwrap();
    let written: Vec<(u64, &str)> = world
        .made
        .thread_events
        .iter()
        .filter_map(|event| Some((event.number, event.kind.tool()?)))
        .collect();
    assert_eq!(written, [(9, "search"), (10, "read")]);
    assert_eq!((appended.first, appended.last), (9, 10));
    assert!(matches!(
        world.made.thread_events[0].kind,
        EventKind::TurnStarted { .. }
    ));
}

#[test]
fn a_call_renews_a_lease_that_is_half_spent_and_counts_its_tool_calls() {
    let mut world = world(TurnState::Running);
    run(&mut world, &append(3)).unwrap();
    let turn = world.turns.get(&id(2)).unwrap();
    assert_eq!(turn.lease_expire_time, NOW + world.rules.lease);
    assert_eq!(turn.activity.tool_calls, 2);
    assert_eq!(turn.activity.last_tool.as_deref(), Some("read"));
    assert_eq!(world.heads.get(&id(1)).unwrap().tool_calls, 0);
}

#[test]
fn another_token_writes_nothing() {
    let mut world = world(TurnState::Running);
    let refused = run(&mut world, &append(2)).unwrap_err();
    let stale = Refusal::StaleToken { turn_id: id(2) };
    assert_eq!(refused, Stop::Refused(stale));
}

#[test]
fn what_comes_after_the_end_of_the_work_is_late() {
    let mut world = world(TurnState::Running);
    let head = Head {
        handoff_id: Some(id(5)),
        handoff_unfinished: false,
        ..world.heads.get(&id(1)).unwrap().clone()
    };
    let stored = Stored {
        address: 1,
        version: 1,
    };
    world.heads.load(id(1), head, stored);
    assert!(run(&mut world, &append(3)).unwrap().late);
    assert!(world.made.thread_events.iter().all(|event| event.late));
}
