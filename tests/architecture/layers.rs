//! The layer table, and how a file is held against it.

use crate::source::{Source, Violation, has_word};

/// One module below the crate: which others it may name, and which crates it must not.
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    may_name: &'static [&'static str],
    not_these_crates: &'static [&'static str],
}

/// domain <- store <- app <- { grpc, workers } <- server; proto <- { grpc, ctl, bench }.
///
/// `grpc` and `workers` name neither `store` nor each other.
pub(crate) const TABLE: &[Layer] = &[
    layer(
        "domain",
        &["redact", "fuzz"],
        &["tokio", "sqlx", "tonic", "rand", "prost", "tracing"],
    ),
    layer("store", &["domain"], &["tonic", "prost"]),
    layer("app", &["domain", "store"], &["tonic"]),
    layer("proto", &[], &["sqlx"]),
    layer("grpc", &["domain", "app", "proto", "fuzz"], &["sqlx"]),
    layer("workers", &["domain", "app"], &["sqlx", "tonic"]),
    layer(
        "server",
        &[
            "domain", "store", "app", "proto", "grpc", "workers", "ctl", "bench", "devdb",
        ],
        &[],
    ),
    layer("ctl", &["proto", "redact"], &["sqlx"]),
    layer(
        "redact",
        &["fuzz"],
        &["tokio", "sqlx", "tonic", "prost", "tracing"],
    ),
    // Tests only.
    layer("fuzz", &[], &["tokio", "sqlx", "tonic", "prost", "tracing"]),
    layer("bench", &["proto"], &[]),
    layer("devdb", &[], &["tonic"]),
];

const fn layer(
    name: &'static str,
    may_name: &'static [&'static str],
    not_these_crates: &'static [&'static str],
) -> Layer {
    Layer {
        name,
        may_name,
        not_these_crates,
    }
}

/// Every module and crate that `file` names and may not.
pub(crate) fn violations(file: &Source) -> Vec<Violation> {
    let module = file.module();
    let Some(layer) = module
        .first()
        .and_then(|own| TABLE.iter().find(|it| it.name == *own))
    else {
        return Vec::new();
    };
    // Without comments, in one text: a group of imports spans lines.
    let lines: Vec<&str> = file.code().map(|(_, line)| line).collect();
    let code = lines.join("\n");
    let line_of = |at: usize| code[..at].matches('\n').count() + 1;

    let mut found = Vec::new();
    for (at, named) in named_modules(&code, module.len()) {
        let known = TABLE.iter().any(|it| it.name == named);
        if known && named != layer.name && !layer.may_name.contains(&named.as_str()) {
            let rule = format!("`{}` names `{named}`", layer.name);
            found.push(file.violation(line_of(at), rule));
        }
    }
    for (number, line) in file.code() {
        for name in layer.not_these_crates {
            if has_word(line, &format!("{name}::")) {
                found.push(file.violation(number, format!("`{}` uses crate `{name}`", layer.name)));
            }
        }
    }
    found
}

/// Modules below the crate that `code` names, with their places. `depth` is how many `super` lead
/// from the file's own module to the crate.
fn named_modules(code: &str, depth: usize) -> Vec<(usize, String)> {
    let climb = "super::".repeat(depth);
    let mut found = Vec::new();
    for root in ["crate::", "handoffd::", climb.as_str()] {
        for (at, _) in code.match_indices(root) {
            if code[..at].ends_with(|it: char| it.is_alphanumeric() || it == '_') {
                continue;
            }
            let rest = &code[at + root.len()..];
            found.extend(first_names(rest).into_iter().map(|name| (at, name)));
        }
    }
    found
}

/// The first names of what follows a `crate::`: one, or each of a group in braces.
fn first_names(rest: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|it| it.is_alphanumeric() || *it == '_')
            .collect()
    };
    let Some(group) = rest.strip_prefix('{') else {
        return vec![name(rest)];
    };
    let mut names = vec![name(group)];
    let mut depth = 0;
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(name(&group[at + 1..])),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::violations;
    use crate::written;

    fn rules(path: &str, text: &str) -> Vec<String> {
        violations(&written(path, text))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn it_catches_each_way_to_name_a_layer() {
        for text in [
            "use crate::store::Heads;",
            "fn a() { crate::store::read(); }",
            "use crate::{app::x, store};",
            "use crate::{\n    app::{self, y},\n    store::Heads,\n};",
            "use super::super::store::Heads;",
            "use handoffd::store;",
        ] {
            let found = rules("src/grpc/status.rs", text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].ends_with("`grpc` names `store`"), "{found:?}");
        }
    }

    #[test]
    fn it_catches_a_crate_that_does_not_belong() {
        let found = rules(
            "src/domain/ids.rs",
            "//! Pure.\nasync fn a() { tokio::task::yield_now() }",
        );
        assert_eq!(found, ["src/domain/ids.rs:2: `domain` uses crate `tokio`"]);
    }

    #[test]
    fn it_lets_pass_what_is_allowed() {
        for (path, text) in [
            (
                "src/grpc/status.rs",
                "use crate::app::Error;\nuse crate::grpc::layers;\n",
            ),
            (
                "src/grpc/mod.rs",
                "//! Knows nothing of [`crate::store`].\n",
            ),
            (
                "src/store/heads.rs",
                "use super::txn;\nuse crate::domain::Head;\n",
            ),
            ("src/app/mail.rs", "use my_crate::workers;\n"),
            ("src/server/mod.rs", "use crate::{app, store, workers};\n"),
        ] {
            assert_eq!(rules(path, text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn grpc_and_workers_do_not_name_each_other() {
        assert_eq!(
            rules("src/grpc/a.rs", "use crate::workers::Driver;").len(),
            1
        );
        assert_eq!(
            rules("src/workers/a.rs", "use crate::grpc::layers;").len(),
            1
        );
        assert_eq!(rules("src/bench/a.rs", "use crate::store::x;").len(), 1);
    }
}
