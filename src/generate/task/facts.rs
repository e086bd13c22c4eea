//! What a source shows by its syntax, as far as expert tasks ask.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::kernel::syntax::{
    Function, Source, callee, children, descendants, is_language_call, keywords,
};

/// Something that a source has or lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// A loop in a kernel.
    Loop,
    /// Two loops one after another in a kernel: passes over the data.
    SeveralPasses,
    /// A loop within a loop of a kernel.
    NestedLoop,
    /// `tl.dot`.
    Dot,
    /// `tl.sum`, `tl.max`, `tl.reduce` and such.
    Reduction,
    /// Products of different values that are added up, without `tl.dot`.
    Product,
    /// An exponential.
    Exponential,
    /// A division, a remainder or a square root in a kernel.
    Division,
    /// An atomic operation.
    Atomics,
    /// More than one kernel.
    SeveralKernels,
    /// More than one launch.
    SeveralLaunches,
    /// `@triton.autotune`.
    Autotune,
    /// A tensor descriptor.
    Descriptor,
    /// Programs that loop over tiles: `tl.num_programs` bounds or strides a loop.
    Persistent,
    /// `warp_specialize` in a loop.
    WarpSpecialized,
    /// A mask.
    Mask,
    /// Positions that may lie before the beginning (`at >= 0`), as at the border of a window that slides.
    Window,
    /// Conversions to 64-bit integers.
    Int64,
    /// A cache hint: eviction policy or cache modifier.
    CacheHint,
    /// `tl.trans` or `tl.permute` in a kernel.
    Transpose,
    /// The host copies to make something contiguous.
    HostCopy,
    /// Integer division or remainder in a kernel.
    IntegerDivision,
    /// A function whose name says that it computes gradients.
    Gradient,
}

/// The facts of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(BTreeSet<Fact>);

impl Facts {
    pub fn of(source: &Source) -> Self {
        let mut facts = BTreeSet::new();
        let kernels = source.kernels();
        for kernel in &kernels {
            in_kernel(source, *kernel, &mut facts);
        }
        let helpers = source.functions();
        facts.extend((kernels.len() > 1).then_some(Fact::SeveralKernels));
        facts.extend((source.launches().len() > 1).then_some(Fact::SeveralLaunches));
        for function in helpers {
            let name = function.name();
            let gradient = ["backward", "bwd", "grad"].iter().any(|word| name.contains(word));
            facts.extend(gradient.then_some(Fact::Gradient));
        }
        for call in descendants(source.root()).filter(|node| node.kind() == "call") {
            match callee(source, call) {
                Some("contiguous") => facts.insert(Fact::HostCopy),
                Some("make_tensor_descriptor" | "from_tensor" | "TensorDescriptor") => {
                    facts.insert(Fact::Descriptor)
                }
                Some("autotune") => facts.insert(Fact::Autotune),
                _ => false,
            };
        }
        Self(facts)
    }

    pub fn has(&self, fact: Fact) -> bool {
        self.0.contains(&fact)
    }
}

impl FromIterator<Fact> for Facts {
    fn from_iter<I: IntoIterator<Item = Fact>>(facts: I) -> Self {
        Self(facts.into_iter().collect())
    }
}

const REDUCTIONS: [&str; 9] =
    ["sum", "max", "min", "argmax", "argmin", "reduce", "xor_sum", "cumsum", "associative_scan"];

fn in_kernel(source: &Source, kernel: Function<'_>, facts: &mut BTreeSet<Fact>) {
    let mut loops: Vec<Node<'_>> = Vec::new();
    for node in descendants(kernel.node()) {
        match node.kind() {
            "for_statement" | "while_statement" => {
                facts.insert(Fact::Loop);
                let around = |outer: &Node<'_>| outer.byte_range().contains(&node.start_byte());
                let nested = loops.iter().any(around);
                facts.extend(nested.then_some(Fact::NestedLoop));
                facts.extend((!nested && !loops.is_empty()).then_some(Fact::SeveralPasses));
                let head =
                    node.child_by_field_name("right").or(node.child_by_field_name("condition"));
                let persistent =
                    head.is_some_and(|head| source.slice(head).contains("num_programs"));
                facts.extend(persistent.then_some(Fact::Persistent));
                loops.push(node);
            }
            "augmented_assignment" if adds_products(source, node) => {
                facts.insert(Fact::Product);
            }
            "binary_operator" | "augmented_assignment" => {
                match node.child_by_field_name("operator").map_or("", |it| it.kind()) {
                    "/" | "/=" => facts.extend([Fact::Division]),
                    "//" | "%" | "//=" | "%=" => facts.extend([Fact::IntegerDivision]),
                    _ => {}
                }
            }
            "comparison_operator" if bounds_the_beginning(source, node) => {
                facts.insert(Fact::Window);
            }
            "call" => in_call(source, node, facts),
            _ => {}
        }
    }
}

/// Whether a comparison is one of several bounds and asks if something is at least 0, as a mask does where
/// positions may lie before the beginning.
fn bounds_the_beginning(source: &Source, comparison: Node<'_>) -> bool {
    let parts: Vec<&str> = children(comparison).map(|part| source.slice(part)).collect();
    let asks = parts.windows(3).any(|part| matches!(part, [_, ">=", "0"] | ["0", "<=", _]));
    let mut around = std::iter::successors(comparison.parent(), Node::parent)
        .take_while(|outer| matches!(outer.kind(), "parenthesized_expression" | "binary_operator"));
    asks && around.any(|outer| {
        outer.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "&")
    })
}

/// Whether `acc += …` has a product of different values in it.
fn adds_products(source: &Source, node: Node<'_>) -> bool {
    let adds = node.child_by_field_name("operator").is_some_and(|it| it.kind() == "+=");
    adds && node.child_by_field_name("right").is_some_and(|right| has_product(source, right))
}

/// Whether an expression multiplies two different values: not a square, nor a value by a constant.
fn has_product(source: &Source, expression: Node<'_>) -> bool {
    descendants(expression).any(|node| {
        let side = |field| node.child_by_field_name(field);
        let number = |it: Node<'_>| matches!(it.kind(), "integer" | "float");
        let times = side("operator").is_some_and(|it| it.kind() == "*");
        let (Some(left), Some(right)) = (side("left"), side("right")) else { return false };
        node.kind() == "binary_operator"
            && times
            && !number(left)
            && !number(right)
            && source.slice(left) != source.slice(right)
    })
}

fn in_call(source: &Source, call: Node<'_>, facts: &mut BTreeSet<Fact>) {
    let Some(name) = callee(source, call) else { return };
    let of_language = is_language_call(source, call, name);
    let fact = match name {
        "dot" if of_language => Some(Fact::Dot),
        "exp" | "exp2" | "sigmoid" | "softmax" if of_language => Some(Fact::Exponential),
        "rsqrt" | "sqrt" | "sqrt_rn" | "div_rn" | "fdiv" if of_language => Some(Fact::Division),
        "trans" | "permute" if of_language => Some(Fact::Transpose),
        "num_programs" => Some(Fact::Persistent),
        _ if of_language && REDUCTIONS.contains(&name) => Some(Fact::Reduction),
        _ if of_language && name.starts_with("atomic_") => Some(Fact::Atomics),
        "to" if source.slice(call).contains("int64") => Some(Fact::Int64),
        _ => None,
    };
    facts.extend(fact);
    if name == "sum" && of_language && has_product(source, call) {
        facts.insert(Fact::Product);
    }
    for keyword in keywords(source, call) {
        match keyword.name {
            "mask" => facts.extend([Fact::Mask]),
            "eviction_policy" | "cache_modifier" => facts.extend([Fact::CacheHint]),
            "warp_specialize" => facts.extend([Fact::WarpSpecialized]),
            _ => {}
        }
    }
}
