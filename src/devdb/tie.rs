//! Ties a child's life to ours, so that a killed handoffd leaves nothing running.

#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Signal;

/// Lets the child of `command` get `signal` when the thread that spawns it ends.
///
/// The kernel ties this to the thread, not to the process: spawn from one that lives as long as
/// the child should.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "only code between fork and exec can tie a child to this thread"
)]
pub(super) fn end_with_this_thread(command: &mut Command, signal: Signal) {
    let parent = rustix::process::getpid();
    let tie = move || {
        // After the change of account, which would clear it.
        rustix::process::set_parent_process_death_signal(Some(signal))?;
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(rustix::io::Errno::SRCH.into())
        }
    };
    // SAFETY: between fork and exec `tie` makes two system calls; it allocates nothing, takes no
    // lock and touches no memory of another thread.
    unsafe { command.pre_exec(tie) };
}

/// Other systems have no such tie: the next start stops what was left running.
#[cfg(not(target_os = "linux"))]
pub(super) fn end_with_this_thread(_command: &mut Command, _signal: Signal) {}
