//! `kernelbrain bench kernel.py --test test.py`: files by all gates, timed.

use std::{path::PathBuf, time::Duration};

use super::{
    CommandResult,
    common::{MachineOptions, SandboxMode, block_on, duration, show, terminal_style},
    comparisons,
};
use crate::{
    engine::{
        BenchRequest, BenchUnder, ComparisonsRequest, EngineError, PlaneOptions, Selection, bench,
        compare, exit,
        project::{FILE_NAME, Project},
    },
    report::bench::render,
    search::Ladder,
};

/// Exit status where a gate rejects a kernel.
const REJECTED: u8 = 1;

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The kernels' source files
    #[arg(required_unless_present = "kernel", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The contract
    #[arg(long, required_unless_present = "kernel", value_name = "FILE")]
    test: Option<PathBuf>,
    /// A baseline to compare with, interleaved
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// A kernel of kernelbrain.toml: judged as it stands, or the files in its place against it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["test", "against", "comparisons"])]
    kernel: Option<String>,
    /// Configuration file [default: kernelbrain.toml here or above]
    #[arg(long, value_name = "FILE", requires = "kernel")]
    config: Option<PathBuf>,
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
    if let (Some(count), Some(against), Some(contract)) =
        (options.comparisons, &options.against, &options.test)
    {
        let [source] = <[PathBuf; 1]>::try_from(options.files).map_err(|files| {
            let reason = format!("--comparisons is for one file, not {}", files.len());
            EngineError::Usage(reason)
        })?;
        let request = ComparisonsRequest {
            target: Selection::Files { source, contract: contract.clone() }.resolve()?,
            against: against.clone(),
            plane,
            seed: options.seed,
            gamma: options.gamma,
            count,
        };
        return comparisons::show(&block_on(compare(request))?, options.json);
    }
    let request = BenchRequest {
        under: under(&options)?,
        files: options.files,
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

fn under(options: &Options) -> Result<BenchUnder, EngineError> {
    if let Some(contract) = &options.test {
        let against = options.against.clone();
        return Ok(BenchUnder::Contract { contract: contract.clone(), against });
    }
    let found = || Project::find(&std::env::current_dir().ok()?);
    let file = options.config.clone().or_else(found).ok_or_else(|| {
        EngineError::Usage(format!("no {FILE_NAME} here or above: name one with --config"))
    })?;
    let selection = Selection::Configured { file, kernel: options.kernel.clone() };
    Ok(BenchUnder::Kernel(Box::new(selection.resolve()?)))
}
