//! Reports as real runs give them.

use serde_json::{Map, Value, json};

use crate::{
    kernel::{
        Bottleneck, BottleneckClass, Bound, CeilingMethod, Ceilings, Diagnosis, Figure, Finding,
        Gate, Headroom, KernelProfile, Launch, Limiter, Occupancy, OccupancyLimit, Precision,
        Profile, Ratio, Review, ReviewLabel, Throughput, Traffic,
    },
    report::*,
};

pub(super) const BEFORE: &str = r#"import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(out_ptr, in_ptr, n_cols, BLOCK: tl.constexpr):
    """One row a program."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(in_ptr + row * n_cols + cols, mask=mask, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))  # stable
    tl.store(out_ptr + row * n_cols + cols, x / tl.sum(x, axis=0), mask=mask)


def kernel_function(x):
    out = torch.empty_like(x)
    rows, n_cols = x.shape
    softmax_kernel[(rows,)](out, x, n_cols, BLOCK=triton.next_power_of_2(n_cols))
    return out
"#;

pub(super) fn after() -> String {
    BEFORE
        .replace(
            "other=-float(\"inf\"))",
            "other=-float(\"inf\"), eviction_policy=\"evict_first\")",
        )
        .replace("next_power_of_2(n_cols))", "next_power_of_2(n_cols), num_warps=16)")
}

/// A kernel made faster on a GPU, under a contract with a hole.
pub(super) fn improved() -> Report {
    let ratio = |median, low, high| Some(Ratio { median, low, high, rounds: 25 });
    let case = |name: &str, m: u64, n: u64, times: [f64; 4], (low, high)| CaseRow {
        name: name.into(),
        params: params(json!({"M": m, "N": n, "dtype": "float32"})),
        baseline_us: Some(times[0]),
        best_us: Some(times[1]),
        eager_us: Some(times[2]),
        compile_us: Some(times[3]),
        speedup: Some(times[0] / times[1]),
        low: Some(low),
        high: Some(high),
        bound: None,
        headroom: None,
        rounds: Some(25),
        noise: Some(0.002),
    };
    let mut report = base("softmax", "cuda", "NVIDIA H200");
    report.device.driver = Some("570.86.15".into());
    report.outcome = OutcomeKind::Improved;
    report.reason = "a candidate passed every gate".into();
    report.speedup = Speedups {
        vs_baseline: ratio(1.716, 1.684, 1.752),
        vs_eager: ratio(2.31, 2.28, 2.35),
        vs_compile: ratio(1.38, 1.35, 1.41),
    };
    report.cases = vec![
        case("kernelbench", 4096, 393_216, [3092.0, 1684.0, 3190.0, 3220.0], (1.829, 1.843)),
        case("medium", 16_384, 4096, [58.7, 34.9, 132.0, 84.8], (1.64, 1.72)),
        case("ragged", 1023, 781, [9.31, 9.18, 18.2, 11.4], (0.994, 1.031)),
    ];
    let bounds = [(1516.0, Limiter::Traffic), (31.6, Limiter::Traffic), (2.2, Limiter::Launch)];
    for (case, (us, limiter)) in report.cases.iter_mut().zip(bounds) {
        let bound = Bound { us, limiter, flops: 4.8e9, bytes: 6_442_450_944 };
        case.bound = Some(bound);
        case.headroom = Some(Headroom {
            baseline: bound.headroom(case.baseline_us),
            best: bound.headroom(case.best_us),
            eager: bound.headroom(case.eager_us),
            compile: bound.headroom(case.compile_us),
        });
    }
    report.device.ceilings = Some(Ceilings {
        method: CeilingMethod::Full,
        theoretical_gbps: Some(4917.0),
        read_gbps: Some(4512.0),
        copy_gbps: Some(4251.0),
        l2_bytes: Some(62_914_560),
        l2_gbps: Some(5630.0),
        launch_floor_us: Some(2.2),
        products: [(Precision::Bf16, 742.0), (Precision::Fp32, 51.0)].into(),
        skipped: [("int8".to_owned(), "RuntimeError: not supported".to_owned())].into(),
    });
    report.rungs = vec![
        rung(0, [148, 21, 127, 42], 14.2),
        rung(1, [42, 3, 39, 13], 21.7),
        rung(2, [13, 1, 12, 12], 33.05),
    ];
    let verdict = CandidateVerdict::Pruned;
    report.candidates = vec![
        row("5d1be7c09a3f2210", "baseline", CandidateVerdict::Baseline, Some((2, 178.2))),
        row(
            "a41c93bb0e77d502",
            "evict first x; warps 16",
            CandidateVerdict::Winner,
            Some((2, 103.8)),
        ),
        row(
            "0b9e44d1c6a8f013",
            "evict first x; warps 8",
            CandidateVerdict::Survivor,
            Some((2, 104.9)),
        ),
        row("77fe20aa91c3be54", "warps 16", verdict, Some((1, 120.4))),
        row("c3d2e1f0a9b8c7d6", "stages 3", verdict, Some((0, 177.9))),
        rejected(
            "e1e2e3e4e5e6e7e8",
            "tile BLOCK=512",
            Gate::Correctness,
            "differs from the reference on 3 of 4 probes: largest error 812 times the tolerance (case kernelbench)",
        ),
        rejected(
            "f1f2f3f4f5f6f7f8",
            "tile BLOCK=1048576",
            Gate::Build,
            "needs 532480 bytes of shared memory, the device has 232448",
        ),
        rejected(
            "f1f2f3f4f5f6f7f9",
            "tile BLOCK=2097152",
            Gate::Build,
            "needs 1064960 bytes of shared memory, the device has 232448",
        ),
        row("9999888877776666", "warps 2", CandidateVerdict::Queued, None),
    ];
    report.trajectory = [
        (6.1, 1.0, "5d1be7c09a3f2210"),
        (9.4, 1.21, "c3d2e1f0a9b8c7d6"),
        (17.0, 1.48, "77fe20aa91c3be54"),
        (38.2, 1.69, "0b9e44d1c6a8f013"),
        (61.5, 1.716, "a41c93bb0e77d502"),
    ]
    .map(|(wall_seconds, speedup, candidate)| TrajectoryPoint {
        wall_seconds,
        speedup,
        candidate: candidate.into(),
    })
    .to_vec();
    report.generation = Some(GenerationInfo {
        model: "anthropic:claude-sonnet-4-5".into(),
        asked: 24,
        answered: 22,
        right_at_once: 14,
        right: 19,
        repairs: 9,
        tokens_estimated: false,
        unused: vec!["sent back 4 times; last: Your answer is the source as it was".into()],
        awaiting: vec![],
    });
    report.budget = BudgetInfo {
        wall_seconds_limit: Some(120.0),
        wall_seconds_spent: 94.3,
        gpu_seconds_limit: None,
        gpu_seconds_spent: 71.2,
        evaluations_limit: Some(500),
        evaluations_spent: 203,
        tokens_limit: Some(500_000),
        tokens_spent: 263_412,
        usd_limit: None,
        usd_spent: 1.2834,
        stopped: Some(
            "the search stopped because 60 results in a row brought no new best (--patience 60)"
                .into(),
        ),
    };
    report.audit = AuditInfo {
        checked: 5,
        passed: vec![AuditFinding {
            mutant: "constant mean".into(),
            case: "kernelbench".into(),
            advice: "Its inputs are uniform, so every answer is close to 1/N: scale them up or compare relative errors.".into(),
        }],
    };
    report.profile = ProfileInfo {
        baseline: Some(profiled(3092.0, 1.98, 10.1e9)),
        best: Some(profiled(1684.0, 1.01, 5.2e9)),
        note: None,
    };
    report.warnings =
        vec!["the GPU's clock was not locked: 2 % of the rounds were repeated".into()];
    report.best = Some(BestInfo {
        id: "a41c93bb0e77d502".into(),
        moves: vec!["tile BLOCK=2048".into(), "warps 8".into()],
        file: "best.py".into(),
        patch: "best.patch".into(),
        build: Vec::new(),
        observed: None,
    });
    report.best_source = Some(after());
    report
}

/// The same, after a first survivor was withheld by its reviewer.
pub(super) fn reviewed() -> Report {
    let mut report = improved();
    let label = ReviewLabel::OriginalGaming;
    let reason =
        "softmax_kernel writes 1 / n_cols to every element, which uniform inputs let pass.";
    let row = &mut report.candidates[2];
    row.verdict = CandidateVerdict::Rejected;
    row.gate = Some(Gate::Integrity);
    row.reason = Some(format!("a reviewer labels it {label}: {reason}"));
    report.reviews = vec![
        review("0b9e44d1c6a8f013", label, Some("constant output"), &[reason]),
        review("a41c93bb0e77d502", ReviewLabel::NoIssue, None, &["Every row is read and summed."]),
    ];
    report
}

fn review(candidate: &str, label: ReviewLabel, kind: Option<&str>, reasons: &[&str]) -> ReviewRow {
    let review = Review {
        label,
        kind: kind.map(str::to_owned),
        reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
        model: "openai:second-opinion".into(),
        input_tokens: 4210,
        output_tokens: 180,
        usd: 0.0,
    };
    ReviewRow { candidate: candidate.into(), review }
}

/// Nothing faster was found, on the interpreter.
pub(super) fn no_improvement() -> Report {
    let mut report = base("rmsnorm", "cpu", "Triton interpreter");
    report.outcome = OutcomeKind::NoImprovement;
    report.reason = "no candidate was faster than the baseline beyond noise".into();
    report.cases = vec![CaseRow {
        name: "small".into(),
        params: params(json!({"M": 64, "N": 256})),
        baseline_us: Some(18_420.0),
        best_us: None,
        eager_us: Some(41.3),
        compile_us: None,
        speedup: None,
        low: None,
        high: None,
        bound: None,
        headroom: None,
        rounds: None,
        noise: None,
    }];
    report.rungs = vec![rung(0, [12, 2, 10, 3], 0.9), rung(1, [3, 0, 3, 1], 1.4)];
    report.candidates = vec![
        row("5d1be7c09a3f2210", "baseline", CandidateVerdict::Baseline, Some((1, 18_420.0))),
        row("77fe20aa91c3be54", "warps 16", CandidateVerdict::Pruned, Some((1, 18_390.0))),
    ];
    report.profile.note =
        Some("no profile was made: the cpu device has no hardware counters to read".into());
    report.budget.wall_seconds_limit = Some(60.0);
    report.budget.wall_seconds_spent = 44.0;
    report.budget.evaluations_spent = 15;
    report.warnings =
        vec!["bfloat16 was run as float32: the interpreter computes bfloat16 wrongly".into()];
    report
}

/// The baseline fails its own contract.
pub(super) fn failed() -> Report {
    let mut report = base("matvec", "cuda", "NVIDIA H200");
    report.outcome = OutcomeKind::Failed;
    report.reason = "the baseline fails its own contract on case tall: NaN in 17 of 2048 outputs (kernel.py line 41)".into();
    report
}

/// Everything that comes from outside, written by an enemy.
pub(super) fn hostile() -> Report {
    let attack = HOSTILE;
    let mut report = improved();
    report.target.name = attack.into();
    report.target.source = format!("../{attack}");
    report.run.command = attack.into();
    report.reason = attack.into();
    report.device.name = attack.into();
    report.warnings = vec![attack.into()];
    for case in &mut report.cases {
        case.name = attack.into();
        case.params = params(json!({ attack: [attack, {"inner": attack}] }));
    }
    for row in &mut report.candidates {
        row.origin = attack.into();
        row.reason = row.reason.as_ref().map(|_| attack.into());
    }
    for entry in report.profile.baseline.iter_mut().chain(&mut report.profile.best) {
        entry.profile.case = attack.into();
        entry.profile.kernels[0].name = attack.into();
        entry.diagnosis.findings = vec![attack.into()];
        entry.diagnosis.suggestions = vec![attack.into()];
        entry.diagnosis.details[0].kernel = Some(attack.into());
    }
    report.profile.note = Some(attack.into());
    report.reviews = vec![
        review(attack, ReviewLabel::OriginalGaming, Some(attack), &[attack, attack]),
        review(attack, ReviewLabel::MinorIssue, Some(attack), &[]),
    ];
    report.reviews[0].review.model = attack.into();
    report.audit.passed[0].mutant = attack.into();
    report.audit.passed[0].advice = attack.into();
    report.best_source =
        Some(format!("{BEFORE}# {attack}\n````\n</td></table><script>alert(2)</script>"));
    report
}

pub(super) const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=y> ]]> --> | a `b` ```` \
    **bold** @torvalds https://evil.example www.evil.example \u{1b}[31mred\u{1b}[0m \
    \u{1b}]0;title\u{7}bell \u{202e}desrever\u{2066} nul\0 \u{9b}31m\n\n# heading\r\n- item";

fn base(name: &str, kind: &str, device: &str) -> Report {
    Report {
        schema: SCHEMA,
        run: RunInfo {
            id: format!("20261129-134501-{name}-3f2a"),
            started: "2026-11-29T13:45:01Z".into(),
            kernelbrain: "0.1.0".into(),
            command: format!(
                "kernelbrain optimize {name}.py --test test.py --device {kind} --seed 7"
            ),
            seed: 7,
        },
        target: TargetInfo {
            name: name.into(),
            source: format!("kernels/{name}.py"),
            contract: "test.py".into(),
            kind: "native".into(),
            entry: "kernel_function".into(),
        },
        device: DeviceInfo {
            kind: kind.into(),
            name: device.into(),
            driver: None,
            torch: "2.11.0".into(),
            triton: "3.6.0".into(),
            ceilings: None,
        },
        outcome: OutcomeKind::Failed,
        reason: String::new(),
        speedup: Speedups::default(),
        rungs: vec![],
        cases: vec![],
        candidates: vec![],
        trajectory: vec![],
        budget: BudgetInfo::default(),
        generation: None,
        audit: AuditInfo::default(),
        profile: ProfileInfo::default(),
        warnings: vec![],
        best: None,
        reviews: vec![],
        baseline_source: BEFORE.into(),
        best_source: None,
    }
}

/// A kernel that takes `us`, and its diagnosis.
fn profiled(us: f64, amplification: f64, dram_bytes: f64) -> ProfileEntry {
    let kernel = KernelProfile {
        name: "softmax_kernel".into(),
        duration_us: us,
        launch: Launch {
            programs: Some(4096.0),
            threads_per_program: Some(512.0),
            registers_per_thread: Some(40.0),
            shared_bytes: Some(1024.0 + 64.0),
            waves: Some(7.8),
            multiprocessors: Some(132.0),
        },
        throughput: Throughput {
            sm: Some(21.0),
            memory: Some(83.4),
            dram: Some(83.4),
            l2: Some(40.0),
            l1: Some(30.0),
        },
        traffic: Traffic {
            dram_read_bytes: Some(0.66 * dram_bytes),
            dram_write_bytes: Some(0.34 * dram_bytes),
            l1_hit: Some(0.3),
            l2_hit: Some(41.0),
            load_bytes_per_sector: Some(32.0),
            local_load_sectors: Some(0.0),
            local_store_sectors: Some(0.0),
            ..Traffic::default()
        },
        occupancy: Occupancy {
            achieved: Some(71.2),
            theoretical: Some(75.0),
            limit: Some(OccupancyLimit::Registers),
            programs: Some(3.0),
            programs_without_limit: Some(4.0),
        },
        stalls: [("long_scoreboard".to_owned(), 71.0), ("selected".to_owned(), 3.0)].into(),
        ..KernelProfile::default()
    };
    let wasteful = amplification > 1.4;
    let (bottleneck, class, sentence, suggestion) = if wasteful {
        (
            Bottleneck::RedundantTraffic,
            BottleneckClass::Memory,
            "redundant traffic: 10.100 GB through DRAM where 5.100 GB would do, 2.0 times the \
             least, in 1 kernel",
            "task memory-traffic",
        )
    } else {
        (Bottleneck::MemoryPeak, BottleneckClass::NearLimit, "DRAM is at 83 % of its peak", "evict")
    };
    ProfileEntry {
        diagnosis: Diagnosis {
            class,
            findings: vec![sentence.into()],
            suggestions: vec![suggestion.into()],
            details: vec![Finding {
                bottleneck,
                kernel: None,
                severity: if wasteful { 0.5 } else { 0.1 },
                figures: vec![Figure {
                    name: "dram_bytes".into(),
                    value: dram_bytes,
                    unit: "B".into(),
                }],
            }],
            amplification: Some(amplification),
        },
        profile: Profile {
            case: "kernelbench".into(),
            kernels: vec![kernel],
            least_bytes: Some(5_100_000_000),
            incomplete: false,
        },
    }
}

fn params(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn rung(index: usize, counts: [usize; 4], gpu_seconds: f64) -> RungRow {
    let [entered, rejected, measured, promoted] = counts;
    let wall_seconds = gpu_seconds * 1.5;
    RungRow { index, entered, rejected, measured, promoted, gpu_seconds, wall_seconds }
}

fn row(
    id: &str,
    origin: &str,
    verdict: CandidateVerdict,
    at: Option<(usize, f64)>,
) -> CandidateRow {
    CandidateRow {
        id: id.into(),
        parent: (verdict != CandidateVerdict::Baseline).then(|| "5d1be7c09a3f2210".into()),
        origin: origin.into(),
        verdict,
        gate: None,
        reason: None,
        rung: at.map(|(rung, _)| rung),
        latency_us: at.map(|(_, latency)| latency),
        score: at.map(|(_, latency)| 1e6 / latency),
        same_program_as: None,
    }
}

fn rejected(id: &str, origin: &str, gate: Gate, reason: &str) -> CandidateRow {
    CandidateRow {
        gate: Some(gate),
        reason: Some(reason.into()),
        rung: Some(0),
        ..row(id, origin, CandidateVerdict::Rejected, None)
    }
}
