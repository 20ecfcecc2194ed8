//! Reads the files of the repository.

use std::fmt;
use std::path::{Path, PathBuf};

/// One file, its path relative to the repository.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A line that breaks a rule.
pub(crate) struct Violation {
    path: String,
    line: usize,
    rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.rule)
    }
}

impl Source {
    pub(crate) fn violation(&self, line: usize, rule: impl Into<String>) -> Violation {
        Violation {
            path: self.path.clone(),
            line,
            rule: rule.into(),
        }
    }

    pub(crate) fn is(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }

    /// The module that a file under `src/` is, as a path below the crate; empty for its root.
    pub(crate) fn module(&self) -> Vec<&str> {
        let path = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let path = path.strip_suffix(".rs").unwrap_or(path);
        path.split('/')
            .filter(|part| !["mod", "lib", "main"].contains(part))
            .collect()
    }

    /// The numbered lines without their comments.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let comment = if self.is("sql") { "--" } else { "//" };
        self.text.lines().enumerate().map(move |(index, line)| {
            let code = if line.trim_start().starts_with(comment) {
                ""
            } else {
                line
            };
            // Behind code only with a space around it: `//` also stands in URLs.
            let code = code.split(&format!(" {comment} ")).next().unwrap_or(code);
            (index + 1, code)
        })
    }
}

/// All files below some folders of the repository, sorted.
pub(crate) fn files(folders: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in folders {
        collect(&root.join(folder), &mut paths);
    }
    paths.sort();
    paths
        .iter()
        .filter(|path| {
            path.extension()
                .is_some_and(|it| it == "rs" || it == "sql" || it == "proto")
        })
        .map(|path| Source {
            path: path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned(),
            text: std::fs::read_to_string(path).unwrap(),
        })
        .collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else {
            into.push(path);
        }
    }
}

/// Where `word` stands in `line` as a word of its own: nothing of a name before it.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at]
            .chars()
            .next_back()
            .is_some_and(|before| before.is_alphanumeric() || before == '_')
    })
}
