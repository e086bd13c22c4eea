//! `kernelbrain bench kernel.py --test test.py`: one file by all gates, timed.

use std::{path::PathBuf, time::Duration};

use super::{
    CommandResult,
    common::{MachineOptions, SandboxMode, block_on, duration, printable},
};
use crate::{
    engine::{BenchRequest, Benched, PlaneOptions, Selection, bench, exit},
    kernel::{Rejection, Verdict},
    search::Ladder,
};

/// Exit status for a kernel that a gate rejects.
const REJECTED: u8 = 1;

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The kernel's source file
    source: PathBuf,
    /// The contract
    #[arg(long, value_name = "FILE")]
    test: PathBuf,
    /// A baseline to compare with, interleaved
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineOptions,
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
    let selection = Selection::Files { source: options.source, contract: options.test };
    let request = BenchRequest {
        target: selection.resolve()?,
        plane: PlaneOptions {
            device: options.machine.device.resolve()?,
            interpreter: options.machine.interpreter()?,
            best_effort: options.machine.sandbox == SandboxMode::BestEffort,
            children: Some(2),
            candidate_timeout: options.candidate_timeout,
            reference_timeout: Duration::from_secs(300),
        },
        ladder: Ladder::default(),
        seed: options.seed,
        gamma: options.gamma,
        allow_regression: options.allow_regression,
        against: options.against,
    };
    let benched = block_on(bench(request))?;
    if options.json {
        let value = serde_json::json!({
            "device": benched.device_name,
            "evaluation": benched.evaluation,
            "verification": benched.verification,
            "notes": benched.notes,
        });
        outln!("{value:#}");
    } else {
        print(&benched);
    }
    Ok(if rejection(&benched).is_some() { REJECTED } else { exit::FINISHED })
}

fn rejection(benched: &Benched) -> Option<&Rejection> {
    benched.evaluation.rejection().or_else(|| {
        benched.verification.as_ref().and_then(|verification| match &verification.verdict {
            Verdict::Rejected(rejection) => Some(rejection),
            Verdict::Accepted => None,
        })
    })
}

fn print(benched: &Benched) {
    outln!("on {}", printable(&benched.device_name));
    for note in &benched.notes {
        outln!("note: {}", printable(note));
    }
    for case in &benched.evaluation.cases {
        outln!("{:<20} {:>12.2} µs", printable(&case.case), case.latency_us);
    }
    if let Some(verification) = &benched.verification {
        for case in &verification.comparisons {
            outln!(
                "{:<20} {:>7.3}x the baseline ({:.3} to {:.3}, {} rounds)",
                printable(&case.case),
                case.vs_baseline.median,
                case.vs_baseline.low,
                case.vs_baseline.high,
                case.vs_baseline.rounds
            );
        }
        if let Some(ratio) = verification.vs_baseline {
            outln!("together {:.3}x ({:.3} to {:.3})", ratio.median, ratio.low, ratio.high);
        }
        for note in &verification.notes {
            outln!("note: {}", printable(note));
        }
    }
    match rejection(benched) {
        Some(rejection) => outln!("rejected, {}", printable(&rejection.to_string())),
        None if benched.verification.is_some() => outln!("accepted by every gate"),
        None => outln!(
            "accepted; not checked without a baseline to compare with (--against): policy, performance"
        ),
    }
}
