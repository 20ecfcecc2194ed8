//! Words that must not be written: clocks in SQL, sleeping tests, things left for later.

use crate::source::{Source, Violation, has_word};

/// PostgreSQL's clocks. All but the last tell the time of the transaction's begin, before any lock.
const CLOCKS: &[&str] = &[
    "now()",
    "current_timestamp",
    "current_date",
    "localtimestamp",
    "transaction_timestamp(",
    "statement_timestamp(",
    "clock_timestamp(",
];

/// Names that say nothing about what a file holds.
const MEANINGLESS: &[&str] = &[
    "utils", "util", "common", "helpers", "helper", "misc", "manager",
];

/// Lines of a file that is surely two things.
const TOO_LONG: usize = 400;

/// What is about servers and sessions is about real time: a test that moves the clock kills none.
const REAL_TIME: &[&str] = &[
    "src/store/sql/mark_alive.sql",
    "src/store/sql/reads/get_server.sql",
    "src/store/sql/reads/list_long_transactions.sql",
];

/// Clocks in SQL, other than the one that the body of `handoffd_now()` reads.
pub(crate) fn clocks(file: &Source) -> Vec<Violation> {
    // This folder writes the words down to look for them.
    if file.is("proto")
        || file.path.starts_with("tests/architecture")
        || REAL_TIME.contains(&file.path.as_str())
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut inside_our_clock = false;
    for (number, line) in file.code() {
        let line = line.to_lowercase();
        inside_our_clock |= line.contains("function handoffd_now()");
        let named = CLOCKS.iter().find(|clock| has_sql_word(&line, clock));
        if let Some(clock) = named.filter(|_| !inside_our_clock) {
            found.push(file.violation(number, format!("`{clock}`: use handoffd_now()")));
        }
        inside_our_clock &= !line.contains(';');
    }
    found
}

/// Like a word, but not what Rust writes the same: a path, a method, a definition.
fn has_sql_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = &line[..at];
        !before.ends_with(|it: char| it.is_alphanumeric() || "_:.".contains(it))
            && !before.ends_with("fn ")
    })
}

/// Tests that wait for a time instead of an event.
pub(crate) fn sleeps(file: &Source) -> Vec<Violation> {
    let word = concat!("sle", "ep(");
    lines_with(file, &[word], "a test waits for an event, never for a time")
}

/// Things put off in a comment, where nobody finds them.
pub(crate) fn left_for_later(file: &Source) -> Vec<Violation> {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME")];
    let text = file.text.lines().enumerate();
    text.filter(|(_, line)| words.iter().any(|word| has_word(line, word)))
        .map(|(index, _)| file.violation(index + 1, "do it, or write an issue"))
        .collect()
}

/// Files and folders whose name fits anything.
pub(crate) fn meaningless_name(file: &Source) -> Vec<Violation> {
    let mut parts = file.path.split(['/', '.']);
    let bad = parts.find(|part| MEANINGLESS.contains(part));
    bad.map(|part| file.violation(1, format!("`{part}` says nothing")))
        .into_iter()
        .collect()
}

/// Files that ought to be two.
pub(crate) fn too_long(file: &Source) -> Vec<Violation> {
    let lines = file.text.lines().count();
    let rule = format!("{lines} lines: at {TOO_LONG} a file is two things");
    (lines > TOO_LONG)
        .then(|| file.violation(lines, rule))
        .into_iter()
        .collect()
}

fn lines_with(file: &Source, words: &[&str], rule: &str) -> Vec<Violation> {
    file.code()
        .filter(|(_, line)| words.iter().any(|word| has_word(line, word)))
        .map(|(number, _)| file.violation(number, rule))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written;

    #[test]
    fn it_catches_clocks_in_sql_and_in_rust() {
        for (path, text) in [
            (
                "migrations/1_a.sql",
                "CREATE TABLE a (t timestamptz DEFAULT now());",
            ),
            ("migrations/1_a.sql", "SELECT CURRENT_TIMESTAMP;"),
            ("migrations/1_a.sql", "SELECT clock_timestamp();"),
            ("src/store/a.rs", "query(\"UPDATE a SET t = now()\")"),
            (
                "migrations/1_a.sql",
                "CREATE FUNCTION handoffd_now() AS $$ SELECT clock_timestamp() $$;\nSELECT now();",
            ),
        ] {
            assert_eq!(clocks(&written(path, text)).len(), 1, "{text}");
        }
    }

    #[test]
    fn it_lets_our_clock_and_rusts_names_pass() {
        for (path, text) in [
            (
                "migrations/1_a.sql",
                "CREATE FUNCTION handoffd_now()\n AS $$ SELECT clock_timestamp() $$;",
            ),
            (
                "migrations/1_a.sql",
                "-- now() is forbidden\nSELECT handoffd_now();",
            ),
            (
                "src/store/a.rs",
                "let a = Instant::now(); fn now() {} clock.now();",
            ),
        ] {
            assert_eq!(clocks(&written(path, text)).len(), 0, "{text}");
        }
    }

    #[test]
    fn it_catches_the_other_words() {
        let sleeping = concat!("thread::sle", "ep(a);");
        assert_eq!(sleeps(&written("tests/it/a.rs", sleeping)).len(), 1);
        assert_eq!(
            sleeps(&written("tests/it/a.rs", "SELECT pg_sleep(1)")).len(),
            0
        );
        let later = concat!("// TO", "DO: tidy up");
        assert_eq!(left_for_later(&written("src/app/a.rs", later)).len(), 1);
        assert_eq!(
            meaningless_name(&written("tests/common/mod.rs", "")).len(),
            1
        );
        assert_eq!(
            meaningless_name(&written("src/app/commonly.rs", "")).len(),
            0
        );
        assert_eq!(
            too_long(&written("src/app/a.rs", &"\n".repeat(TOO_LONG + 1))).len(),
            1
        );
    }
}
