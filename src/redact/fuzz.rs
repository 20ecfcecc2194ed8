//! What holds for any text that strangers may have written.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::fuzz::holds;

/// What escapes, names and secrets begin and end with, and what is between.
const PIECES: &[&str] = &[
    "\u{1b}",
    "\u{1b}[",
    "\u{1b}]0;",
    "\u{1b}P",
    "\u{9b}",
    "\u{9d}",
    "\u{9c}",
    "\u{7}",
    "\\",
    "31m",
    "\n",
    "\r",
    "\t",
    " ",
    "\u{2028}",
    "\u{202e}",
    "\u{0}",
    "a",
    "Z",
    "1",
    "_",
    "-",
    ".",
    ",",
    ":",
    ";",
    "=",
    "+",
    "/",
    "@",
    "'",
    "\"",
    "[",
    "]",
    "(",
    ")",
    "?",
    "&",
    "ä",
    "\u{1f469}\u{200d}",
    "password",
    "API-KEY",
    "token",
    "secret",
    "bearer ",
    "Basic ",
    "eyJ",
    "AKIA",
    "ghp_",
    "sk-",
    "https",
    "://",
    "user:pw@host",
    "-----BEGIN ",
    "RSA PRIVATE KEY-----",
    "-----END ",
    "[hidden]",
    "abcdefghij",
    "0123456789",
    "abcd1234efgh5678",
];

/// Pieces run together, and whatever else there may be.
fn dirty() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..24);
    prop_oneof![any::<String>(), pieces.prop_map(|it| it.concat())]
}

#[test]
fn nothing_that_a_terminal_obeys_is_left() {
    holds(dirty(), |dirty| {
        let (clean, joined) = (text(&dirty), line(&dirty));
        prop_assert!(!clean.contains(|it: char| it != '\n' && it.is_control()));
        prop_assert!(!joined.contains(char::is_control));
        prop_assert!(!clean.contains(reorders) && !joined.contains(reorders));
        prop_assert!(!joined.contains("  ") && joined.trim() == joined);
        Ok(())
    });
}

#[test]
fn what_is_clean_stays_as_it_is() {
    holds(dirty(), |dirty| {
        let (clean, joined) = (text(&dirty), line(&dirty));
        prop_assert_eq!(text(&clean), clean.clone());
        prop_assert_eq!(line(&joined), joined);
        Ok(())
    });
}

/// A tab becomes four spaces, and a password of one letter eight.
#[test]
fn a_text_grows_little() {
    holds(dirty(), |dirty| {
        prop_assert!(text(&dirty).len() <= 4 * dirty.len());
        prop_assert!(line(&dirty).len() <= 4 * dirty.len());
        Ok(())
    });
}

#[test]
fn what_people_write_stays() {
    let words = "[A-Za-zäöüß你好 ,.!?()'\\n-]{0,60}";
    let numbers = "([A-Za-z]{1,12} [0-9]{1,6}[,.]? ){0,8}";
    holds(prop_oneof![words, numbers], |written| {
        prop_assert_eq!(text(&written), written);
        Ok(())
    });
}

/// A secret, and the text around it that makes it one.
fn secrets() -> impl Strategy<Value = (&'static str, String, &'static str)> {
    let random = "[a-z]{6}[A-Z]{6}[0-9]{4}[a-z0-9]{30}";
    let around = prop::sample::select(
        &[
            ("password=", ""),
            ("DB_PASSWORD = \"", "\""),
            ("{\"api_key\": \"", "\"}"),
            ("x-api-key: ", ""),
            ("https://host/?access_token=", "&more=1"),
            ("Authorization: Bearer ", ""),
            ("postgres://someone:", "@host/database"),
            ("AKIA", ""),
            ("github_pat_", ""),
            ("sk-proj-", ""),
            ("xoxb-", ""),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.", ""),
            (
                "-----BEGIN EC PRIVATE KEY-----\n",
                "\n-----END EC PRIVATE KEY-----",
            ),
        ][..],
    );
    (around, random).prop_map(|((before, after), secret)| (before, secret, after))
}

/// Wherever it stands, but right behind a word.
#[test]
fn no_secret_is_shown() {
    let before = dirty().prop_map(|before| format!("{before}\n"));
    holds(
        (before, secrets(), dirty()),
        |(before, (name, secret, end), after)| {
            // What ends an escape takes what lies before it.
            let before = without_controls(&before);
            let dirty = format!("{before}{name}{secret}{end}\n{after}");
            prop_assert!(!text(&dirty).contains(&secret), "{}", text(&dirty));
            prop_assert!(!line(&dirty).contains(&secret), "{}", line(&dirty));
            Ok(())
        },
    );
}

/// Long enough that what costs more than its length takes minutes.
const LONG: usize = 32_768;

/// Made of what looks most like the beginning of something.
#[test]
fn a_hostile_text_costs_no_more_than_its_length() {
    let begin = Instant::now();
    for piece in PIECES.iter().copied().chain([
        "a+",
        "eyJ.",
        "eyJabcdefgh.",
        "a:b@",
        "a://b:",
        "token:'",
        "token= ",
        "-----BEGIN A-----",
        "-----BEGIN PRIVATE KEY",
        "\u{1b}]\u{1b}",
        "bearer bearer",
        "\u{9d}\n",
    ]) {
        let hostile = piece.repeat(LONG / piece.len());
        assert!(text(&hostile).len() <= 4 * hostile.len());
    }
    assert!(
        begin.elapsed() < Duration::from_mins(1),
        "{:?}",
        begin.elapsed()
    );
}
