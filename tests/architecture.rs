//! The rules about the source that no compiler knows: which layer may name which, where time comes
//! from, what must not be there at all.
//!
//! The scanner reads text, not syntax. It errs where somebody wants to deceive it, and costs no
//! dependency; its own tests show what it catches.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its own source may panic"
)]

#[path = "architecture/layers.rs"]
mod layers;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/words.rs"]
mod words;

use source::{Source, Violation};

#[test]
fn each_layer_names_only_what_lies_below_it() {
    assert_none(source::files(&["src"]).iter().flat_map(layers::violations));
}

#[test]
fn every_module_has_its_place_in_the_layer_table() {
    for file in source::files(&["src"]) {
        let module = file.module();
        let known = module.is_empty() || layers::TABLE.iter().any(|layer| layer.name == module[0]);
        assert!(
            known,
            "`{}` belongs to no layer: add it to the table",
            file.path
        );
    }
}

#[test]
fn time_comes_from_the_database_function_only() {
    assert_none(
        source::files(&["src", "migrations", "tests"])
            .iter()
            .flat_map(words::clocks),
    );
}

#[test]
fn no_test_sleeps() {
    assert_none(source::files(&["tests"]).iter().flat_map(words::sleeps));
}

#[test]
fn nothing_is_left_for_later_in_a_comment() {
    let all = source::files(&["src", "migrations", "tests", "proto"]);
    assert_none(all.iter().flat_map(words::left_for_later));
}

#[test]
fn every_file_is_named_for_what_it_holds() {
    assert_none(
        source::files(&["src", "tests"])
            .iter()
            .flat_map(words::meaningless_name),
    );
}

#[test]
fn no_file_is_two_things() {
    assert_none(source::files(&["src"]).iter().flat_map(words::too_long));
}

fn assert_none(violations: impl Iterator<Item = Violation>) {
    let found: Vec<String> = violations.map(|violation| violation.to_string()).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// A file that exists only in a test of the scanner.
fn written(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}
