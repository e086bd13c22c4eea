//! Results faster than light, judged by a whole evaluation plane. A GPU's limits are put in the place of
//! the interpreter's: what counts is who is blamed, not how fast anything is.

use kernelbrain::{
    evaluate::{Fidelity, Plane, PlaneConfig, Timing},
    kernel::{Candidate, Ceilings, Entry, Evaluation, Gate, Move, Target},
};

use crate::config;

/// `{launches}` launches one after the other, of which one would do.
const KERNEL: &str = "
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at))


def kernel_function(x{more}):
    out = torch.empty_like(x)
    for _ in range({launches}):
        double[(1,)](x, out, BLOCK=256)
    return out
";

/// A reference that takes its time, as the baseline does.
const CONTRACT: &str = "
import torch

CASES = SMALL_CASES = [{\"name\": \"only\", \"n\": 256}]


def make_inputs(device, seed, n):
    g = torch.Generator(device=device).manual_seed(seed)
    return INPUTS


def reference(x, *unneeded):
    y = x
    for _ in range(15_000):
        y = y + 0.0
    for tensor in unneeded:
        y = y + 0 * tensor.clamp(-1, 1).sum()
    return 2 * y
";

const ONE_INPUT: &str = "(torch.randn(n, generator=g, device=device),)";
const AND_ONE_FOR_NOTHING: &str =
    "(torch.randn(n, generator=g, device=device), torch.randn(4096, generator=g, device=device))";

/// A plane over a kernel that launches a hundred times, and a candidate that launches once.
struct Bench {
    plane: Plane,
    baseline: Candidate,
    candidate: Candidate,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn new(inputs: &str) -> Self {
        let more = if inputs == ONE_INPUT { "" } else { ", unneeded" };
        let source = |launches: usize| {
            KERNEL.replace("{more}", more).replace("{launches}", &launches.to_string())
        };
        let folder = tempfile::tempdir().unwrap();
        let contract = folder.path().join("test.py");
        std::fs::write(&contract, CONTRACT.replace("INPUTS", inputs)).unwrap();
        let path = folder.path().join("kernel.py");
        std::fs::write(&path, source(100)).unwrap();
        let target = Target {
            name: "double".into(),
            source: path,
            text: source(100).into(),
            entry: Entry { module: None, function: None },
            contract,
            editable: None,
            package: None,
            rules: Vec::new(),
            archs: Vec::new(),
            tests: None,
        };
        let baseline = Candidate::baseline(target.text.clone());
        let origin = Move::Recipe { text: "launch once".into() };
        let candidate = Candidate::child(&baseline.id, origin, source(1));
        let config = PlaneConfig { best_effort: true, children: 1, ..config(target) };
        let plane = Plane::start(config).await.unwrap();
        Self { plane, baseline, candidate, _folder: folder }
    }

    /// Below this many microseconds a result shall be impossible.
    fn limit_to(&self, us: f64) {
        let bytes = self.plane.work(0).unwrap().bytes_in as f64;
        let theoretical_gbps = Some(bytes / us * 1e-3);
        self.plane.set_ceilings(Ceilings { theoretical_gbps, ..Ceilings::default() });
    }

    async fn evaluate(&self, candidate: &Candidate) -> Evaluation {
        let fidelity = Fidelity {
            cases: vec![0],
            seeds: vec![7],
            timing: Timing { warmup: 1, repeat: 3, enough_us: 10_000_000, flush_bytes: 0 },
            quiet: true,
            hopeless_at: None,
            rounds: None,
            observe: false,
        };
        self.plane.evaluate(candidate, 0, &fidelity).await.unwrap()
    }
}

fn latency(evaluation: &Evaluation) -> f64 {
    evaluation.latency_us("only").unwrap_or_else(|| panic!("not accepted: {evaluation:?}"))
}

/// One after the other, because the second needs the times of the first.
#[tokio::test]
async fn whoever_is_wrong_is_blamed() {
    // A limit that nothing keeps, as from a contract whose `bytes` are wrong: the contract is.
    let bench = Bench::new(ONE_INPUT).await;
    bench.plane.lay_out(1).await.unwrap();
    bench.limit_to(1e12);
    let (slow, fast) =
        (bench.evaluate(&bench.baseline).await, bench.evaluate(&bench.candidate).await);
    let warnings = bench.plane.take_warnings();
    assert!(slow.accepted() && fast.accepted(), "{slow:?} {fast:?}");
    assert_eq!(warnings.len(), 1, "once: {warnings:?}");
    assert!(warnings[0].contains("the baseline takes"), "{warnings:?}");
    assert!(warnings[0].contains("`bytes(**case)`"), "{warnings:?}");
    bench.plane.close().await;

    // A limit that baseline and reference keep and the candidate does not: the candidate is.
    let between = (latency(&slow) * latency(&fast)).sqrt();
    let bench = Bench::new(ONE_INPUT).await;
    bench.plane.lay_out(1).await.unwrap();
    bench.limit_to(between);
    let slow = bench.evaluate(&bench.baseline).await;
    assert!(slow.accepted(), "{slow:?}");
    let fast = bench.evaluate(&bench.candidate).await;
    let rejection = fast.rejection().unwrap_or_else(|| panic!("accepted: {fast:?}"));
    assert_eq!(rejection.gate, Gate::Integrity);
    for words in ["faster than light", "at least", "the baseline takes", "eager PyTorch takes"] {
        assert!(rejection.reason.contains(words), "{words}: {}", rejection.reason);
    }
    assert_eq!(bench.plane.take_warnings(), [""; 0]);
    bench.plane.close().await;

    // The same limit, most of it for an input that the answer does not depend on: nobody's
    // kernel is rejected for not reading it.
    let bench = Bench::new(AND_ONE_FOR_NOTHING).await;
    bench.plane.lay_out(1).await.unwrap();
    bench.limit_to(between);
    let slow = bench.evaluate(&bench.baseline).await;
    let fast = bench.evaluate(&bench.candidate).await;
    assert!(slow.accepted() && fast.accepted(), "{slow:?} {fast:?}");
    let warnings = bench.plane.take_warnings();
    assert!(warnings[0].contains("found to depend on"), "{warnings:?}");
    bench.plane.close().await;
}

#[tokio::test]
async fn without_ceilings_nothing_is_bounded() {
    let bench = Bench::new(ONE_INPUT).await;
    bench.plane.lay_out(1).await.unwrap();
    assert_eq!(bench.plane.work(0).unwrap().bytes_in, 1024);
    assert_eq!(bench.plane.bound(0), None);
    assert!(bench.evaluate(&bench.candidate).await.accepted());
    bench.plane.close().await;
}
