//! Every statement of the store, as the database gets it: a file below `src/store/sql` is one, so that
//! nothing new is left out.

use std::fs;
use std::path::Path;

/// What goes through handoffs in an order: between the beginning and the end of a page.
const SCANS: &[&str] = &[
    "list_all",
    "list_of_parent",
    "list_of_root",
    "list_open",
    "list_open_of_agent",
];
const PAGE: [&str; 2] = ["list_begin", "list_end"];

/// What chooses handoffs, and the rest that is put behind it.
const CHOOSERS: &[&str] = &["list_newest_of_threads"];
const CHOSEN: &str = "list_states";

/// L as it leaves out what is held, made from the same file as the store makes it.
const LOCK: &str = "lock_rows";

/// One of them.
pub(super) struct Statement {
    /// Its file, without the folder of all.
    pub(super) name: String,
    pub(super) text: String,
}

/// What a statement is for.
pub(super) enum Kind {
    /// Finds what it is asked for.
    Finds,
    /// Looks at all that belongs to the things it is given.
    Proves,
    /// Goes through so many rows, whatever they are.
    Counts,
}

impl Statement {
    pub(super) fn kind(&self) -> Kind {
        let begins = |kinds: &[&str]| kinds.iter().any(|kind| self.name.starts_with(kind));
        if begins(&["gauge_", "stats_", "stuck_"]) {
            Kind::Counts
        } else if begins(&["invariants/"]) && !begins(&["invariants/list/"]) {
            Kind::Proves
        } else {
            Kind::Finds
        }
    }

    /// How many parameters it has.
    pub(super) fn parameters(&self) -> usize {
        let mentioned = (1..40)
            .rev()
            .find(|parameter| mentions(&self.text, *parameter));
        mentioned.unwrap_or(0)
    }
}

fn mentions(statement: &str, parameter: usize) -> bool {
    let word = format!("${parameter}");
    statement.match_indices(&word).any(|(at, _)| {
        let after = statement[at + word.len()..].chars().next();
        !after.is_some_and(|it| it.is_ascii_digit())
    })
}

/// All of them, by name.
pub(super) fn all() -> Vec<Statement> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/sql");
    let mut files = Vec::new();
    find(&folder, "", &mut files);
    let mut part = |name: &str| {
        let at = files.iter().position(|it| it.name == name).unwrap();
        files.remove(at).text
    };
    let ([begin, end], chosen) = (PAGE.map(&mut part), part(CHOSEN));
    let lock = files.iter().find(|it| it.name == LOCK).unwrap();
    let skipping = Statement {
        name: format!("{LOCK}_skipping"),
        text: lock
            .text
            .replace("FOR NO KEY UPDATE", "FOR NO KEY UPDATE SKIP LOCKED"),
    };
    files.push(skipping);
    for it in &mut files {
        // The rows of a fragment of W, behind the namespace.
        it.text = it.text.replace("$rows", "$2");
        if SCANS.contains(&&*it.name) {
            it.text = [&*begin, &it.text, &end, &chosen].concat();
        } else if CHOOSERS.contains(&&*it.name) {
            it.text.push_str(&chosen);
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

fn find(folder: &Path, within: &str, found: &mut Vec<Statement>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy();
        let name = format!("{within}{stem}");
        if path.is_dir() {
            find(&path, &format!("{name}/"), found);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            found.push(Statement { name, text });
        }
    }
}
