//! What a language model is told: everything that the run knows, put together for one request.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    engine::facts::contract_text,
    evaluate::{Device, Plane},
    generate::{
        answer::Judgement,
        prompt::{self, CaseStanding, Guidance, Lesson, PromptInputs, Tried},
        provider::price::estimate_tokens,
        recipe::{self, Context},
        task::{Experience, ExpertTask, Facts, Situation},
    },
    gpu,
    kernel::{
        Arch, Bound, Candidate, CandidateId, Case, Ceilings, Contract, Evaluation, Profiling,
        Target, syntax::Source,
    },
    search::ports::Attempt,
};

/// Of a contract's file, at most so much is shown: references are short, and what is longer is
/// mostly test data.
const REFERENCE_BYTES: usize = 24 << 10;
/// Of a file with guidance, at most so much is read.
const GUIDANCE_BYTES: u64 = 256 << 10;
/// Attempts that are told besides the ancestors, the latest.
const ATTEMPTS: usize = 24;

/// What stays the same over a run.
#[derive(Debug)]
pub(super) struct Briefing {
    target: Target,
    file: String,
    contract: Contract,
    reference: Option<String>,
    device: Option<prompt::Device>,
    interpreted: bool,
    arch: Option<Arch>,
    triton: Option<String>,
    bounds: Vec<Option<Bound>>,
    /// Least bytes of the cases, where they were counted.
    case_bytes: Vec<u64>,
    guidance: Vec<Guidance>,
    context: Context,
    helped: Vec<Lesson>,
    avoid: Vec<Lesson>,
    baseline: Option<Evaluation>,
}

/// Of an attempt that was a rewrite: its prediction and what became of it.
pub(super) type Predictions<'a> = &'a dyn Fn(&CandidateId) -> Option<(String, Option<Judgement>)>;

impl Briefing {
    pub(super) fn new(
        plane: &Plane,
        target: &Target,
        context: Context,
        bounds: &[Option<Bound>],
    ) -> Self {
        let contract = plane.contract().clone();
        let ceilings = plane.ceilings().cloned().unwrap_or_default();
        let arch = arch(plane.device());
        let work = (0..contract.cases.len()).filter_map(|case| plane.work(case));
        Self {
            file: file_name(&target.source),
            reference: reference(&target.contract),
            device: device(plane, ceilings),
            interpreted: plane.device() == Device::Cpu,
            arch,
            triton: Some(plane.versions().triton.clone()),
            bounds: bounds.to_vec(),
            case_bytes: work.map(|work| work.bytes()).collect(),
            guidance: guidance(target),
            context,
            helped: Vec::new(),
            avoid: Vec::new(),
            baseline: None,
            contract,
            target: target.clone(),
        }
    }

    /// Tells of experience from other runs too.
    #[must_use]
    pub(super) fn with_experience(mut self, experience: &Experience, operator: &str) -> Self {
        let arch = crate::kernel::arch_name(self.arch);
        (self.helped, self.avoid) = prompt::lessons(experience, operator, &arch);
        self
    }

    pub(super) fn know_baseline(&mut self, evaluation: &Evaluation) {
        self.baseline = Some(evaluation.clone());
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// What decides which tasks make sense for a source.
    pub(super) fn situation<'s>(
        &'s self,
        parent: &Candidate,
        evaluation: &'s Evaluation,
    ) -> Situation<'s> {
        let facts = Source::parse(&*parent.source).map(|it| Facts::of(&it)).unwrap_or_default();
        let headrooms = self.contract.cases.iter().zip(&self.bounds).filter_map(|(case, bound)| {
            bound.as_ref()?.headroom(evaluation.latency_us(&case.name))
        });
        Situation {
            facts,
            cases: &self.contract.cases,
            gradients: !self.contract.grads.is_empty(),
            case_bytes: &self.case_bytes,
            diagnosis: evaluation.diagnosis.as_ref(),
            headroom: headrooms.reduce(f64::max),
            arch: self.arch,
        }
    }

    /// Estimated.
    pub(super) fn reference_tokens(&self) -> u64 {
        self.reference.as_deref().map_or(0, estimate_tokens)
    }

    /// Everything for one prompt.
    pub(super) fn inputs(
        &self,
        parent: &Candidate,
        evaluation: &Evaluation,
        history: &[Attempt],
        predictions: Predictions<'_>,
        task: &ExpertTask,
    ) -> PromptInputs {
        PromptInputs {
            target: self.target.name.clone(),
            file: self.file.clone(),
            entry: self.context.entry.clone(),
            editable: self.target.editable.clone(),
            contract: self.contract.clone(),
            reference: self.reference.clone(),
            source: Arc::clone(&parent.source),
            device: self.device.clone(),
            interpreted: self.interpreted,
            triton: self.triton.clone(),
            standings: self.standings(evaluation),
            build: evaluation.build.clone(),
            diagnosis: evaluation.diagnosis.clone(),
            profile: evaluation.profiling.as_ref().and_then(Profiling::profile).cloned(),
            lineage: lineage(&parent.id, history, predictions),
            helped: self.helped.clone(),
            avoid: self.avoid.clone(),
            recipes: self.recipes(parent),
            guidance: self.guidance.clone(),
            rules: self.target.rules.clone(),
            task: task.clone(),
        }
    }

    fn standings(&self, evaluation: &Evaluation) -> Vec<CaseStanding> {
        let known = |case: &str| self.baseline.as_ref()?.latency_us(case);
        let standing = |(at, case): (usize, &Case)| {
            let measured = evaluation.case(&case.name);
            CaseStanding {
                case: case.name.clone(),
                source_us: measured.map(|it| it.latency_us),
                baseline_us: measured.and_then(|it| it.baseline_us).or_else(|| known(&case.name)),
                bound: self.bounds.get(at).copied().flatten(),
                ..CaseStanding::default()
            }
        };
        self.contract.cases.iter().enumerate().map(standing).collect()
    }

    fn recipes(&self, parent: &Candidate) -> Option<String> {
        let source = Source::parse(&*parent.source).ok()?;
        let verbs = recipe::listing(&source, &self.context);
        verbs.iter().any(|verb| !verb.places.is_empty()).then(|| recipe::render_examples(&verbs))
    }
}

/// The ancestors of `parent`, the oldest first, then the latest of what else was tried.
fn lineage(parent: &CandidateId, history: &[Attempt], predictions: Predictions<'_>) -> Vec<Tried> {
    let of = |id: &CandidateId| history.iter().find(|attempt| attempt.candidate == *id);
    let mut ancestors = Vec::new();
    let mut next = of(parent);
    while let Some(attempt) = next.filter(|_| ancestors.len() < history.len()) {
        ancestors.push(attempt);
        next = attempt.parent.as_ref().and_then(of);
    }
    ancestors.reverse();
    let is_ancestor =
        |attempt: &Attempt| ancestors.iter().any(|it| it.candidate == attempt.candidate);
    let others = history.iter().filter(|attempt| !is_ancestor(attempt) && worth_telling(attempt));
    let others: Vec<&Attempt> = others.collect();
    let latest = others.len().saturating_sub(ATTEMPTS);
    let told = |attempt: &Attempt, contained| Tried {
        step: attempt.origin.to_string(),
        outcome: outcome(attempt),
        prediction: predictions(&attempt.candidate).map(|(text, judgement)| match judgement {
            Some(Judgement::Confirmed) => format!("{text}: confirmed"),
            Some(Judgement::Refuted) => format!("{text}: refuted"),
            Some(Judgement::Unknown) | None => text,
        }),
        contained,
    };
    let ancestors = ancestors.iter().map(|attempt| told(attempt, true));
    ancestors.chain(others[latest..].iter().map(|attempt| told(attempt, false))).collect()
}

/// Recipes by the dozen make no difference; rewrites, rejections and what changed something do.
fn worth_telling(attempt: &Attempt) -> bool {
    const CHANGED: f64 = 0.03;
    let rewrite = matches!(attempt.origin, crate::kernel::Move::Rewrite { .. });
    rewrite || attempt.speedup.is_some_and(|speedup| (speedup - 1.0).abs() > CHANGED)
}

fn outcome(attempt: &Attempt) -> String {
    let speedup = attempt.speedup.map(|it| format!("{it:.2} times as fast as the baseline"));
    match (speedup, &attempt.ended) {
        (Some(speedup), Some(ended)) => format!("{speedup}; {ended}"),
        (Some(speedup), None) => speedup,
        (None, Some(ended)) => ended.clone(),
        (None, None) => "not measured yet".to_owned(),
    }
}

pub(super) fn arch(device: Device) -> Option<Arch> {
    match device {
        Device::Cpu => None,
        Device::Cuda { capability: (major, minor), .. } => Some(Arch { major, minor }),
    }
}

fn device(plane: &Plane, ceilings: Ceilings) -> Option<prompt::Device> {
    let Device::Cuda { index, .. } = plane.device() else { return None };
    Some(prompt::Device {
        name: plane.device_name().to_owned(),
        arch: arch(plane.device()),
        multiprocessors: gpu::device_facts(index).ok().map(|facts| facts.sm_count),
        ceilings,
    })
}

fn file_name(source: &Path) -> String {
    source.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The contract's own text, or the beginning of a long one.
fn reference(contract: &Path) -> Option<String> {
    let mut text = contract_text(contract)?;
    if text.len() > REFERENCE_BYTES {
        text.truncate((0..=REFERENCE_BYTES).rev().find(|at| text.is_char_boundary(*at))?);
        text.push_str("\n# … the rest is left out\n");
    }
    Some(text)
}

/// What the repository tells whoever works on it.
fn guidance(target: &Target) -> Vec<Guidance> {
    let Some(package) = &target.package else { return Vec::new() };
    let read = |name: &&str| -> Option<Guidance> {
        let path: PathBuf = package.repository.join(name);
        let size = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?.len();
        if size > GUIDANCE_BYTES {
            return None;
        }
        prompt::about_kernels(&path, &fs::read_to_string(&path).ok()?)
    };
    ["AGENTS.md", "CONTRIBUTING.md"].iter().filter_map(read).collect()
}
