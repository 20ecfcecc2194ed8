//! The live state, case by case.

mod attention;
mod ends;
mod hints;

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::domain::agents::AgentState;
use crate::domain::handoffs::{OnCompletion, OnTurnLost};
use crate::domain::ids::ThreadId;
use crate::domain::threads::{Drive, Thread};
use crate::domain::turns::{Activity, TurnState};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_unix_micros(0) + Duration::from_secs(seconds)
}

fn head() -> Head {
    let thread_id = ThreadId::from(Uuid::from_u128(2));
    let thread = Thread {
        thread_id,
        agent_id: AgentId("worker".to_owned()),
        parent_thread_id: None,
        root_thread_id: thread_id,
        depth: 0,
        role: "task".to_owned(),
        drive: Drive::Runtime,
        title: String::new(),
        hidden: false,
        listed: true,
        owner: None,
        create_time: at(0),
    };
    Head::new(&thread, at(0))
}

/// A child made at 0, idle, whose agent is active and unlimited.
fn idle() -> Facts {
    let head = head();
    Facts {
        handoff: Handoff {
            handoff_id: HandoffId::from(Uuid::from_u128(1)),
            parent_thread_id: None,
            child_thread_id: Some(head.thread_id),
            agent_id: head.agent_id.clone(),
            title: "a title".to_owned(),
            attempt: 1,
            on_completion: OnCompletion::Notify,
            on_turn_lost: OnTurnLost::Retry,
            watch: None,
            deadline: None,
            claim_deadline_time: None,
            progress: Progress::Running {
                first_turn_time: at(0),
            },
            error: None,
            report_version: 0,
            result_version: None,
            progress_mail_number: None,
            event_number: 1,
            reminders_sent: 0,
            reminder_time: None,
            reminder_mail_number: None,
            stop_turn_id: None,
            idempotency_key: None,
            create_time: at(0),
            update_time: at(0),
        },
        slots: Some(Slots {
            agent_id: head.agent_id.clone(),
            state: AgentState::Active,
            max_turns: None,
            live_turns: 0,
        }),
        head: Some(head),
        turn: None,
        children: Vec::new(),
    }
}

fn with_head(change: impl FnOnce(&mut Head)) -> Facts {
    let mut facts = idle();
    change(facts.head.as_mut().unwrap());
    facts
}

fn in_turn(active: Timestamp) -> Facts {
    let turn_id = TurnId::from(Uuid::from_u128(3));
    let mut facts = with_head(|head| head.turn_id = Some(turn_id));
    facts.turn = Some(Turn {
        turn_id,
        thread_id: ThreadId::from(Uuid::from_u128(2)),
        handoff_id: Some(facts.handoff.handoff_id),
        agent_id: AgentId("worker".to_owned()),
        runtime_id: "r1".to_owned(),
        incarnation: 1,
        holds_slot: false,
        token: 1,
        state: TurnState::Running,
        claim_time: at(10),
        lease_expire_time: at(100_000),
        heartbeat_time: at(10),
        activity_time: active,
        activity: Activity::default(),
        partial_text: None,
        abort: None,
        check_time: Some(at(100)),
        finish: None,
    });
    facts
}

fn woken(time: u64, state: AgentState, max: Option<u32>, live: u32) -> Facts {
    let mut facts = with_head(|head| head.wake_time = Some(at(time)));
    let slots = facts.slots.as_mut().unwrap();
    (slots.state, slots.max_turns, slots.live_turns) = (state, max, live);
    facts
}

fn live(facts: &Facts, now: u64) -> Live {
    assess(facts, at(now), &Rules::default()).live.unwrap()
}

const RUNNING: LiveState = LiveState::Running;
const QUIET: LiveState = LiveState::Stalled(StallReason::Quiet);
const UNCLAIMED: LiveState = LiveState::Stalled(StallReason::Unclaimed);
const NO_PROGRESS: LiveState = LiveState::Stalled(StallReason::NoProgress);

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn the_live_state_follows_from_the_facts() {
    use AgentState::{Active, Deactivated};
    use HintAction::{ActivateAgent, Look, RaiseSlots, StartRuntime, Wait};
    let worker = || AgentId("worker".to_owned());
    let runtime = || WaitingOn::Runtime(worker());
    let slot = |slots| WaitingOn::Slot {
        agent_id: worker(),
        slots,
    };
    let inactive = || WaitingOn::AgentDeactivated(worker());
    let nothing = WaitingOn::Nothing;
    let children = || WaitingOn::Children {
        handoff_ids: Vec::new(),
        count: 2,
    };
    let lost = |time| {
        with_head(|head| {
            head.lost_turns = 1;
            head.wake_time = Some(at(time));
        })
    };
    let pull = with_head(|head| head.drive = Drive::Pull);
    let waits = with_head(|head| head.awaited_children = 2);
    let deleted = with_head(|head| head.delete_time = Some(at(7)));
    let mut torn = in_turn(at(20));
    torn.turn = None;
    let mut gone = idle();
    gone.head = None;
    let missing = LiveState::ChildMissing;
    let cases: Vec<(&str, Facts, u64, LiveState, u64, HintAction, WaitingOn)> = vec![
        (
            "active just now",
            idle(),
            120,
            RUNNING,
            0,
            Wait,
            nothing.clone(),
        ),
        ("quiet", idle(), 121, QUIET, 120, Look, nothing.clone()),
        (
            "outside, active",
            pull.clone(),
            1,
            RUNNING,
            0,
            Wait,
            WaitingOn::Caller,
        ),
        (
            "outside, quiet",
            pull,
            500,
            QUIET,
            120,
            Look,
            WaitingOn::Caller,
        ),
        ("children", waits.clone(), 1, RUNNING, 0, Wait, children()),
        (
            "children, for long",
            waits,
            999_999,
            RUNNING,
            0,
            Wait,
            children(),
        ),
        (
            "in a turn",
            in_turn(at(20)),
            919,
            RUNNING,
            10,
            Wait,
            nothing.clone(),
        ),
        (
            "no progress",
            in_turn(at(20)),
            920,
            NO_PROGRESS,
            920,
            Look,
            nothing.clone(),
        ),
        (
            "lease over",
            in_turn(at(99_999)),
            100_001,
            RUNNING,
            10,
            Wait,
            nothing.clone(),
        ),
        (
            "retry",
            lost(25),
            24,
            RUNNING,
            0,
            Wait,
            WaitingOn::Retry(at(25)),
        ),
        (
            "retry due",
            lost(25),
            25,
            RUNNING,
            25,
            StartRuntime,
            runtime(),
        ),
        (
            "timer",
            woken(50_000, Active, None, 0),
            9_000,
            RUNNING,
            0,
            Wait,
            WaitingOn::Timer(at(50_000)),
        ),
        (
            "unclaimed yet",
            woken(5, Active, None, 9),
            3_605,
            RUNNING,
            5,
            StartRuntime,
            runtime(),
        ),
        (
            "unclaimed",
            woken(5, Active, None, 9),
            3_606,
            UNCLAIMED,
            3_605,
            StartRuntime,
            runtime(),
        ),
        (
            "free slot",
            woken(5, Active, Some(2), 1),
            6,
            RUNNING,
            5,
            StartRuntime,
            runtime(),
        ),
        (
            "no slot free",
            woken(5, Active, Some(2), 2),
            6,
            RUNNING,
            5,
            Wait,
            slot(2),
        ),
        (
            "no slot for long",
            woken(5, Active, Some(2), 3),
            9_000,
            RUNNING,
            5,
            RaiseSlots,
            slot(2),
        ),
        (
            "no slots at all",
            woken(5, Active, Some(0), 0),
            6,
            RUNNING,
            5,
            RaiseSlots,
            slot(0),
        ),
        (
            "deactivated",
            woken(5, Deactivated, None, 0),
            6,
            RUNNING,
            5,
            ActivateAgent,
            inactive(),
        ),
        (
            "deactivated long",
            woken(5, Deactivated, Some(0), 0),
            9_000,
            UNCLAIMED,
            3_605,
            ActivateAgent,
            inactive(),
        ),
        ("deleted", deleted, 10, missing, 7, Look, nothing.clone()),
        ("rows lost", gone, 10, missing, 0, Look, nothing.clone()),
        ("turn lost", torn, 10, missing, 0, Look, nothing),
    ];
    for (name, facts, now, state, since, action, waiting_on) in cases {
        let live = live(&facts, now);
        assert_eq!(
            (live.state, live.since, live.action, live.waiting_on),
            (state, at(since), action, waiting_on),
            "{name}"
        );
        assert!(!live.reason.is_empty(), "{name}");
    }
}

#[test]
fn the_next_reminder_and_the_abandonment_are_told_while_the_child_is_quiet() {
    let rules = Rules::default();
    let told = |facts: &Facts| {
        let assessment = assess(facts, at(10), &rules);
        (assessment.next_reminder_time, assessment.abandon_time)
    };
    let abandon = Some(at(7 * 24 * 3_600));
    assert_eq!(told(&idle()), (Some(at(1_800)), abandon));
    let mut reminded = idle();
    reminded.handoff.reminders_sent = 1;
    reminded.handoff.reminder_time = Some(at(8));
    assert_eq!(told(&reminded), (Some(at(3_608)), abandon));
    reminded.handoff.reminder_mail_number = Some(1);
    assert_eq!(told(&reminded), (None, abandon), "one is outstanding");
    reminded.handoff.reminder_mail_number = None;
    reminded.handoff.reminders_sent = 3;
    assert_eq!(told(&reminded), (None, abandon), "all are used up");
    let waits = woken(5, AgentState::Active, None, 0);
    assert_eq!(
        told(&waits),
        (None, abandon),
        "waiting for a runtime is quiet"
    );
    let waits = woken(5, AgentState::Active, Some(1), 1);
    assert_eq!(told(&waits), (None, None), "waiting for a slot is not");
    assert_eq!(told(&in_turn(at(10))), (None, None));
}
