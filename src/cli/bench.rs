//! `kernelbrain bench kernel.py --test test.py`: files by all gates, timed.

use std::{path::PathBuf, time::Duration};

use super::{
    CommandResult,
    common::{MachineOptions, SandboxMode, block_on, duration, show, terminal_style},
    comparisons,
};
use crate::{
    engine::{
        BenchRequest, ComparisonsRequest, EngineError, PlaneOptions, Selection, bench, compare,
        exit,
    },
    report::bench::render,
    search::Ladder,
};

/// Exit status where a gate rejects a kernel.
const REJECTED: u8 = 1;

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The kernels' source files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The contract
    #[arg(long, value_name = "FILE")]
    test: PathBuf,
    /// A baseline to compare with, interleaved
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Only compare one file with the baseline, that often on every case, to see how far it can be
    /// trusted
    #[arg(long, value_name = "N", requires = "against", value_parser = clap::value_parser!(u32).range(1..))]
    comparisons: Option<u32>,
    #[command(flatten)]
    machine: MachineOptions,
    /// Stop after the gates that need no clock: policy, build, correctness, integrity
    #[arg(long)]
    no_timing: bool,
    /// The least speedup over the baseline that counts
    #[arg(long, default_value_t = 1.03, value_name = "X")]
    gamma: f64,
    /// Accept a kernel that is slower than the baseline on some case
    #[arg(long)]
    allow_regression: bool,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Longest that one step of the kernel may take
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = duration)]
    candidate_timeout: Duration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: Options) -> CommandResult {
    let plane = PlaneOptions {
        device: options.machine.device()?,
        interpreter: options.machine.interpreter()?,
        best_effort: options.machine.sandbox == SandboxMode::BestEffort,
        children: Some(2),
        candidate_timeout: options.candidate_timeout,
        reference_timeout: Duration::from_secs(300),
    };
    if let (Some(count), Some(against)) = (options.comparisons, &options.against) {
        let [source] = <[PathBuf; 1]>::try_from(options.files).map_err(|files| {
            let reason = format!("--comparisons is for one file, not {}", files.len());
            EngineError::Usage(reason)
        })?;
        let request = ComparisonsRequest {
            target: Selection::Files { source, contract: options.test }.resolve()?,
            against: against.clone(),
            plane,
            seed: options.seed,
            gamma: options.gamma,
            count,
        };
        return comparisons::show(&block_on(compare(request))?, options.json);
    }
    let request = BenchRequest {
        files: options.files,
        contract: options.test,
        against: options.against,
        plane,
        ladder: Ladder::default(),
        seed: options.seed,
        gamma: options.gamma,
        allow_regression: options.allow_regression,
        timing: !options.no_timing,
    };
    let report = block_on(bench(request))?;
    if options.json {
        let json = report.json();
        show(&json.map_err(|error| EngineError::Environment(format!("no JSON: {error}")))?);
    } else {
        show(&render(&report, terminal_style()));
    }
    Ok(if report.all_accepted() { exit::FINISHED } else { REJECTED })
}
