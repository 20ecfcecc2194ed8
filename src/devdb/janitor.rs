//! Cleans up behind a killed handoffd.
//!
//! A destructor does not run in a killed process, nor for a static one. So a small shell waits for
//! the end of a pipe that only we hold open: it removes an ephemeral folder when the server in it
//! has ended, and stops the server first where the kernel does not do that for us.

use std::path::Path;
use std::process::{Child, Stdio};

use super::DevdbError;
use super::account::Account;
use super::folder::Home;

/// Arguments: the server's process, the signal that ends it or nothing, the folder or nothing.
const SCRIPT: &str = r#"
read -r _
[ -z "$2" ] || kill -s "$2" "$1"
tries=0
while kill -0 "$1" && [ "$tries" -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
[ -z "$3" ] || rm -rf "$3"
"#;

/// The waiting shell; dismissed when dropped.
#[derive(Debug)]
pub(super) struct Janitor(Child);

impl Janitor {
    /// Hires one where our end would leave something behind.
    pub(super) fn hire(home: &Home, server: u32) -> Result<Option<Self>, DevdbError> {
        let kernel_stops_it = cfg!(target_os = "linux");
        if kernel_stops_it && !home.is_ephemeral() {
            return Ok(None);
        }
        let (signal, folder) = match (kernel_stops_it, home.is_ephemeral()) {
            (true, _) => ("", home.root()),
            (false, true) => ("QUIT", home.root()),
            (false, false) => ("INT", Path::new("")),
        };
        let shell = Path::new("/bin/sh");
        let mut command = Account::Own.command(shell);
        command
            .args(["-c", SCRIPT, "janitor", &server.to_string(), signal])
            .arg(folder);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
            .spawn()
            .map(|child| Some(Self(child)))
            .map_err(DevdbError::io("run", shell))
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        // Killed before its pipe closes, so that it does nothing.
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait()) {
            tracing::debug!(%error, "could not dismiss the janitor");
        }
    }
}
