//! The `handoffd` binary. All of it is in the library; here are only the allocator and the runtime.

use std::process::ExitCode;

use clap::Parser;
use handoffd::server::cli::Cli;

/// Worth a tenth of the throughput or more: a call is many small allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // By hand, so that what runs beside it (lanes with threads of their own) is as visible as it.
    match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime.block_on(cli.run()),
        Err(_) => ExitCode::FAILURE,
    }
}
