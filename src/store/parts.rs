//! L and R hold a part for every table; a batch sends those that it needs.
//!
//! PostgreSQL sets up every part of a statement before it runs the first one, which for a part that
//! finds nothing costs as much as finding a row. In the files the whole statement stands, valid as it
//! is; a comment `-- part <name>` begins a part, `, else: <text>` says what takes its place, and
//! `-- end of parts` or the end of the file ends the last one.

use std::collections::HashMap;

const PART: &str = "-- part ";
const ELSE: &str = ", else: ";
const END: &str = "-- end of parts";

/// Remembers the texts it cut, so that each is prepared once a connection: a dozen in practice.
#[derive(Debug, Default)]
pub(super) struct Parts {
    texts: HashMap<(&'static str, Vec<&'static str>), String>,
}

impl Parts {
    /// `statement` with those of its parts that are `wanted`.
    pub(super) fn of(&mut self, statement: &'static str, wanted: Vec<&'static str>) -> String {
        self.texts
            .entry((statement, wanted))
            .or_insert_with_key(|(statement, wanted)| cut(statement, wanted))
            .clone()
    }
}

fn cut(statement: &str, wanted: &[&str]) -> String {
    let mut text = String::with_capacity(statement.len());
    let mut keep = true;
    for line in statement.lines() {
        let mark = line.trim_start();
        if let Some(part) = mark.strip_prefix(PART) {
            let (name, instead) = part.split_once(ELSE).unwrap_or((part, ""));
            keep = wanted.contains(&name.trim_end());
            if !keep {
                text.push_str(instead);
                text.push('\n');
            }
        } else if mark.starts_with(END) {
            keep = true;
        } else if keep {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The names whose part is needed.
pub(super) fn needed<const N: usize>(parts: [(&'static str, bool); N]) -> Vec<&'static str> {
    let needed = parts.into_iter().filter(|(_, needed)| *needed);
    needed.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATEMENT: &str = "SELECT\n  -- part a, else: 0 AS a,\n  (SELECT 1) AS a,\n  \
                             -- part b, else: 0 AS b\n  (SELECT 2) AS b\n-- end of parts\nFROM c";

    #[test]
    fn a_part_that_is_not_wanted_leaves_its_substitute() {
        let words = |wanted: &[&str]| {
            let text = cut(STATEMENT, wanted);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(&["a"]), "SELECT (SELECT 1) AS a, 0 AS b FROM c");
        assert_eq!(words(&[]), "SELECT 0 AS a, 0 AS b FROM c");
        assert_eq!(
            words(&["a", "b"]),
            "SELECT (SELECT 1) AS a, (SELECT 2) AS b FROM c"
        );
    }
}
