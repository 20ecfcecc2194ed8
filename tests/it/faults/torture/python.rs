//! Runtimes in Python: `agent.py`, on the client of `examples/python`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::faults::agents::{ORDERS, Orders};

/// What starts one.
pub(super) fn command(orders: &Orders) -> Command {
    let mut command = Command::new(interpreter());
    command
        .arg(root().join("tests/it/faults/torture/agent.py"))
        .env(ORDERS, serde_json::to_string(orders).unwrap());
    command
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A Python that has gRPC: the one that `PYTHON` names, the machine's, else one of our own.
pub(super) fn interpreter() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let named = env::var_os("PYTHON").map(PathBuf::from);
        let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
        let ours = own.join("bin/python");
        let mut known = [named, Some("python3".into()), Some(ours.clone())].into_iter();
        if let Some(found) = known.by_ref().flatten().find(|python| has_grpc(python)) {
            return found;
        }
        run(Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(own));
        let wanted = root().join("examples/python/requirements.txt");
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
        ];
        run(Command::new(&ours).args(install).arg(wanted));
        ours
    })
}

fn has_grpc(python: &Path) -> bool {
    let tried = Command::new(python)
        .args(["-c", "import grpc, grpc_tools"])
        .output();
    tried.is_ok_and(|done| done.status.success())
}

fn run(command: &mut Command) {
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "a Python with gRPC is needed: {command:?}: {said}"
    );
}
