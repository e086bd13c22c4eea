//! From a run's record and state to its report.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{profiles::diagnosis, run_plan::RunPlan};
use crate::{
    generate::provider::ProviderSpec,
    kernel::{CandidateId, Gate, Headroom, Move, Profiling, Target, Verification},
    report::{
        BestInfo, BudgetInfo, CandidateRow, CandidateVerdict, CaseRow, DeviceInfo, GenerationInfo,
        OutcomeKind, ProfileEntry, ProfileInfo, Report, ReviewRow, RunInfo, RungRow, SCHEMA,
        Speedups, TargetInfo, TrajectoryPoint,
    },
    search::{Outcome, Record, Standing, State},
    store::RunRecord,
};

/// The report of a run in the state it is in.
pub(super) fn report(run: &RunRecord, plan: &RunPlan, state: &State) -> Report {
    let (outcome, reason) = outcome(state);
    let winner = match state.outcome() {
        Some(Outcome::Improved { best }) => state.record(best),
        _ => None,
    };
    let verification = winner.and_then(|record| verification_of(state, &record.candidate().id));
    let speedup = verification.map_or_else(Speedups::default, |verified| Speedups {
        vs_baseline: verified.vs_baseline,
        vs_eager: verified.vs_eager,
        vs_compile: verified.vs_compile,
    });
    Report {
        schema: SCHEMA,
        run: RunInfo {
            id: run.id.clone(),
            started: timestamp(run.created),
            kernelbrain: env!("CARGO_PKG_VERSION").to_owned(),
            command: plan.command.clone(),
            seed: plan.seed,
        },
        target: target(run, plan),
        device: DeviceInfo { ceilings: plan.ceilings.clone(), ..device(run) },
        outcome,
        reason,
        speedup,
        rungs: rungs(state),
        cases: cases(plan, state, verification),
        candidates: candidates(state),
        trajectory: trajectory(state),
        budget: budget(state),
        generation: plan.model.as_deref().map(|model| generation(model, state)),
        audit: plan.audit.clone(),
        profile: profile(state, winner),
        warnings: warnings(plan, state, verification),
        best: winner.map(|record| BestInfo {
            id: record.candidate().id.to_string(),
            moves: lineage(state, record),
            file: crate::report::BEST.to_owned(),
            patch: crate::report::PATCH.to_owned(),
            build: record.measured().map(|top| top.build.clone()).unwrap_or_default(),
            observed: record.measured().and_then(|top| top.observed.clone()),
        }),
        reviews: reviews(state),
        baseline_source: run.target.text.to_string(),
        best_source: winner.map(|record| record.candidate().source.to_string()),
    }
}

/// RFC 3339 in UTC, to the second.
pub(super) fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

fn outcome(state: &State) -> (OutcomeKind, String) {
    match state.outcome() {
        Some(Outcome::Improved { best }) => {
            let speedup = verification_of(state, best).and_then(|verified| verified.vs_baseline);
            let text = match speedup {
                Some(ratio) => format!(
                    "candidate {} runs at {:.3}x the baseline's speed and passed every gate",
                    best.short(),
                    ratio.median
                ),
                None => format!("candidate {} passed every gate", best.short()),
            };
            let text = match state.stopped() {
                Some(stopped) => format!("{text}; {stopped}"),
                None => text,
            };
            (OutcomeKind::Improved, text)
        }
        Some(Outcome::NoImprovement { reason }) => (OutcomeKind::NoImprovement, reason.clone()),
        Some(Outcome::Parked { reason }) => (OutcomeKind::Parked, reason.clone()),
        Some(Outcome::Failed { reason }) => (OutcomeKind::Failed, reason.clone()),
        None => (
            OutcomeKind::Parked,
            "the run was stopped before its end; the same command goes on with it".to_owned(),
        ),
    }
}

/// The moves from the baseline to a candidate.
fn lineage(state: &State, record: &Record) -> Vec<String> {
    let parents = std::iter::successors(Some(record), |record| {
        state.record(record.candidate().parent.as_ref()?)
    });
    let mut moves: Vec<String> =
        parents.map(|record| record.candidate().origin.to_string()).collect();
    moves.reverse();
    moves
}

fn verification_of<'s>(state: &'s State, candidate: &CandidateId) -> Option<&'s Verification> {
    state.verifications().iter().rev().find(|verified| verified.candidate == *candidate)
}

/// In the order of the verifications; of a candidate that was verified again, the last.
fn reviews(state: &State) -> Vec<ReviewRow> {
    let verifications = state.verifications();
    let superseded = |at: usize, verified: &Verification| {
        verifications[at + 1..].iter().any(|later| later.candidate == verified.candidate)
    };
    let rows = verifications.iter().enumerate().filter_map(|(at, verified)| {
        let review = verified.review.clone().filter(|_| !superseded(at, verified))?;
        Some(ReviewRow { candidate: verified.candidate.to_string(), review })
    });
    rows.collect()
}

fn target(run: &RunRecord, plan: &RunPlan) -> TargetInfo {
    let target = &run.target;
    let function = target
        .entry
        .function
        .clone()
        .or_else(|| plan.contract.entries.first().cloned())
        .unwrap_or_default();
    let entry = match &target.entry.module {
        Some(module) => format!("{module}:{function}"),
        None => function,
    };
    let kind = serde_json::to_value(plan.contract.kind);
    let kind = kind.ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
    TargetInfo {
        name: target.name.clone(),
        source: shown_source(&run.target, &plan.folder).display().to_string(),
        contract: target.contract.display().to_string(),
        kind,
        entry,
    }
}

/// The source's path as a patch should name it: from the repository's root for an in-tree target,
/// else from the folder in which the run was begun if it lies below that.
fn shown_source(target: &Target, begun_in: &Path) -> PathBuf {
    let root = target.package.as_ref().map_or(begun_in, |package| &package.repository);
    target.source.strip_prefix(root).unwrap_or(&target.source).to_owned()
}

fn device(run: &RunRecord) -> DeviceInfo {
    run.environment.as_ref().map_or_else(
        || DeviceInfo {
            kind: "unknown".into(),
            name: "unknown".into(),
            driver: None,
            torch: "unknown".into(),
            triton: "unknown".into(),
            ceilings: None,
        },
        |environment| DeviceInfo {
            kind: environment.kind.clone(),
            name: environment.device.clone(),
            driver: environment.driver.clone(),
            torch: environment.torch.clone(),
            triton: environment.triton.clone(),
            ceilings: None,
        },
    )
}

fn rungs(state: &State) -> Vec<RungRow> {
    state
        .tallies()
        .enumerate()
        .map(|(index, tally)| RungRow {
            index,
            entered: tally.entered,
            rejected: tally.rejected,
            measured: tally.measured,
            promoted: tally.promoted,
            gpu_seconds: tally.gpu_seconds,
            wall_seconds: tally.wall_seconds,
        })
        .collect()
}

/// Without a winner, the verification that came last still tells what eager PyTorch and
/// `torch.compile` take.
fn cases(plan: &RunPlan, state: &State, verified: Option<&Verification>) -> Vec<CaseRow> {
    let compared: HashMap<&str, _> = verified
        .or_else(|| state.verifications().last())
        .into_iter()
        .flat_map(|verified| &verified.comparisons)
        .map(|comparison| (comparison.case.as_str(), comparison))
        .collect();
    let row = |(index, case): (usize, &crate::kernel::Case)| {
        let comparison = compared.get(case.name.as_str());
        let claimed = comparison.filter(|_| verified.is_some());
        let baseline = state.baseline_evaluation().and_then(|e| e.latency_us(&case.name));
        let baseline_us = comparison.map(|c| c.baseline_us).or(baseline);
        let best_us = claimed.map(|c| c.candidate_us);
        let eager_us = comparison.and_then(|c| c.eager_us);
        let compile_us = comparison.and_then(|c| c.compile_us);
        let bound = plan.bounds.get(index).copied().flatten();
        CaseRow {
            name: case.name.clone(),
            params: case.params.clone(),
            baseline_us,
            best_us,
            eager_us,
            compile_us,
            bound,
            headroom: bound.map(|bound| Headroom {
                baseline: bound.headroom(baseline_us),
                best: bound.headroom(best_us),
                eager: bound.headroom(eager_us),
                compile: bound.headroom(compile_us),
            }),
            speedup: claimed.map(|c| c.vs_baseline.median),
            low: claimed.map(|c| c.vs_baseline.low),
            high: claimed.map(|c| c.vs_baseline.high),
            rounds: claimed.map(|c| c.vs_baseline.rounds),
            noise: claimed.map(|c| c.noise),
        }
    };
    plan.contract.cases.iter().enumerate().map(row).collect()
}

fn candidates(state: &State) -> Vec<CandidateRow> {
    let baseline = state.baseline();
    let measured = state.baseline_evaluation();
    let first = CandidateRow {
        id: baseline.id.to_string(),
        parent: None,
        origin: baseline.origin.to_string(),
        verdict: CandidateVerdict::Baseline,
        gate: measured.and_then(|e| e.rejection()).map(|rejection| rejection.gate),
        reason: measured.and_then(|e| e.rejection()).map(ToString::to_string),
        rung: measured.map(|evaluation| evaluation.rung),
        latency_us: measured
            .and_then(|evaluation| crate::search::latency_us(evaluation, &state.plan().cases)),
        score: None,
        same_program_as: None,
    };
    let row = |record: &Record| CandidateRow {
        id: record.candidate().id.to_string(),
        parent: record.candidate().parent.as_ref().map(ToString::to_string),
        origin: record.candidate().origin.to_string(),
        verdict: verdict(record.standing()),
        gate: record.gate(),
        reason: record.reason(),
        rung: record.rung(),
        latency_us: state.latency_us(record),
        score: state.score(record),
        same_program_as: record
            .measured()
            .and_then(|evaluation| evaluation.same_program_as.as_ref())
            .map(ToString::to_string),
    };
    std::iter::once(first).chain(state.records().iter().map(row)).collect()
}

fn verdict(standing: &Standing) -> CandidateVerdict {
    match standing {
        Standing::Queued { rung: 0 } | Standing::Evaluating { rung: 0 } => CandidateVerdict::Queued,
        // Accepted lower down; the budget did not reach it on this rung.
        Standing::Queued { .. }
        | Standing::Evaluating { .. }
        | Standing::Waiting { .. }
        | Standing::Pruned { .. } => CandidateVerdict::Pruned,
        Standing::Rejected { .. } | Standing::Refuted { .. } => CandidateVerdict::Rejected,
        Standing::Survivor => CandidateVerdict::Survivor,
        Standing::Winner => CandidateVerdict::Winner,
    }
}

fn trajectory(state: &State) -> Vec<TrajectoryPoint> {
    let point = |step: &crate::search::Trajectory| TrajectoryPoint {
        wall_seconds: step.wall_seconds,
        speedup: step.speedup,
        candidate: step.candidate.to_string(),
    };
    state.trajectory().iter().map(point).collect()
}

/// Reasons that a report tells why answers gave no candidate, the last.
const UNUSED: usize = 6;

fn generation(model: &str, state: &State) -> GenerationInfo {
    let formal = [Gate::Policy, Gate::Build, Gate::Correctness];
    let is_right = |record: &&Record| {
        let seen = !record.evaluations().is_empty();
        seen && !record.gate().is_some_and(|gate| formal.contains(&gate))
    };
    // Of each rewrite how often it was sent back.
    let repairs = |record: &Record| match record.candidate().origin {
        Move::Rewrite { repairs, .. } => Some(repairs),
        _ => None,
    };
    let right: Vec<u32> = state.records().iter().filter(is_right).filter_map(repairs).collect();
    GenerationInfo {
        model: model.to_owned(),
        asked: state.rewrites_asked(),
        answered: state.rewrites_answered(),
        right_at_once: right.iter().filter(|repairs| **repairs == 0).count(),
        right: right.len(),
        repairs: state.repairs_asked(),
        tokens_estimated: ProviderSpec::parse(model).is_ok_and(|it| !it.counts_tokens()),
        unused: state.unused_rewrites().iter().rev().take(UNUSED).rev().cloned().collect(),
        awaiting: Vec::new(),
    }
}

fn budget(state: &State) -> BudgetInfo {
    let (limits, spent) = (state.plan().limits, state.settled_spend());
    BudgetInfo {
        wall_seconds_limit: limits.wall_seconds,
        wall_seconds_spent: spent.wall_seconds,
        gpu_seconds_limit: limits.gpu_seconds,
        gpu_seconds_spent: spent.gpu_seconds,
        evaluations_limit: limits.evaluations,
        evaluations_spent: spent.evaluations,
        tokens_limit: limits.tokens,
        tokens_spent: spent.tokens,
        usd_limit: limits.usd,
        usd_spent: spent.usd,
        stopped: state.stopped().map(|stopped| stopped.to_string()),
    }
}

/// The baseline's profile, and the winner's: by its last evaluation that has one, else by its
/// verification.
fn profile(state: &State, winner: Option<&Record>) -> ProfileInfo {
    let baseline = state.baseline_evaluation().and_then(|evaluation| evaluation.profiling.as_ref());
    let best = winner.and_then(|record| {
        let evaluated = record.evaluations().iter().rev().filter_map(|e| e.profiling.as_ref());
        let verified = verification_of(state, &record.candidate().id);
        let verified = verified.and_then(|verification| verification.profiling.as_ref());
        let all: Vec<&Profiling> = evaluated.chain(verified).collect();
        all.iter().find(|profiling| profiling.profile().is_some()).or(all.last()).copied()
    });
    let entry = |profiling: &Profiling| {
        let profile = profiling.profile()?.clone();
        Some(ProfileEntry { diagnosis: diagnosis(profiling)?, profile })
    };
    let note = [("", baseline), ("of the winner ", best)]
        .into_iter()
        .find_map(|(whose, it)| Some(format!("no profile {whose}was made: {}", it?.reason()?)));
    ProfileInfo { baseline: baseline.and_then(entry), best: best.and_then(entry), note }
}

fn warnings(plan: &RunPlan, state: &State, verified: Option<&Verification>) -> Vec<String> {
    let resets = state.resets().iter().map(|reset| {
        format!("measured anew, because what timings hold for changed during the run: {reset}")
    });
    let disturbed: u32 = state
        .records()
        .iter()
        .filter_map(Record::measured)
        .map(|evaluation| evaluation.disturbed)
        .sum();
    let disturbed = (disturbed > 0).then(|| {
        format!(
            "{disturbed} rounds of the upper rungs were thrown away: something disturbed the GPU"
        )
    });
    plan.contract
        .notes
        .iter()
        .chain(&plan.warnings)
        .chain(state.warnings())
        .cloned()
        .chain(resets)
        .chain(disturbed)
        .chain(verified.into_iter().flat_map(|verified| verified.notes.clone()))
        .collect()
}
