//! The upper rungs on a real plane: a candidate beside the baseline in the same rounds, and what
//! cannot pass for a timed call.

use kernelbrain::{
    engine::Selection,
    evaluate::{Fidelity, Plane, Rounds, Timing},
    kernel::{Candidate, Evaluation, Gate, Move},
};

use crate::config;

const CONTRACT: &str = "
import torch

CASES = [{\"n\": 200}, {\"n\": 333}]


def make_inputs(device, seed, n):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(n, generator=generator, device=device),)


def reference(x):
    return x * 3.0
";

/// In tiles of four elements, which the interpreter takes one after another.
const BASELINE: &str = "
import torch
import triton
import triton.language as tl


@triton.jit
def _scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * 3.0, mask=offs < n)


def kernel_function(x):
    y = torch.empty_like(x)
    _scale[(triton.cdiv(x.numel(), 4),)](x, y, x.numel(), BLOCK=4)
    return y
";

struct Desk {
    _folder: tempfile::TempDir,
    plane: Plane,
    baseline: Candidate,
}

impl Desk {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (source, contract) = (folder.path().join("kernel.py"), folder.path().join("test.py"));
        std::fs::write(&source, BASELINE).unwrap();
        std::fs::write(&contract, CONTRACT).unwrap();
        let target = Selection::Files { source, contract }.resolve().unwrap();
        let plane = Plane::start(config(target)).await.unwrap();
        Self { _folder: folder, plane, baseline: Candidate::baseline(BASELINE) }
    }

    /// An evaluation of a rung above the lowest, with the kernel's text changed so.
    async fn evaluate(&self, before: &str, after: &str) -> Evaluation {
        let text = BASELINE.replace(before, after);
        assert_ne!(text, BASELINE);
        let origin = Move::Recipe { text: "given".into() };
        let candidate = Candidate::child(&self.baseline.id, origin, text);
        self.plane.evaluate(&candidate, 1, &fidelity()).await.unwrap()
    }
}

fn fidelity() -> Fidelity {
    Fidelity {
        cases: vec![0, 1],
        seeds: vec![11],
        timing: Timing { warmup: 1, repeat: 1, enough_us: 60_000_000, flush_bytes: 0 },
        quiet: true,
        hopeless_at: None,
        rounds: Some(Rounds {
            most: 6,
            least: 2,
            decisive: 4,
            seconds: 60.0,
            gamma: 1.03,
            paired: true,
        }),
        observe: false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upper_rung_times_the_baseline_beside_the_candidate() {
    let desk = Desk::new().await;
    let faster = desk
        .evaluate(", 4),)](x, y, x.numel(), BLOCK=4)", ", 64),)](x, y, x.numel(), BLOCK=64)")
        .await;
    assert!(faster.accepted(), "{faster:?}");
    for case in &faster.cases {
        assert!(case.baseline_us.unwrap() > 0.0, "{case:?}");
        assert!(case.error.unwrap() <= 1.0);
    }
    // The same baseline stands beside the next one, which is no faster than it is.
    let same = desk.evaluate("x * 3.0,", "x * (4.0 - 1.0),").await;
    assert!(same.accepted(), "{same:?}");
    let against: Vec<f64> = same.cases.iter().map(|case| case.baseline_us.unwrap()).collect();
    assert_eq!(against.len(), 2);
    // The baseline itself has nobody to stand beside.
    let alone = desk.plane.evaluate(&desk.baseline, 2, &fidelity()).await.unwrap();
    assert!(alone.accepted() && alone.cases.iter().all(|case| case.baseline_us.is_none()));
    desk.plane.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_right_only_for_inputs_that_were_seen_is_none() {
    let desk = Desk::new().await;
    // Right on its first call of a size, and that one's answer for ever after.
    let remembering = "    if x.numel() in _seen:\n        return _seen[x.numel()].clone()\n    y = \
                       torch.empty_like(x)\n    _seen[x.numel()] = y";
    let text = BASELINE
        .replace("    y = torch.empty_like(x)", remembering)
        .replace("def kernel_function", "_seen = {}\n\n\ndef kernel_function");
    let origin = Move::Recipe { text: "given".into() };
    let candidate = Candidate::child(&desk.baseline.id, origin, text);
    let judged = desk.plane.evaluate(&candidate, 1, &fidelity()).await.unwrap();
    let rejection = judged.rejection().unwrap();
    assert_eq!(rejection.gate, Gate::Integrity, "{rejection}");
    assert!(rejection.reason.starts_with("timed call "), "{rejection}");
    desk.plane.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_lowest_rung_a_case_that_is_far_slower_ends_the_evaluation() {
    let desk = Desk::new().await;
    let look = Fidelity { rounds: None, quiet: false, hopeless_at: Some(2.0), ..fidelity() };
    // Four times as many programs, which the interpreter takes one after another.
    let slower = BASELINE.replace("_scale[(triton.cdiv(x.numel(), 4),)]", "_scale[(x.numel(),)]");
    let slower = slower.replace("BLOCK=4)", "BLOCK=1)");
    let origin = Move::Recipe { text: "given".into() };
    let candidate = Candidate::child(&desk.baseline.id, origin, slower);
    // As long as nothing is known of the baseline, everything is measured.
    let whole = desk.plane.evaluate(&candidate, 0, &look).await.unwrap();
    assert!(whole.accepted() && whole.cases.len() == 2, "{whole:?}");
    assert_eq!(whole.ended_at, None);
    assert!(desk.plane.evaluate(&desk.baseline, 1, &fidelity()).await.unwrap().accepted());
    // Another seed, since one program is not measured twice.
    let again = Fidelity { seeds: vec![12], ..look };
    let ended = desk.plane.evaluate(&candidate, 0, &again).await.unwrap();
    assert!(ended.accepted(), "slow is no fault: {ended:?}");
    assert_eq!((ended.cases.len(), ended.ended_at.as_deref()), (1, Some("n=200")), "{ended:?}");
    desk.plane.close().await;
}
