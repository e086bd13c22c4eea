//! A target, an environment and events as stores are given them.

use std::path::PathBuf;

use kernelbrain::{
    kernel::{
        Candidate, CandidateId, CaseMeasurement, Cost, Entry, Evaluation, Gate, Move, Rejection,
        RequestKind, Target, Verdict, Verification,
    },
    search::{Decision, Event, Limits, Outcome, Spend},
    store::Environment,
};

pub(crate) const SOURCE: &str = "import triton\n\n@triton.jit\ndef kernel():\n    pass\n";

pub(crate) fn target() -> Target {
    Target {
        name: "softmax".into(),
        source: PathBuf::from("kernels/softmax.py"),
        text: SOURCE.into(),
        entry: Entry { module: None, function: Some("kernel_function".into()) },
        contract: PathBuf::from("test.py"),
        editable: None,
        package: None,
        rules: vec!["no \"magic\" numbers".into()],
        tests: None,
        archs: Vec::new(),
    }
}

pub(crate) fn environment() -> Environment {
    Environment {
        kind: "cuda".into(),
        device: "NVIDIA H200".into(),
        driver: Some("570.86.15".into()),
        torch: "2.11.0".into(),
        triton: "3.6.0".into(),
        kernelbrain: "0.1.0".into(),
    }
}

pub(crate) fn warning(text: &str) -> Event {
    Event::Warned { text: text.into() }
}

pub(crate) fn added(source: &str) -> Event {
    let parent = CandidateId::of(SOURCE);
    let origin = Move::Recipe { text: "warps 8; tile BLOCK=512".into() };
    Event::CandidateAdded { candidate: Candidate::child(&parent, origin, source) }
}

pub(crate) fn one_of_each() -> Vec<Event> {
    let baseline = Candidate::baseline(SOURCE);
    let candidate = baseline.id.clone();
    let measured = CaseMeasurement {
        case: "medium".into(),
        latency_us: 58.7,
        baseline_us: None,
        host_us: Some(12.0),
        backward_us: None,
        error: Some(0.1 + 0.2),
    };
    let evaluation = Evaluation {
        candidate: candidate.clone(),
        rung: 2,
        verdict: Verdict::Accepted,
        cases: vec![measured],
        build: vec![],
        diagnosis: None,
        disturbed: 0,
        profiling: None,
        cost: Cost { gpu_seconds: 0.08, wall_seconds: 1.4 },
        same_program_as: None,
        observed: None,
        ended_at: None,
    };
    let rejection = Rejection::new(Gate::Correctness, "differs by 3 %").on_case("ragged");
    let rejected = Evaluation {
        verdict: Verdict::Rejected(rejection.clone().at_line(Some(12))),
        cases: vec![],
        rung: 0,
        ..evaluation.clone()
    };
    let verification = Verification {
        candidate: candidate.clone(),
        verdict: Verdict::Rejected(rejection),
        comparisons: vec![],
        vs_baseline: None,
        vs_eager: None,
        vs_compile: None,
        cost: Cost::default(),
        notes: vec!["no repository tests".into()],
        profiling: None,
        review: None,
    };
    let spent =
        Spend { wall_seconds: 1.0 / 3.0, gpu_seconds: 0.1, evaluations: 1, ..Spend::default() };
    let promote = Decision::Promote { reason: "rank 1 of 3".into() };
    vec![
        Event::BaselineMeasured { evaluation: evaluation.clone() },
        Event::CandidateAdded { candidate: baseline },
        Event::MoveDiscarded {
            parent: candidate.clone(),
            text: "warps 8".into(),
            reason: "duplicate".into(),
        },
        Event::Asked {
            parent: candidate.clone(),
            rung: Some(1),
            kind: RequestKind::Rewrite(2),
            estimate: spent,
        },
        Event::Answered {
            parent: candidate.clone(),
            rung: None,
            kind: RequestKind::Recipes,
            spent: Spend::default(),
        },
        Event::Debited { candidate: candidate.clone(), rung: 0, estimate: spent },
        Event::Evaluated { evaluation, spent },
        Event::Evaluated { evaluation: rejected, spent },
        Event::Settled { candidate: candidate.clone(), rung: 0 },
        Event::Abandoned,
        Event::Decided { candidate: candidate.clone(), rung: 0, decision: promote },
        Event::Verified { verification, spent },
        Event::Ticked { wall_seconds: 1e-300 },
        Event::Warned { text: "a \"quoted\" line\nand another".into() },
        Event::Resumed { reset: Some("driver".into()) },
        Event::LimitsChanged {
            limits: Limits { wall_seconds: Some(0.5), tokens: Some(7), ..Limits::default() },
            max_candidates: 12,
            rewrites: Some(3),
        },
        Event::Ended { outcome: Outcome::Improved { best: candidate } },
    ]
}
