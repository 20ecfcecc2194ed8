//! The real binary, run against the server of a test.

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::support::TestServer;

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `handoffd` with `args`, and nothing to type.
pub(crate) async fn handoffd(server: &TestServer, args: &[&str]) -> Ran {
    handoffd_at(&server.address().to_string(), args).await
}

/// The same against any address.
pub(crate) async fn handoffd_at(address: &str, args: &[&str]) -> Ran {
    let run = Command::new(env!("CARGO_BIN_EXE_handoffd"))
        .args(args)
        .env("HANDOFFD_ADDRESS", address)
        .env_remove("HANDOFFD_NAMESPACE")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ran = run.await.unwrap();
    Ran {
        code: ran.status.code().unwrap(),
        out: String::from_utf8(ran.stdout).unwrap(),
        err: String::from_utf8(ran.stderr).unwrap(),
    }
}

/// What a command that must succeed prints.
pub(crate) async fn table(server: &TestServer, args: &[&str]) -> String {
    let ran = handoffd(server, args).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out
}

/// The document of a command that must succeed.
pub(crate) async fn json(server: &TestServer, args: &[&str]) -> Value {
    let args = [args, &["--output", "json"]].concat();
    serde_json::from_str(&table(server, &args).await).unwrap()
}
