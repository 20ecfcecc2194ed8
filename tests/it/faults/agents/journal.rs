//! What runtimes write down before they act on it, so that it outlives them: which mail a turn was
//! given, and which end of a turn was acknowledged.

use std::fmt::Arguments;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::rc::Rc;

use handoffd::proto::v1::{Message, TurnOutcome};

/// One runtime's; it may write nothing at all.
#[derive(Clone)]
pub(super) struct Journal(Option<Rc<File>>);

/// What a line says. The Python runtime writes the same.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::faults) enum Line {
    /// The turn was given the message.
    Given { turn_id: String, message_id: String },
    /// The server said that the turn ended with this outcome.
    Ended { turn_id: String, outcome: String },
}

impl Journal {
    pub(super) fn open(path: Option<&Path>) -> Self {
        Self(path.map(|path| {
            let file = File::options().create(true).append(true).open(path);
            Rc::new(file.unwrap())
        }))
    }

    pub(super) fn given(&self, turn_id: &str, message: &Message) {
        self.write(format_args!("given {turn_id} {}", message.message_id));
    }

    pub(super) fn ended(&self, turn_id: &str, outcome: TurnOutcome) {
        let word = outcome.as_str_name().trim_start_matches("TURN_OUTCOME_");
        self.write(format_args!("ended {turn_id} {}", word.to_lowercase()));
    }

    fn write(&self, line: Arguments<'_>) {
        if let Some(file) = &self.0 {
            // In one piece: a kill leaves the whole line or none.
            file.as_ref()
                .write_all(format!("{line}\n").as_bytes())
                .unwrap();
        }
    }
}

/// What all runtimes wrote into the files of a folder.
pub(in crate::faults) fn read(folder: &Path) -> Vec<Line> {
    let files = fs::read_dir(folder).unwrap();
    let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    texts
        .flat_map(|text| text.lines().map(line).collect::<Vec<_>>())
        .collect()
}

fn line(text: &str) -> Line {
    match text.split(' ').collect::<Vec<_>>()[..] {
        ["given", turn_id, message_id] => Line::Given {
            turn_id: turn_id.to_owned(),
            message_id: message_id.to_owned(),
        },
        ["ended", turn_id, outcome] => Line::Ended {
            turn_id: turn_id.to_owned(),
            outcome: outcome.to_owned(),
        },
        _ => panic!("not a line of a journal: `{text}`"),
    }
}
