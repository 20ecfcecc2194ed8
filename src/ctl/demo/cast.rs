//! The two agents. A real one would ask a model here; these know their lines.

use crate::proto::v1::{MessageKind, Turn};

/// Who plays. New names for each run, so that runs never meet.
#[derive(Debug)]
pub(super) struct Cast {
    /// Writes, and needs a checker.
    pub(super) writer: String,
    /// Checks, and may have to ask the writer.
    pub(super) checker: String,
    /// The process that runs both.
    pub(super) runtime: String,
}

/// What an agent does with a turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Hands a part of the work to another agent, and waits for its report.
    HandOff {
        /// The agent.
        to: String,
        /// What it shall do.
        task: &'static str,
        /// The tool it used before it came to that.
        tool: &'static str,
    },
    /// Reports to the thread that gave it the work.
    Report {
        /// The report.
        body: String,
        /// The tool it used before it knew.
        tool: &'static str,
    },
    /// Ends the work that nobody handed to it.
    Answer {
        /// The answer.
        text: String,
    },
}

impl Cast {
    pub(super) fn new() -> Self {
        let run: u32 = rand::random();
        Self {
            writer: format!("demo-writer-{run:08x}"),
            checker: format!("demo-checker-{run:08x}"),
            runtime: format!("demo-runtime-{run:08x}"),
        }
    }

    /// The part an agent plays.
    pub(super) fn part(&self, agent_id: &str) -> &'static str {
        if agent_id == self.writer {
            "writer"
        } else {
            "checker"
        }
    }

    /// What the agent of `turn` does, by what its thread was given and what came by mail.
    pub(super) fn act(&self, turn: &Turn) -> Act {
        let reported = turn
            .mail
            .iter()
            .find(|message| message.kind() == MessageKind::Report);
        let was_handed_work = !turn.handoff_id.is_empty();
        match (self.part(&turn.agent_id), was_handed_work, reported) {
            ("writer", false, None) => Act::HandOff {
                to: self.checker.clone(),
                task: "Check this line: \"The see is calm, and so am I.\"",
                tool: "draft",
            },
            ("writer", false, Some(report)) => Act::Answer {
                text: report.body.clone(),
            },
            ("writer", true, _) => Act::Report {
                body: "I meant the sea, with an a.".to_owned(),
                tool: "remember",
            },
            (_, _, None) => Act::HandOff {
                to: self.writer.clone(),
                task: "You wrote \"see\". Did you mean the verb, or the sea?",
                tool: "spell_check",
            },
            (_, _, Some(_)) => Act::Report {
                body: "The sea is calm, and so am I.".to_owned(),
                tool: "correct",
            },
        }
    }
}
