//! `kernelbrain audit test.py`: which wrong answers would a contract let pass?

use std::path::PathBuf;

use super::{
    CommandResult,
    common::{MachineOptions, SandboxMode, block_on, printable},
};
use crate::engine::{audit_contract, exit};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The contract: a test.py, or the folder or task.yml of a gpu-mode task
    contract: PathBuf,
    /// Exit with status 2 when a wrong answer passes
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    machine: MachineOptions,
}

pub(super) fn run(options: Options) -> CommandResult {
    let interpreter = options.machine.interpreter()?;
    let device = options.machine.device()?;
    let best_effort = options.machine.sandbox == SandboxMode::BestEffort;
    let audited = block_on(audit_contract(&options.contract, device, interpreter, best_effort))?;
    outln!(
        "{}: {} wrong answers tried on {} cases ({})",
        options.contract.display(),
        audited.info.checked,
        audited.cases,
        printable(&audited.device_name)
    );
    for note in &audited.notes {
        outln!("note: {}", printable(note));
    }
    for finding in &audited.info.passed {
        outln!(
            "passes although wrong: {} (case {})\n    {}",
            printable(&finding.mutant),
            printable(&finding.case),
            printable(&finding.advice)
        );
    }
    if audited.info.passed.is_empty() {
        outln!("none passes: the contract tells right from wrong on these");
    }
    let failed = options.strict && !audited.info.passed.is_empty();
    Ok(if failed { exit::USAGE } else { exit::FINISHED })
}
