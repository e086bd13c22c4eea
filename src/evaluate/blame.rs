//! What happened to a child, as a rejection with evidence.

use std::time::Duration;

use super::{
    error::{EvaluateError, Lost, Part},
    judge::Stop,
    subject::Subject,
    wire::WireError,
};
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
                    (_, "integrity") => Gate::Integrity,
                    (Stage::Call { .. } | Stage::Timing { .. }, "call") => Gate::Correctness,
                    _ => Gate::Build,
                };
                (gate, format!("{doing} failed: {}", printable(&remote.message)))
            }
            WireError::TimedOut(limit) => {
                self.child.kill();
                (Gate::Build, format!("{doing} did not end within {} s", limit.as_secs()))
            }
            WireError::Closed | WireError::Io(_) => match self.obituary(doing, &error).await {
                Ok(words) => (Gate::Build, words),
                Err(fault) => return fault.into(),
            },
            WireError::TooLong | WireError::Malformed(_) => {
                self.child.kill();
                (Gate::Integrity, format!("{doing}, it wrote into the harness's channel: {error}"))
            }
        };
        let mut rejection = Rejection::new(gate, reason).at_line(line);
        rejection.case = case.map(str::to_owned);
        rejection.into()
    }

    /// How the child ended, in words; the fault of the plane where it died with its zygote.
    async fn obituary(&mut self, doing: &str, error: &WireError) -> Result<String, EvaluateError> {
        let exit = self.child.exit(Duration::from_secs(5)).await;
        if let Some(excess) = self.watch.excess() {
            return Ok(format!("{doing}, it {excess}, and was stopped"));
        }
        let origin = self.child.origin();
        if exit.is_none() && origin.is_gone() {
            return Err(EvaluateError::Process {
                what: format!("the zygote, {doing} (a candidate)"),
                error: Box::new(WireError::Closed),
                log: String::new(),
                lost: Some(Lost { part: Part::Zygote, generation: origin.generation }),
            });
        }
        Ok(match exit {
            Some(exit) => match (exit.signal, exit.code) {
                (Some(signal), _) => {
                    format!("{doing}, it was killed by signal {signal}{}", signal_name(signal))
                }
                (None, code) => {
                    format!("{doing}, it ended the process (exit status {})", code.unwrap_or(0))
                }
            },
            None => match error {
                WireError::Closed => format!("{doing}, it closed its connection"),
                error => format!("{doing}, its connection broke: {error}"),
            },
        })
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
