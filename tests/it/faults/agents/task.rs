//! What agents are asked to do, and how they do it. The text of a task is a kind and a number; the
//! answer is the square of the number, whatever happened on the way.

use std::process;
use std::time::Duration;

use handoffd::proto::v1::{
    FailureClass, FinishTurnRequest, Message, MessageKind, TurnError, TurnNext, TurnOutcome,
};

use super::held::{Held, Stopped};
use crate::support::pause;

/// The exit code of a runtime whose agent took it down.
pub(in crate::faults) const CRASHED: i32 = 86;

/// How long slow work takes, in pieces.
const SLOW: [Duration; 3] = [Duration::from_millis(500); 3];

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::faults) enum Task {
    /// Answer at once.
    Square(u64),
    /// Take longer than a lease, with progress and history.
    Slow(u64),
    /// Answer in the third turn of the thread at the earliest.
    Steps(u64),
    /// Answer only after so many notes came, and add their numbers.
    Gather(u64, usize),
    /// Fail.
    Fail(u64),
    /// The first turn forgets itself, before or after its report.
    Drop(u64),
    /// The first turn takes its whole runtime down, before or after its report.
    Crash(u64),
    /// Have somebody else do it.
    Nest(Box<Task>),
}

impl Task {
    /// As it is written in the handoff.
    pub(in crate::faults) fn text(&self) -> String {
        match self {
            Self::Square(number) => format!("square {number}"),
            Self::Slow(number) => format!("slow {number}"),
            Self::Steps(number) => format!("steps {number}"),
            Self::Gather(number, notes) => format!("gather {number} {notes}"),
            Self::Fail(number) => format!("fail {number}"),
            Self::Drop(number) => format!("drop {number}"),
            Self::Crash(number) => format!("crash {number}"),
            Self::Nest(inner) => format!("nest {}", inner.text()),
        }
    }

    fn parse(text: &str) -> Self {
        if let Some(inner) = text.strip_prefix("nest ") {
            return Self::Nest(Box::new(Self::parse(inner)));
        }
        let mut words = text.split(' ');
        let kind = words.next().unwrap();
        let number = words.next().unwrap().parse().unwrap();
        match kind {
            "square" => Self::Square(number),
            "slow" => Self::Slow(number),
            "steps" => Self::Steps(number),
            "gather" => Self::Gather(number, words.next().unwrap().parse().unwrap()),
            "fail" => Self::Fail(number),
            "drop" => Self::Drop(number),
            "crash" => Self::Crash(number),
            _ => panic!("no task: `{text}`"),
        }
    }

    /// What must be reported, where it was sent notes with these numbers. None: it must fail.
    pub(in crate::faults) fn answer(&self, notes: &[u64]) -> Option<String> {
        match self {
            Self::Fail(_) => None,
            Self::Nest(inner) => inner.answer(notes),
            Self::Gather(number, _) => Some(sum(*number, notes)),
            Self::Square(number)
            | Self::Slow(number)
            | Self::Steps(number)
            | Self::Drop(number)
            | Self::Crash(number) => Some(sum(*number, &[])),
        }
    }
}

fn sum(number: u64, notes: &[u64]) -> String {
    (number * number + notes.iter().sum::<u64>()).to_string()
}

/// How a turn ends.
enum End {
    Done(TurnNext),
    Failed,
    /// Not at all: nobody says anything more of it.
    Forgotten,
}

/// Carries a turn out, to its finish.
pub(super) async fn carry_out(held: &Held<'_>) {
    let finish = match turn(held).await {
        Ok(End::Done(next)) => FinishTurnRequest {
            outcome: TurnOutcome::Done.into(),
            next: next.into(),
            ..FinishTurnRequest::default()
        },
        Ok(End::Failed) => FinishTurnRequest {
            outcome: TurnOutcome::Failed.into(),
            error: Some(TurnError {
                failure_class: FailureClass::Other.into(),
                summary: "asked to fail".to_owned(),
            }),
            ..FinishTurnRequest::default()
        },
        Err(Stopped::Asked) => FinishTurnRequest {
            outcome: TurnOutcome::Aborted.into(),
            ..FinishTurnRequest::default()
        },
        Ok(End::Forgotten) | Err(Stopped::Lost) => return,
    };
    held.finish(finish).await;
}

async fn turn(held: &Held<'_>) -> Result<End, Stopped> {
    held.goes_on()?;
    answer_pings(held, &held.turn.mail).await?;
    if held.turn.report_owed {
        let task = held.turn.assignment.as_ref().unwrap();
        work(held, Task::parse(&task.task)).await
    } else {
        // Mail for a thread that owes nothing; more may have come meanwhile.
        answer_pings(held, &held.read(0).await?).await?;
        Ok(End::Done(TurnNext::Finished))
    }
}

async fn answer_pings(held: &Held<'_>, mail: &[Message]) -> Result<(), Stopped> {
    for message in mail {
        if let Some(number) = message.body.strip_prefix("ping ") {
            held.reply(message, format!("pong {number}")).await?;
        }
    }
    Ok(())
}

async fn work(held: &Held<'_>, task: Task) -> Result<End, Stopped> {
    let answer = task.answer(&[]).unwrap_or_default();
    match task {
        Task::Slow(_) => {
            held.progress("begun").await?;
            for span in SLOW {
                pause(span).await;
                held.goes_on()?;
            }
            held.tool("think").await?;
        }
        Task::Steps(_) if held.turn.token < 3 => return Ok(End::Done(TurnNext::Continue)),
        Task::Steps(_) => held.tool("step").await?,
        Task::Gather(number, notes) => return gather(held, number, notes).await,
        Task::Fail(_) => return Ok(End::Failed),
        Task::Drop(number) if held.turn.lost_turns == 0 => {
            if number % 2 == 0 {
                held.report(answer).await?;
            }
            return Ok(End::Forgotten);
        }
        Task::Crash(number) if held.turn.lost_turns == 0 => {
            if number % 2 == 0 {
                held.report(answer).await?;
            }
            process::exit(CRASHED);
        }
        Task::Square(_) | Task::Drop(_) | Task::Crash(_) => {}
        Task::Nest(inner) => {
            let mut mail = held.turn.mail.iter();
            let Some(report) = mail.find(|it| it.kind() == MessageKind::Report) else {
                held.hand_on(&inner.text()).await?;
                return Ok(End::Done(TurnNext::Wait));
            };
            held.report(report.body.clone()).await?;
            return Ok(End::Done(TurnNext::Finished));
        }
    }
    held.report(answer).await?;
    Ok(End::Done(TurnNext::Finished))
}

/// Nothing of it is kept between turns: what came is in the mailbox.
async fn gather(held: &Held<'_>, number: u64, wanted: usize) -> Result<End, Stopped> {
    for wait in [0, 1] {
        held.read(wait).await?;
        let mail = held.mailbox().await?;
        let notes: Vec<u64> = mail
            .iter()
            .filter(|message| message.kind() == MessageKind::Note)
            .map(|message| message.body.parse().unwrap())
            .collect();
        if notes.len() >= wanted {
            held.report(sum(number, &notes)).await?;
            return Ok(End::Done(TurnNext::Finished));
        }
    }
    Ok(End::Done(TurnNext::Wait))
}
