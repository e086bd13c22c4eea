//! Floor 6: the command line. One file a subcommand; the only code that writes to a terminal.

/// Like `print!`, and content when nobody reads any more.
macro_rules! out {
    ($($argument:tt)*) => { $crate::cli::common::show(&format!($($argument)*)) };
}

/// Like `println!`, and content when nobody reads any more.
macro_rules! outln {
    ($($argument:tt)*) => { $crate::cli::common::show(&(format!($($argument)*) + "\n")) };
}

mod audit;
mod bench;
mod calibrate;
mod common;
mod comparisons;
mod doctor;
mod live;
mod memory;
mod model;
mod optimize;
mod profile;
mod recipes;
mod report;
mod runs;
mod sandbox_exec;
mod serve;
mod stopping;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::engine::EngineError;

/// Makes a Triton kernel faster within a budget, and proves that it did.
#[derive(Debug, Parser)]
#[command(name = "kernelbrain", version, propagate_version = true, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Search for a faster version of a kernel, verify it and write a report
    Optimize(Box<optimize::Options>),
    /// Judge one kernel file by all gates and time it, without a search
    Bench(bench::Options),
    /// Measure what a GPU reaches at best, which bounds what kernels can reach
    Calibrate(calibrate::Options),
    /// Say what holds a kernel back, by the GPU's hardware counters
    Profile(profile::Options),
    /// Find wrong answers that a contract would let pass
    Audit(audit::Options),
    /// List the source edits that apply to a kernel
    Recipes(recipes::Options),
    /// Write the report of a run again
    Report(report::Options),
    /// List the runs
    Runs(runs::Options),
    /// Say what earlier runs have shown about moves; pass it on, or forget it
    Memory(memory::Options),
    /// Serve the GitHub App: webhooks in, check runs, comments and suggestions out
    Serve(serve::ServeOptions),
    /// Work off jobs of a service on another host
    Runner(serve::RunnerOptions),
    /// Say what is there, what is missing, and what to do about it
    Doctor(doctor::Options),
    /// Confine this process, then become a program
    #[command(hide = true)]
    SandboxExec(sandbox_exec::Options),
}

/// Parses the command line and does what it says.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_env("KERNELBRAIN_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let result = match arguments.command {
        Command::Optimize(options) => optimize::run(*options),
        Command::Bench(options) => bench::run(options),
        Command::Calibrate(options) => calibrate::run(options),
        Command::Profile(options) => profile::run(options),
        Command::Audit(options) => audit::run(options),
        Command::Recipes(options) => recipes::run(options),
        Command::Report(options) => report::run(options),
        Command::Runs(options) => runs::run(options),
        Command::Memory(options) => memory::run(options),
        Command::Serve(options) => serve::serve(options),
        Command::Runner(options) => serve::runner(options),
        Command::Doctor(options) => doctor::run(options),
        Command::SandboxExec(options) => sandbox_exec::run(options),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {}", common::printable(&error.to_string()));
            ExitCode::from(error.exit_status())
        }
    }
}

/// What a subcommand ends with: an exit status, or an error that has one.
type CommandResult = Result<u8, EngineError>;
