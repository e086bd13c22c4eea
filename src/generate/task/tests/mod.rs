//! Expert tasks: their files, when they apply, and which is chosen.

mod choosing;
mod conditions;
mod files;
mod fingerprints;

use serde_json::json;

use super::*;
use crate::kernel::syntax::Source;
use crate::kernel::{Bottleneck, BottleneckClass, Case, Diagnosis, Finding};

pub(super) fn case(params: serde_json::Value) -> Case {
    let serde_json::Value::Object(params) = params else { panic!("an object") };
    Case { name: "case".to_owned(), params, weight: 1.0 }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(json!({"rows": 64, "cols": 65536, "dtype": "bfloat16"})),
        case(json!({"rows": 4096, "cols": 1024, "dtype": "float32"})),
    ]
}

pub(super) fn situation<'a>(source: &str, cases: &'a [Case]) -> Situation<'a> {
    Situation {
        facts: Facts::of(&Source::parse(source).unwrap()),
        cases,
        gradients: false,
        case_bytes: &[],
        diagnosis: None,
        headroom: None,
        arch: Some("sm_90".parse().unwrap()),
    }
}

pub(super) fn diagnosis(class: BottleneckClass, found: &[(Bottleneck, f64)]) -> Diagnosis {
    let finding = |(bottleneck, severity): &(Bottleneck, f64)| Finding {
        bottleneck: *bottleneck,
        kernel: None,
        severity: *severity,
        figures: Vec::new(),
    };
    Diagnosis {
        class,
        findings: Vec::new(),
        suggestions: Vec::new(),
        details: found.iter().map(finding).collect(),
        amplification: None,
    }
}

/// Three passes over a row.
pub(super) const SOFTMAX: &str = include_str!("../fixtures/softmax.py");
/// A product with a launch for its epilogue.
pub(super) const PRODUCT: &str = include_str!("../fixtures/product.py");

#[test]
fn facts_are_read_from_the_syntax() {
    let facts = Facts::of(&Source::parse(SOFTMAX).unwrap());
    for fact in [
        Fact::Loop,
        Fact::SeveralPasses,
        Fact::Reduction,
        Fact::Exponential,
        Fact::Division,
        Fact::Mask,
        Fact::Int64,
    ] {
        assert!(facts.has(fact), "{fact:?}");
    }
    for fact in [Fact::Dot, Fact::NestedLoop, Fact::Autotune, Fact::SeveralKernels, Fact::HostCopy]
    {
        assert!(!facts.has(fact), "{fact:?}");
    }
    let facts = Facts::of(&Source::parse(PRODUCT).unwrap());
    for fact in [
        Fact::Dot,
        Fact::NestedLoop,
        Fact::Persistent,
        Fact::Autotune,
        Fact::SeveralKernels,
        Fact::SeveralLaunches,
        Fact::HostCopy,
        Fact::Transpose,
        Fact::IntegerDivision,
        Fact::CacheHint,
        Fact::Atomics,
        Fact::WarpSpecialized,
        Fact::Descriptor,
        Fact::Gradient,
    ] {
        assert!(facts.has(fact), "{fact:?}");
    }
    assert!(!facts.has(Fact::SeveralPasses));
}

#[test]
fn products_that_are_added_up_are_told_from_squares_and_scalings() {
    let has_product = |body: &str| {
        let source = format!(
            "import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel(x, w, n):\n{body}"
        );
        Facts::of(&Source::parse(source).unwrap()).has(Fact::Product)
    };
    assert!(has_product("    acc += w[:, None] * x[None, :]\n"));
    assert!(has_product("    acc += tl.sum(w * x[None, :], axis=1)\n"));
    assert!(has_product("    y = tl.sum(w.to(tl.float32) * x)\n"));
    for other in ["acc += x * x", "acc += 2.0 * x", "y = x * w", "acc += tl.sum(x)"] {
        assert!(!has_product(&format!("    {other}\n")), "{other}");
    }
}

#[test]
fn windows_are_told_by_positions_before_the_beginning() {
    let slides = |mask: &str| {
        let source = format!(
            "import triton\nimport triton.language as tl\n\n@triton.jit\n\
             def kernel(x, n, B: tl.constexpr):\n    at = tl.arange(0, B) - 1\n    \
             tile = tl.load(x + at, mask={mask})\n"
        );
        Facts::of(&Source::parse(source).unwrap()).has(Fact::Window)
    };
    for mask in ["(at >= 0) & (at < n)", "(0 <= at) & (at < n)", "(at < n) & (at // 2 >= 0)"] {
        assert!(slides(mask), "{mask}");
    }
    for mask in ["at < n", "(at >= n)", "(at > 0) & (at < n)", "(1 <= at) & (at < n)", "(at >= 0)"]
    {
        assert!(!slides(mask), "{mask}");
    }
}
