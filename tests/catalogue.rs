//! The pages that are made from the protos: docs/ERRORS.md and docs/STATES.md.
//!
//! The comment of an enum's value is the only place where it is described. The descriptor that the
//! server carries has no comments, so the text is read: our protos are formatted, and a line is a
//! comment, a value, the beginning or the end of an enum.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot read its own source may panic"
)]

use std::fmt::Write as _;
use std::path::PathBuf;

use pages::assert_page;

mod pages;

const ERRORS_HEAD: &str = "# Errors

Every refusal carries a `google.rpc.ErrorInfo` with domain `handoffd` and one of these names as its reason;
its metadata holds the ids and numbers of the message. A client goes by the reason where it knows it, and
by the gRPC code where it does not.
";

const STATES_HEAD: &str = "# States

What a thing can be, how it comes to that and what ends it. Names are shown without the prefix that they
have in the proto: `STARTED` of HandoffStatus is `HANDOFF_STATUS_STARTED`.
";

/// The enums of docs/STATES.md, with the file that has them; in the order of a life.
const STATES: [(&str, &str); 14] = [
    ("agent", "AgentState"),
    ("thread", "ThreadState"),
    ("turn", "TurnCloseReason"),
    ("turn", "TurnLeaseState"),
    ("mail", "MessageState"),
    ("handoff", "HandoffStatus"),
    ("handoff", "Outcome"),
    ("handoff", "HandoffErrorCause"),
    ("status", "LiveState"),
    ("status", "StallReason"),
    ("status", "WaitingKind"),
    ("status", "HintAction"),
    ("operator", "StuckKind"),
    ("handoff", "ReportDelivery"),
];

/// An enum as it is written down.
#[derive(Debug, PartialEq)]
struct Enum {
    comment: String,
    values: Vec<Value>,
}

/// One of its values, without the enum's prefix; what is not sent at all is left out.
#[derive(Debug, PartialEq)]
struct Value {
    name: String,
    comment: String,
}

#[test]
fn the_page_of_errors_is_made_from_the_proto() {
    let reasons = read_enum("error_reason", "ErrorReason");
    let mut page = ERRORS_HEAD.to_owned();
    for Value { name, comment } in reasons.values {
        let (code, meaning) = comment
            .split_once(". ")
            .unwrap_or_else(|| panic!("`{name}` does not begin with its code"));
        assert!(is_code(code), "`{name}` does not begin with its code");
        write!(page, "\n## {name}\n\n`{code}`. {meaning}\n").expect("a string grows");
    }
    assert_page("ERRORS.md", &page);
}

#[test]
fn the_page_of_states_is_made_from_the_protos() {
    let mut page = STATES_HEAD.to_owned();
    for (file, name) in STATES {
        let Enum { comment, values } = read_enum(file, name);
        write!(page, "\n## {name}\n\n{comment}\n\n").expect("a string grows");
        page.push_str("| value | meaning |\n|---|---|\n");
        for Value { name, comment } in values {
            let comment = comment.replace('|', "\\|");
            writeln!(page, "| `{name}` | {comment} |").expect("a string grows");
        }
    }
    assert_page("STATES.md", &page);
}

#[test]
fn comments_that_belong_to_no_value_are_left_out() {
    let text = "// Other.\nenum Other {\n}\n\n// What\n// it is.\nenum AbcState {\n  // Never sent.\n  \
                ABC_STATE_UNSPECIFIED = 0;\n\n  // Number 1 = kept.\n\n  // Good\n  // news.\n  \
                ABC_STATE_GOOD = 2;\n}\n";
    let good = Value {
        name: "GOOD".to_owned(),
        comment: "Good news.".to_owned(),
    };
    let expected = Enum {
        comment: "What it is.".to_owned(),
        values: vec![good],
    };
    assert_eq!(parse(text, "AbcState"), Some(expected));
}

fn read_enum(file: &str, name: &str) -> Enum {
    let path = repository().join(format!("proto/handoff/v1/{file}.proto"));
    let text = std::fs::read_to_string(path).expect("the proto is there");
    parse(&text, name).unwrap_or_else(|| panic!("no enum `{name}` in {file}.proto"))
}

/// Finds an enum in the text of a proto. An empty line ends a comment that belongs to nothing.
fn parse(text: &str, name: &str) -> Option<Enum> {
    let mut lines = text.lines().map(str::trim);
    let mut comment = Vec::new();
    let head = format!("enum {name} {{");
    for line in lines.by_ref().take_while(|line| *line != head) {
        gather(&mut comment, line);
    }
    let prefix = format!("{}_", upper_snake(name));
    let mut found = Enum {
        comment: comment.join(" "),
        values: Vec::new(),
    };
    comment.clear();
    for line in lines {
        if line == "}" {
            return Some(found);
        }
        let value = line.split_once(" = ").filter(|_| !line.starts_with("//"));
        if let Some((value, _number)) = value {
            let value = value.strip_prefix(&prefix)?;
            if value != "UNSPECIFIED" {
                found.values.push(Value {
                    name: value.to_owned(),
                    comment: comment.join(" "),
                });
            }
        }
        gather(&mut comment, line);
    }
    None
}

fn gather<'a>(comment: &mut Vec<&'a str>, line: &'a str) {
    match line.strip_prefix("// ") {
        Some(text) => comment.push(text),
        None => comment.clear(),
    }
}

fn is_code(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|it| it.is_ascii_uppercase() || it == '_')
}

fn upper_snake(name: &str) -> String {
    let mut made = String::new();
    for (index, letter) in name.char_indices() {
        if letter.is_uppercase() && index > 0 {
            made.push('_');
        }
        made.push(letter.to_ascii_uppercase());
    }
    made
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
