//! `kernelbrain profile kernel.py --test test.py`: what the GPU's counters say about one kernel.

use std::{path::PathBuf, time::Duration};

use super::{
    CommandResult,
    common::{MachineOptions, SandboxMode, block_on, duration, printable, terminal_style},
};
use crate::{
    engine::{KernelDiagnosis, PlaneOptions, ProfileRequest, Selection, exit, profile_kernel},
    kernel::{KernelProfile, Profile},
    report::profile::{figures, headline},
};

/// Version of what `--json` prints.
const SCHEMA: u32 = 1;
/// Kernels with a column of their own; `--json` has them all.
const COLUMNS: usize = 4;
/// Moves that are shown; `--json` has them all.
const MOVES: usize = 5;

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The kernel's source file
    source: PathBuf,
    /// The contract, which makes the inputs
    #[arg(long, value_name = "FILE")]
    test: PathBuf,
    /// The case to call [default: the contract's first]
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    #[command(flatten)]
    machine: MachineOptions,
    /// Nsight Compute's command line [default: on PATH, or where CUDA's installers put it]
    #[arg(long, value_name = "PATH")]
    ncu: Option<PathBuf>,
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
    let target = selection.resolve()?;
    let name = target.name.clone();
    let request = ProfileRequest {
        target,
        plane: PlaneOptions {
            device: options.machine.device.resolve()?,
            interpreter: options.machine.interpreter()?,
            best_effort: options.machine.sandbox == SandboxMode::BestEffort,
            children: Some(1),
            candidate_timeout: options.candidate_timeout,
            reference_timeout: Duration::from_secs(300),
        },
        case: options.case,
        seed: options.seed,
        ncu: options.ncu,
    };
    let found = block_on(profile_kernel(request))?;
    if options.json {
        let value = serde_json::json!({
            "schema": SCHEMA,
            "device": found.device_name,
            "diagnosis": found.diagnosis,
            "profile": found.profile,
            "notes": found.notes,
        });
        outln!("{value:#}");
    } else {
        out!("{}", printable(&page(&name, &found)));
    }
    Ok(exit::FINISHED)
}

/// Verdict first, then what it rests on, what to try, and a column of figures for each kernel.
fn page(name: &str, found: &KernelDiagnosis) -> String {
    let (profile, diagnosis) = (&found.profile, &found.diagnosis);
    let mut lines = vec![
        format!("{name} is {}", headline(diagnosis)),
        format!("  case {}, {}", profile.case, found.device_name),
    ];
    for (index, finding) in diagnosis.findings.iter().enumerate() {
        lines.push(format!("  {}. {finding}", index + 1));
    }
    if diagnosis.findings.is_empty() {
        lines.push("  no bottleneck stands out".into());
    }
    let moves: Vec<&str> = diagnosis.suggestions.iter().take(MOVES).map(String::as_str).collect();
    lines.push(format!("  to try: {}", moves.join(", ")));
    lines.extend(found.notes.iter().map(|note| format!("  note: {note}")));
    if profile.incomplete {
        lines.push("  note: not all kernels of the call are in here".into());
    }
    let width = terminal_style().width.max(60);
    let prose = lines.iter().map(|line| wrapped(line, width));
    prose.chain([String::new()]).chain(table(profile)).map(|line| line + "\n").collect()
}

/// The call as a whole, where it has several kernels, and the longest of them.
fn table(profile: &Profile) -> Vec<String> {
    let mut longest: Vec<&KernelProfile> = profile.kernels.iter().collect();
    longest.sort_by(|a, b| b.duration_us.total_cmp(&a.duration_us));
    longest.truncate(COLUMNS);
    let single = |kernel: &&KernelProfile| Profile {
        kernels: vec![(*kernel).clone()],
        least_bytes: None,
        ..profile.clone()
    };
    let mut columns = vec![("the call".to_owned(), profile.clone())];
    if profile.kernels.len() > 1 {
        columns.extend(longest.iter().map(|kernel| (kernel.name.clone(), single(kernel))));
    } else if let Some(kernel) = longest.first() {
        columns[0].0.clone_from(&kernel.name);
    }
    let profiles: Vec<&Profile> = columns.iter().map(|(_, profile)| profile).collect();
    let head = columns.iter().map(|(name, _)| name.chars().take(28).collect::<String>());
    let mut rows: Vec<Vec<String>> = vec![std::iter::once(String::new()).chain(head).collect()];
    for row in figures(&profiles) {
        rows.push(std::iter::once(row.label.to_owned()).chain(row.values).collect());
    }
    let count = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| count(&row[column])).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(index, (cell, width))| {
            let gap = " ".repeat(width - count(cell));
            if index == 0 { format!("  {cell}{gap}") } else { format!("  {gap}{cell}") }
        });
        cells.collect::<String>().trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// `line` in lines of at most `width` columns, the later ones indented below the first one's text.
fn wrapped(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let (mut text, mut column) = (" ".repeat(indent), indent);
    for word in line.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            text.push('\n');
            text.push_str(&" ".repeat(indent + 3));
            column = indent + 3;
        } else if column > indent {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::profile::{DeviceFacts, diagnose, read};

    /// Measured on an H200.
    const OUTPUT: &[u8] = include_bytes!("../evaluate/profile/fixtures/full.csv");

    #[test]
    fn a_person_reads_the_verdict_first() {
        let profile = Profile {
            case: "main".into(),
            kernels: read(OUTPUT).kernels,
            least_bytes: Some(225_000_000),
            incomplete: false,
        };
        let found = KernelDiagnosis {
            diagnosis: diagnose(&profile, None, &DeviceFacts::default()),
            profile,
            device_name: "NVIDIA H200".into(),
            notes: vec![],
        };
        insta::assert_snapshot!("page", page("add_and_product", &found));
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        let text = wrapped("  1. one two three four", 14);
        assert_eq!(text, "  1. one two\n     three\n     four");
    }
}
