//! The referee: owns inputs and reference answers, compares, and times PyTorch itself.
//! Candidate code is never imported there.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::process;

use super::{
    error::{EvaluateError, Lost, Part},
    log_tail::LogTail,
    protocol::{
        Audited, Checksum, Compared, Dependence, FreeMemory, Mutant, Opened, Returned, Sets, Timed,
        Timing,
    },
    spawn::Spawned,
    wire::{Connection, WireError},
};
use crate::kernel::{Case, Work};

mod probing;

pub(crate) use probing::Question;

/// Importing torch and a contract, on a machine whose disk is cold.
const OPEN_LIMIT: Duration = Duration::from_secs(120);

/// After this no further new values are made for one burst: what a contract draws on the CPU can
/// take a second a set, while the GPU waits.
const PATIENCE: Duration = Duration::from_millis(100);

/// Input sets for a burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetsWanted<'a> {
    /// One a set.
    pub(crate) seeds: &'a [u64],
    /// The seed whose layout they must have, since that is what was compiled for.
    pub(crate) like: u64,
    /// Nobody will ask for these values again.
    pub(crate) passing: bool,
}

/// A running referee with an open contract.
#[derive(Debug)]
pub(crate) struct Referee {
    /// Counts the referees of a plane.
    pub(crate) generation: u32,
    connection: Connection,
    process: process::Child,
    log: LogTail,
    /// For inputs, references and comparisons: a contract may sleep for ever.
    limit: Duration,
}

impl Referee {
    /// Opens `contract` on `device`; inputs are shared through files in `shared` on the cpu.
    pub(crate) async fn open(
        spawned: Spawned,
        generation: u32,
        contract: &Path,
        device: &str,
        shared: &Path,
        sys_path: &[&Path],
        limit: Duration,
    ) -> Result<(Self, Opened), EvaluateError> {
        let mut referee = Self {
            generation,
            connection: Connection::new(spawned.socket),
            process: spawned.process,
            log: spawned.log,
            limit,
        };
        let body =
            json!({"test": contract, "device": device, "shared": shared, "sys_path": sys_path});
        let opened: Opened = match referee.connection.request("open", body, OPEN_LIMIT).await {
            Ok(opened) => opened,
            Err(error) => return Err(referee.fault("opening the contract", error).await),
        };
        if opened.contract.cases.is_empty() {
            return Err(EvaluateError::Contract {
                reason: "the contract has no cases: list at least one in CASES".into(),
                file: None,
                line: None,
            });
        }
        Ok((referee, opened))
    }

    /// Fills the buffers of a case; returns what a child needs to call on them.
    pub(crate) async fn inputs(
        &mut self,
        index: usize,
        case: &Case,
        seed: u64,
    ) -> Result<Value, EvaluateError> {
        let what = format!("making the inputs of case {}", case.name);
        self.ask("inputs", json!({"case": index, "seed": seed}), &what).await
    }

    /// Fills sets of inputs at addresses of their own, one a seed or as many as there is memory
    /// and patience for, at least one. Their layout is that of the seed `like`.
    pub(crate) async fn sets(
        &mut self,
        index: usize,
        case: &Case,
        wanted: &SetsWanted<'_>,
    ) -> Result<Vec<Value>, EvaluateError> {
        let what = format!("making input sets of case {}", case.name);
        let body = json!({
            "case": index, "seeds": wanted.seeds, "like": wanted.like,
            "passing": wanted.passing, "patience_ms": PATIENCE.as_millis() as u64,
        });
        let made: Sets = self.ask("sets", body, &what).await?;
        Ok(made.sets)
    }

    /// Where the answer to the set with `seed` is awaited; the set's inputs besides.
    pub(crate) async fn landing(
        &mut self,
        index: usize,
        case: &Case,
        seed: u64,
    ) -> Result<Value, EvaluateError> {
        let what = format!("answering case {}", case.name);
        self.ask("landing", json!({"case": index, "seed": seed}), &what).await
    }

    /// Judges what a call left in the buffers.
    pub(crate) async fn compare(
        &mut self,
        index: usize,
        case: &Case,
        seed: u64,
        returned: &[Returned],
        gradients: Option<&[Option<Returned>]>,
    ) -> Result<Compared, EvaluateError> {
        let what = format!("comparing case {}", case.name);
        let body = json!({
            "case": index, "seed": seed, "returned": returned, "gradients": gradients,
        });
        self.ask("compare", body, &what).await
    }

    /// A checksum of what lies in the buffers for answers.
    pub(crate) async fn checksum(
        &mut self,
        index: usize,
        name: &str,
    ) -> Result<String, EvaluateError> {
        let what = format!("reading the answers of case {name}");
        let answer: Checksum = self.ask("checksum", json!({"case": index}), &what).await?;
        Ok(answer.checksum)
    }

    /// Bytes that everybody on the device leaves free; `None` on the cpu.
    pub(crate) async fn free_memory(&mut self) -> Result<Option<u64>, EvaluateError> {
        let answer: FreeMemory =
            self.ask("memory", json!({}), "asking for the device's free memory").await?;
        Ok(answer.free_bytes)
    }

    /// Times the reference itself, `eager` or under `compile`.
    pub(crate) async fn time(
        &mut self,
        index: usize,
        case: &Case,
        seed: u64,
        what: &str,
        timing: Timing,
    ) -> Result<Timed, EvaluateError> {
        let body = json!({"case": index, "seed": seed, "what": what, "timing": timing});
        self.ask("time", body, &format!("timing {what} PyTorch on case {}", case.name)).await
    }

    /// Runs wrong answers through the correctness gate.
    pub(crate) async fn audit(
        &mut self,
        index: usize,
        case: &Case,
        seed: u64,
    ) -> Result<Vec<Mutant>, EvaluateError> {
        let body = json!({"case": index, "seed": seed});
        let audited: Audited =
            self.ask("audit", body, &format!("auditing case {}", case.name)).await?;
        Ok(audited.mutants)
    }

    /// What the reference of a case does, and the least bytes that it moves.
    pub(crate) async fn work(
        &mut self,
        index: usize,
        case: &Case,
        seed: u64,
    ) -> Result<Work, EvaluateError> {
        let what = format!("counting the operations of case {}", case.name);
        self.ask("work", json!({"case": index, "seed": seed}), &what).await
    }

    /// Which share of its inputs the reference depends on.
    pub(crate) async fn dependence(
        &mut self,
        index: usize,
        case: &Case,
        seed: u64,
    ) -> Result<Dependence, EvaluateError> {
        let what = format!("finding what case {} depends on", case.name);
        self.ask("dependence", json!({"case": index, "seed": seed}), &what).await
    }

    /// Ends it.
    pub(crate) async fn close(mut self) {
        self.kill().await;
    }

    /// Ends it; it holds nothing that must be put away.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.ok();
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &mut self,
        op: &str,
        body: Value,
        what: &str,
    ) -> Result<T, EvaluateError> {
        let answer = self.connection.request(op, body, self.limit).await;
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.fault(what, error).await),
        }
    }

    async fn fault(&self, what: &str, error: WireError) -> EvaluateError {
        match error {
            WireError::Refused(remote) if remote.kind == "contract" => EvaluateError::Contract {
                reason: remote.message,
                file: remote.file,
                line: remote.line,
            },
            WireError::Refused(remote) if remote.kind == "out_of_memory" => {
                EvaluateError::OutOfMemory { reason: remote.message }
            }
            WireError::Refused(remote) if remote.kind == "device" => {
                EvaluateError::Device { reason: remote.message }
            }
            WireError::TimedOut(limit) => EvaluateError::Contract {
                reason: format!(
                    "{what} took more than {} s; make it cheaper or raise --reference-timeout",
                    limit.as_secs()
                ),
                file: None,
                line: None,
            },
            other => {
                let lost = Lost { part: Part::Referee, generation: self.generation };
                let log = match other {
                    WireError::Refused(_) => self.log.last_lines(6),
                    _ => self.log.final_lines(6).await,
                };
                EvaluateError::Process {
                    what: format!("the referee, {what}"),
                    lost: is_lost(&other).then_some(lost),
                    error: Box::new(other),
                    log,
                }
            }
        }
    }
}

/// Whether a referee that answered so cannot be used again: it is gone, or its device context is.
fn is_lost(error: &WireError) -> bool {
    match error {
        WireError::Refused(remote) => {
            remote.message.contains("CUDA error") || remote.message.contains("CUDA_ERROR")
        }
        WireError::TimedOut(_) => false,
        WireError::Closed | WireError::TooLong | WireError::Malformed(_) | WireError::Io(_) => true,
    }
}
