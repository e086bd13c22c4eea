//! The kind of a kernel, as experience files it.
//!
//! ```text
//! fingerprint = work "/" data [ "/gradients" ]
//! work        = fact { "+" fact }, or "elementwise"
//! data        = class ":" rank { "+" class ":" rank }
//! ```
//!
//! For example `reduction+exponential+loop/f16:2`: a row-wise softmax over half-precision matrices
//! that goes through its rows in tiles. It holds for the baseline of a run, whatever the candidates
//! look like, and depends neither on names and comments nor on sizes and tile sizes.
//!
//! Facts are those that say what is computed and how often the data is passed over. How it happens
//! to be written (masks, cache hints, autotuning) is left out: moves change it, and kernels that
//! differ in nothing else have the same to learn.

use std::collections::BTreeSet;

use super::{Fact, Facts};
use crate::{
    generate::recipe::{Argument, CaseFacts, Context},
    kernel::syntax::Source,
};

/// Facts that tell kinds of kernels apart, in the order in which they are written. That a kernel
/// computes gradients is asked of the contract, since a source only has names to tell it by.
const TELLING: [(Fact, &str); 8] = [
    (Fact::Dot, "dot"),
    (Fact::Reduction, "reduction"),
    (Fact::Exponential, "exponential"),
    (Fact::Atomics, "atomics"),
    (Fact::Transpose, "transpose"),
    (Fact::Loop, "loop"),
    (Fact::SeveralPasses, "several-passes"),
    (Fact::SeveralKernels, "several-kernels"),
];

/// Of the baseline `source`, whose arguments are those of the main case; `gradients` are compared.
pub fn fingerprint(source: &Source, context: &Context, gradients: bool) -> String {
    let facts = Facts::of(source);
    let told = TELLING.iter().filter(|(fact, _)| facts.has(*fact));
    let mut work = told.map(|(_, name)| *name).collect::<Vec<_>>().join("+");
    if work.is_empty() {
        "elementwise".clone_into(&mut work);
    }
    let data = context.cases.first().map(data).unwrap_or_default();
    let parts = [work, data, if gradients { "gradients".to_owned() } else { String::new() }];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

/// Class and rank of the tensors, each once: `f16:1+f16:2`. Where nobody has looked at them the class
/// of the `dtype` parameter; empty where nothing is known.
fn data(case: &CaseFacts) -> String {
    let tensors = case.arguments.iter().filter_map(|argument| match argument {
        Argument::Tensor { dtype, shape, .. } => Some((class(dtype), shape.len())),
        Argument::Integer(_) | Argument::Other => None,
    });
    let kinds: BTreeSet<_> = tensors.collect();
    if kinds.is_empty() {
        let dtype = case.case.params.get("dtype").and_then(serde_json::Value::as_str);
        return dtype.map(class).unwrap_or_default();
    }
    let kinds = kinds.into_iter().map(|(class, rank)| format!("{class}:{rank}"));
    kinds.collect::<Vec<_>>().join("+")
}

/// Formats that cost and behave alike; `dtype` is torch's name.
fn class(dtype: &str) -> String {
    let dtype = dtype.strip_prefix("torch.").unwrap_or(dtype);
    match dtype {
        "float64" | "double" => "f64",
        "float32" | "float" => "f32",
        "float16" | "half" | "bfloat16" => "f16",
        _ if dtype.starts_with("float8") => "f8",
        _ if dtype.starts_with("int") || dtype.starts_with("uint") => "int",
        "bool" => "bool",
        _ if dtype.starts_with("complex") => "complex",
        _ => "other",
    }
    .to_owned()
}
