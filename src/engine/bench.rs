//! Kernels by all gates and timed, without a search; beside a baseline the last word too.

use std::path::{Path, PathBuf};

use super::{
    ceilings::illuminate,
    error::EngineError,
    fidelity::FidelityRule,
    session::PlaneOptions,
    target::{read_source, read_text, unread},
};
use crate::{
    evaluate::{Device, Plane, policy},
    kernel::{Candidate, Evaluation, Gate, Move, Rejection, Target, Verdict, Verification},
    report::bench::{BenchCase, BenchReport, BenchResult, SCHEMA},
    search::Ladder,
};

/// What is to be judged.
#[derive(Clone, Debug)]
pub struct BenchRequest {
    /// The files; at least one, unless a repository's kernel is to be judged as it stands.
    pub files: Vec<PathBuf>,
    pub under: BenchUnder,
    pub plane: PlaneOptions,
    pub ladder: Ladder,
    pub seed: u64,
    pub gamma: f64,
    pub allow_regression: bool,
    /// Whether to go on after the gates that need no clock.
    pub timing: bool,
}

/// What files are judged under.
#[derive(Clone, Debug)]
pub enum BenchUnder {
    /// A contract, and perhaps a baseline to compare with, whose habits are no fault of the others.
    Contract { contract: PathBuf, against: Option<PathBuf> },
    /// A kernel of a repository: files take the place of its source, with which they are compared.
    Kernel(Box<Target>),
}

/// What whoever owns a refused file should know.
const STRANGER: &str = "a file is judged as a stranger's: what a repository's own does by habit is allowed with \
                        --against that file, or as a kernel of kernelbrain.toml (--kernel)";

/// A file with its text.
struct Given {
    name: String,
    text: String,
}

/// Judges every file at full fidelity. A rejection is a result; an error is a fault of the
/// command line, the contract, the baseline or the machine.
pub async fn bench(request: BenchRequest) -> Result<BenchReport, EngineError> {
    let mut given: Vec<Given> =
        request.files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    let (target, baseline) = match &request.under {
        BenchUnder::Contract { contract, against } => {
            let baseline = against.as_deref().map(read_source).transpose()?;
            let first = request.files.first();
            let first = first.ok_or_else(|| EngineError::Usage("no file to judge".into()))?;
            let text = baseline.as_deref().unwrap_or_default().into();
            (Target { text, ..unread(first, contract)? }, baseline)
        }
        BenchUnder::Kernel(target) => ((**target).clone(), Some(target.text.to_string())),
    };
    let as_it_stands = given.is_empty();
    if as_it_stands {
        let (name, text) = (target.source.display().to_string(), target.text.to_string());
        given.push(Given { name, text });
    }
    let mut report = BenchReport {
        schema: SCHEMA,
        device: request.plane.device.to_string(),
        interpreted: request.plane.device == Device::Cpu,
        results: Vec::new(),
        notes: Vec::new(),
    };
    // Text is judged in no time; where nothing is left, neither Python nor a device is needed.
    // Whether the contract asks for gradients is known once it is open.
    let refused_by = |gradients: bool| -> Vec<Option<Rejection>> {
        let rules = policy::PolicyRules { gradients, ..policy::PolicyRules::default() };
        let judged = given.iter().map(|it| policy::check_alone_by(it.text.as_bytes(), &rules));
        judged.map(Result::err).collect()
    };
    let mut refused: Vec<Option<Rejection>> = match baseline {
        None => refused_by(true),
        Some(_) => vec![None; given.len()],
    };
    if refused.iter().all(Option::is_some) {
        let refused = refused.into_iter().flatten();
        report.results = given.iter().zip(refused).map(|(it, why)| it.refused(why)).collect();
        return Ok(report);
    }
    let plane = request.plane.start(target).await?;
    if baseline.is_none() && plane.contract().grads.is_empty() {
        refused = refused_by(false);
    }
    report.device = plane.device_name().to_owned();
    report.notes = plane.contract().notes.clone();
    let mut note = |text: &str| report.notes.push(text.to_owned());
    if request.timing {
        illuminate(&plane, &request.plane, None, true, &mut note).await;
    }
    let compared = baseline.is_some() && !as_it_stands;
    let result = judge_all(&plane, &request, (baseline, compared), &given, refused).await;
    report.notes.extend(plane.take_warnings());
    report.notes.extend(plane.conditions());
    plane.close().await;
    report.results = result?;
    Ok(report)
}

fn read(file: &Path) -> Result<Given, EngineError> {
    Ok(Given { name: file.display().to_string(), text: read_text(file)? })
}

impl Given {
    /// By the policy gate, with nothing beside it whose habits it might have.
    fn refused(&self, rejection: Rejection) -> BenchResult {
        let mut result = BenchResult::accepted(&self.name, Vec::new());
        result.notes.push(STRANGER.to_owned());
        result.rejected(rejection, &self.text)
    }
}

async fn judge_all(
    plane: &Plane,
    request: &BenchRequest,
    (baseline, compared): (Option<String>, bool),
    given: &[Given],
    refused: Vec<Option<Rejection>>,
) -> Result<Vec<BenchResult>, EngineError> {
    let rule = FidelityRule {
        ladder: request.ladder.clone(),
        cases: plane.contract().cases.clone(),
        device: plane.device(),
        seed: request.seed,
        flush_bytes: plane.flush_bytes(),
        gamma: request.gamma,
        allow_regression: true,
        thorough: false,
    };
    plane.lay_out(request.seed).await?;
    let known = baseline.is_some();
    let baseline = Candidate::baseline(baseline.unwrap_or_default());
    let bench = Bench { plane, request, rule, baseline, known, compared };
    if compared {
        bench.measure_baseline().await?;
    }
    let mut results = Vec::new();
    for (it, refused) in given.iter().zip(refused) {
        results.push(match refused {
            Some(rejection) => it.refused(rejection),
            None => bench.judge(it).await?,
        });
    }
    Ok(results)
}

struct Bench<'a> {
    plane: &'a Plane,
    request: &'a BenchRequest,
    rule: FidelityRule,
    baseline: Candidate,
    /// Whether there is a baseline: what it does is nobody's fault.
    known: bool,
    /// Whether it is raced against.
    compared: bool,
}

impl Bench<'_> {
    /// The baseline must be right, and what it does to its process is its own affair.
    async fn measure_baseline(&self) -> Result<(), EngineError> {
        let evaluation = self.plane.evaluate(&self.baseline, 0, &self.rule.of_rung(0)).await?;
        match evaluation.rejection() {
            None => Ok(()),
            Some(rejection) => Err(EngineError::Usage(format!(
                "the baseline does not pass its own contract, so there is nothing to compare with: \
                 {rejection}"
            ))),
        }
    }

    async fn judge(&self, given: &Given) -> Result<BenchResult, EngineError> {
        let origin = Move::Recipe { text: "given".into() };
        let candidate = Candidate::child(&self.baseline.id, origin, given.text.as_str());
        let mut result = BenchResult::accepted(&given.name, Vec::new());

        let seeds = self.fresh_seeds();
        let baseline = self.known.then_some(&self.baseline);
        let proof = self.plane.prove(&candidate, baseline, &seeds, &self.rule.proof()).await?;
        result.notes = proof.notes;
        result.cases = self.named_cases(&proof.errors);
        if let Verdict::Rejected(rejection) = proof.verdict {
            return Ok(result.rejected(rejection, &given.text));
        }
        if !self.request.timing {
            return Ok(result);
        }
        if self.compared && candidate.id == self.baseline.id {
            let same =
                Rejection::new(Gate::Performance, "is the very source that it is compared with");
            return Ok(result.rejected(same, &given.text));
        }

        let top = self.rule.ladder.top();
        let mut fidelity = self.rule.of_rung(top);
        if let Some(rounds) = &mut fidelity.rounds {
            rounds.paired &= self.compared;
        }
        let evaluation = self.plane.evaluate(&candidate, top, &fidelity).await?;
        add_evaluation(&mut result.cases, &evaluation);
        if let Verdict::Rejected(rejection) = evaluation.verdict {
            return Ok(result.rejected(rejection, &given.text));
        }
        let verdict = self.compare(&candidate, &mut result).await?;
        for (at, case) in result.cases.iter_mut().enumerate() {
            case.bound = self.plane.bound(at);
            case.headroom = case.bound.and_then(|bound| bound.headroom(case.latency_us));
        }
        match verdict {
            Verdict::Accepted => Ok(result),
            Verdict::Rejected(rejection) => Ok(result.rejected(rejection, &given.text)),
        }
    }

    /// Races the kernel against the baseline, eager PyTorch and `torch.compile`, as far as they are
    /// there.
    async fn compare(
        &self,
        candidate: &Candidate,
        result: &mut BenchResult,
    ) -> Result<Verdict, EngineError> {
        let mut plan = self.rule.verification(self.request.allow_regression);
        plan.seeds = self.fresh_seeds();
        plan.proof = None; // it has just been given
        if self.compared {
            let verification = self.plane.verify(candidate, &self.baseline, &plan).await?;
            add_verification(result, &verification);
            return Ok(match verification.verdict {
                // Times in the interpreter say nothing about a GPU, so that they decide nothing.
                Verdict::Rejected(slower)
                    if self.plane.device() == Device::Cpu && slower.gate == Gate::Performance =>
                {
                    result.notes.push(format!("in Triton's interpreter: {}", slower.reason));
                    Verdict::Accepted
                }
                verdict => verdict,
            });
        }
        if !plan.with_pytorch {
            return Ok(Verdict::Accepted);
        }
        let raced = self.plane.race_pytorch(candidate, &plan).await?;
        for (case, timed) in result.cases.iter_mut().zip(raced.cases) {
            case.latency_us = Some(timed.candidate_us);
            case.eager_us = timed.eager_us;
            case.compile_us = timed.compile_us;
            case.vs_eager = timed.vs_eager;
            case.vs_compile = timed.vs_compile;
        }
        result.vs_eager = raced.vs_eager;
        result.vs_compile = raced.vs_compile;
        result.notes.extend(raced.notes);
        Ok(raced.verdict)
    }

    /// Seeds that whoever wrote the file cannot know.
    fn fresh_seeds(&self) -> Vec<u64> {
        let mut seeds = self.rule.verification(false).seeds;
        seeds.fill_with(|| u64::from(rand::random::<u32>()));
        seeds
    }

    fn named_cases(&self, errors: &[f64]) -> Vec<BenchCase> {
        let cases = self.plane.contract().cases.iter().zip(errors);
        cases
            .map(|(case, error)| BenchCase {
                case: case.name.clone(),
                error: error.is_finite().then_some(*error),
                ..BenchCase::default()
            })
            .collect()
    }
}

fn add_evaluation(cases: &mut [BenchCase], evaluation: &Evaluation) {
    for case in cases {
        if let Some(measured) = evaluation.cases.iter().find(|it| it.case == case.case) {
            case.latency_us = Some(measured.latency_us);
            case.host_us = measured.host_us;
            case.backward_us = measured.backward_us;
            case.error = measured.error.map(|error| error.max(case.error.unwrap_or(0.0)));
        }
    }
}

fn add_verification(result: &mut BenchResult, verification: &Verification) {
    for case in &mut result.cases {
        let Some(compared) = verification.comparisons.iter().find(|it| it.case == case.case) else {
            continue;
        };
        case.latency_us = Some(compared.candidate_us);
        case.baseline_us = Some(compared.baseline_us);
        case.eager_us = compared.eager_us;
        case.compile_us = compared.compile_us;
        case.vs_baseline = Some(compared.vs_baseline);
        case.vs_eager = compared.vs_eager;
        case.vs_compile = compared.vs_compile;
    }
    result.vs_baseline = verification.vs_baseline;
    result.vs_eager = verification.vs_eager;
    result.vs_compile = verification.vs_compile;
    result.notes.extend(verification.notes.iter().cloned());
}
