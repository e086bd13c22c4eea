//! What happened to a child, as a rejection with evidence.

use std::time::Duration;

use super::{judge::Stop, subject::Subject, wire::WireError};
use crate::kernel::{Gate, Rejection};

/// What the child was doing when it failed, in words for a rejection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage<'a> {
    Import,
    Compile,
    Start,
    Call { case: &'a str },
    Timing { case: &'a str },
}

impl Subject<'_> {
    /// Turns what happened to the child into a rejection.
    pub(super) async fn blame(&mut self, stage: Stage<'_>, error: WireError) -> Stop {
        let (doing, case) = match stage {
            Stage::Import => ("importing it", None),
            Stage::Compile => ("compiling it", None),
            Stage::Start => ("opening the device", None),
            Stage::Call { case } => ("calling it", Some(case)),
            Stage::Timing { case } => ("timing it", Some(case)),
        };
        let mut line = None;
        let (gate, reason) = match error {
            WireError::Refused(remote) => {
                line = remote.line;
                let gate = match (stage, remote.kind.as_str()) {
                    (Stage::Call { .. } | Stage::Timing { .. }, "call") => Gate::Correctness,
                    _ => Gate::Build,
                };
                (gate, format!("{doing} failed: {}", printable(&remote.message)))
            }
            WireError::TimedOut(limit) => {
                self.child.kill();
                (Gate::Build, format!("{doing} did not end within {} s", limit.as_secs()))
            }
            WireError::Closed => (Gate::Build, self.obituary(doing).await),
            WireError::TooLong | WireError::Malformed(_) => {
                self.child.kill();
                (Gate::Integrity, format!("{doing}, it wrote into the harness's channel: {error}"))
            }
            WireError::Io(_) => (Gate::Build, format!("{doing}, its connection broke: {error}")),
        };
        let mut rejection = Rejection::new(gate, reason).at_line(line);
        rejection.case = case.map(str::to_owned);
        rejection.into()
    }

    /// How the child ended, in words.
    async fn obituary(&mut self, doing: &str) -> String {
        let exit = self.child.exit(Duration::from_secs(5)).await;
        if let Some(excess) = self.watch.excess() {
            return format!("{doing}, it {excess}, and was stopped");
        }
        match exit {
            Some(exit) => match (exit.signal, exit.code) {
                (Some(signal), _) => {
                    format!("{doing}, it was killed by signal {signal}{}", signal_name(signal))
                }
                (None, code) => {
                    format!("{doing}, it ended the process (exit status {})", code.unwrap_or(0))
                }
            },
            None => format!("{doing}, it closed its connection"),
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (illegal instruction)",
        6 => " (abort)",
        7 => " (bus error)",
        8 => " (arithmetic error)",
        9 => " (killed)",
        11 => " (segmentation fault)",
        _ => "",
    }
}

/// A child's words, bounded and without control characters.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\n' { ' ' } else { c })
        .filter(|c| !c.is_control())
        .take(2000)
        .collect()
}
