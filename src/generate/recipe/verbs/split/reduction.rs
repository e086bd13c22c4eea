//! Which loop of a kernel is a reduction that may be cut into independent chunks.

mod uses;

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::kernel::syntax::{
    Function, Source, callee, children, descendants, is_language_call, keywords, positional,
};
use uses::{Use, first_use, first_use_in, mentions};

/// A loop whose iterations depend on each other only through accumulators.
#[derive(Debug)]
pub(super) struct Reduction<'s> {
    pub kernel: Function<'s>,
    /// The `for` statement, at the top of the kernel's body.
    pub node: Node<'s>,
    /// The bounds of its range, as far as they are written.
    pub start: Option<Node<'s>>,
    pub stop: Node<'s>,
    pub step: Option<Node<'s>>,
    pub accumulators: Vec<Accumulator<'s>>,
    /// Pointers and such that move on by the same amount in every iteration.
    pub inductions: Vec<Induction<'s>>,
}

/// What the loop computes.
#[derive(Debug)]
pub(super) struct Accumulator<'s> {
    pub name: &'s str,
    /// Its dimensions as written in the kernel; empty for a scalar.
    pub shape: Vec<Node<'s>>,
    /// The element type; Triton and torch have the same names for those that are allowed.
    pub dtype: &'static str,
    pub combine: Combine,
}

/// How two partial results become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    Sum,
    Maximum,
    Minimum,
}

/// `name += by` in every iteration.
#[derive(Debug)]
pub(super) struct Induction<'s> {
    pub name: &'s str,
    pub by: Node<'s>,
}

/// Element types of accumulators.
const DTYPES: [&str; 6] = ["float32", "float64", "float16", "bfloat16", "int32", "int64"];

impl<'s> Reduction<'s> {
    /// The first loop of `kernel`, or why it may not be cut.
    pub(super) fn find(source: &'s Source, kernel: Function<'s>) -> Result<Self, String> {
        let body = kernel.body().ok_or("it has no body")?;
        let statements: Vec<Node<'_>> = children(body).filter(|it| it.is_named()).collect();
        let is_loop = |node: &Node<'_>| matches!(node.kind(), "for_statement" | "while_statement");
        let first = statements
            .iter()
            .position(|statement| descendants(*statement).any(|node| is_loop(&node)))
            .ok_or("it has no loop")?;
        let node = *statements
            .get(first)
            .filter(|node| node.kind() == "for_statement")
            .ok_or("its loop stands inside of another statement")?;
        let (before, after) = (&statements[..first], &statements[first + 1..]);
        let [start, stop, step] = bounds(source, node)?;
        let stop = stop.ok_or("its loop has no end")?;
        if before.iter().chain([&node]).any(|it| has_effects(source, *it, 4)) {
            return Err("it stores something before its loop ends".to_owned());
        }
        let loop_body = node.child_by_field_name("body").ok_or("its loop has no body")?;
        let leaves = |it: Node<'_>| matches!(it.kind(), "return_statement" | "break_statement");
        if descendants(loop_body).any(leaves) || node.child_by_field_name("alternative").is_some() {
            return Err("its loop may end early".to_owned());
        }

        let mut found = Self {
            kernel,
            node,
            start,
            stop,
            step,
            accumulators: Vec::new(),
            inductions: Vec::new(),
        };
        let variable = node.child_by_field_name("left").map_or("", |it| source.slice(it));
        let assigned = assigned_names(source, loop_body);
        for &name in &assigned {
            if let Some(accumulator) = accumulator(source, before, loop_body, name) {
                found.accumulators.push(accumulator);
                continue;
            }
            if let Some(by) = induction(source, loop_body, name, variable, &assigned) {
                found.inductions.push(Induction { name, by });
            } else if !is_local(source, kernel, before, loop_body, name) {
                return Err(format!(
                    "`{name}` is carried from one iteration of its loop to the next, and not as a \
                     plain sum, maximum or minimum that starts at zero or infinity"
                ));
            }
            used_after(source, after, name)?;
        }
        used_after(source, after, variable)?;
        if found.accumulators.is_empty() {
            return Err("its loop accumulates nothing".to_owned());
        }
        Ok(found)
    }
}

/// Start, stop and step of a loop over a range.
fn bounds<'s>(source: &'s Source, node: Node<'s>) -> Result<[Option<Node<'s>>; 3], String> {
    let call = node.child_by_field_name("right").ok_or("its loop is incomplete")?;
    let target = node.child_by_field_name("left").is_some_and(|it| it.kind() == "identifier");
    let function = call.child_by_field_name("function").map_or("", |it| source.slice(it));
    if call.kind() != "call" || !matches!(function, "range" | "tl.range") || !target {
        return Err("its loop does not go over a range".to_owned());
    }
    let bounds = match *positional(call) {
        [stop] => [None, Some(stop), None],
        [start, stop] => [Some(start), Some(stop), None],
        [start, stop, step] => [Some(start), Some(stop), Some(step)],
        _ => return Err("its loop's range cannot be read".to_owned()),
    };
    if bounds[2].is_some_and(|step| source.slice(step).starts_with('-')) {
        return Err("its loop goes backwards".to_owned());
    }
    Ok(bounds)
}

/// Whether `node` stores something, itself or through a helper of this source.
fn has_effects(source: &Source, node: Node<'_>, depth: u8) -> bool {
    descendants(node).filter(|it| it.kind() == "call").any(|call| {
        let Some(name) = callee(source, call) else { return false };
        let helper = || source.kernels().into_iter().find(|kernel| kernel.name() == name);
        name.starts_with("store")
            || name.starts_with("atomic_")
            || helper().and_then(|it| it.body()).is_some_and(|body| {
                // A helper that is called so deep is not looked into, and not trusted.
                depth == 0 || has_effects(source, body, depth - 1)
            })
    })
}

fn assigned_names<'s>(source: &'s Source, body: Node<'s>) -> BTreeSet<&'s str> {
    descendants(body)
        .filter_map(|node| match node.kind() {
            "assignment" | "augmented_assignment" | "for_statement" => {
                node.child_by_field_name("left")
            }
            "named_expression" => node.child_by_field_name("name"),
            _ => None,
        })
        .flat_map(descendants)
        .filter(|node| node.kind() == "identifier")
        .map(|node| source.slice(node))
        .collect()
}

/// Reads `name` as an accumulator: set to a neutral value before the loop, and in the loop only
/// updated, always in the same way.
fn accumulator<'s>(
    source: &'s Source,
    before: &[Node<'s>],
    body: Node<'s>,
    name: &'s str,
) -> Option<Accumulator<'s>> {
    let mut touching = before.iter().filter(|it| mentions(source, **it, name) > 0);
    let (initial, None) = (touching.next()?, touching.next()) else { return None };
    let assignment = initial.named_child(0).filter(|it| it.kind() == "assignment")?;
    let left = assignment.child_by_field_name("left")?;
    if source.slice(left) != name || mentions(source, *initial, name) != 1 {
        return None;
    }
    let (shape, dtype, value) = initial_value(source, assignment.child_by_field_name("right")?)?;

    let updates: Vec<(Node<'_>, Combine)> =
        descendants(body).filter_map(|node| Some((node, update(source, node, name)?))).collect();
    let combine = updates.first()?.1;
    let alike = updates.iter().all(|(_, it)| *it == combine);
    let counted: usize = updates.iter().map(|(node, _)| mentions(source, *node, name)).sum();
    // The maximum with the same value twice is the maximum: any start does. A sum starts at zero.
    let neutral = combine != Combine::Sum || value == Some(0.0);
    (alike && neutral && counted == mentions(source, body, name)).then_some(Accumulator {
        name,
        shape,
        dtype,
        combine,
    })
}

/// Shape, element type and value of what an accumulator starts from.
fn initial_value<'s>(
    source: &'s Source,
    node: Node<'s>,
) -> Option<(Vec<Node<'s>>, &'static str, Option<f64>)> {
    if let Some(value) = number(source, node) {
        // A float becomes a float32 when the loop carries it.
        return source.slice(node).contains(['.', 'f']).then_some((
            Vec::new(),
            "float32",
            Some(value),
        ));
    }
    let zeros = is_language_call(source, node, "zeros");
    if !zeros && !is_language_call(source, node, "full") {
        return None;
    }
    let arguments = positional(node);
    let argument = |name: &str, position: usize| {
        let named = keywords(source, node).into_iter().find(|keyword| keyword.name == name);
        named.map(|keyword| keyword.value).or_else(|| arguments.get(position).copied())
    };
    let shape = argument("shape", 0).filter(|it| matches!(it.kind(), "tuple" | "list"))?;
    let shape = children(shape).filter(|it| it.is_named() && it.kind() != "comment").collect();
    let dtype = source.slice(argument("dtype", if zeros { 1 } else { 2 })?);
    let dtype = DTYPES.into_iter().find(|it| dtype.strip_prefix("tl.") == Some(it))?;
    let value = if zeros { Some(0.0) } else { Some(number(source, argument("value", 1)?)?) };
    Some((shape, dtype, value))
}

/// The value of a number, or of an infinity in its usual spellings.
fn number(source: &Source, node: Node<'_>) -> Option<f64> {
    let text: String =
        source.slice(node).chars().filter(|c| !matches!(c, '"' | '\'' | ' ' | '(' | ')')).collect();
    match text.as_str() {
        "-floatinf" | "float-inf" => Some(f64::NEG_INFINITY),
        "floatinf" => Some(f64::INFINITY),
        _ => text.parse().ok(),
    }
}

/// Reads a statement as `name = name ⊕ something` without `name`.
fn update(source: &Source, node: Node<'_>, name: &str) -> Option<Combine> {
    let left = node.child_by_field_name("left").filter(|it| source.slice(*it) == name)?;
    let right = node.child_by_field_name("right")?;
    let is_name = |it: Node<'_>| it.kind() == "identifier" && source.slice(it) == name;
    if left.kind() != "identifier" {
        return None;
    }
    match node.kind() {
        "augmented_assignment" => {
            let operator = node.child_by_field_name("operator")?.kind();
            let free = mentions(source, right, name) == 0;
            (matches!(operator, "+=" | "-=") && free).then_some(Combine::Sum)
        }
        "assignment" if mentions(source, right, name) != 1 => {
            // `tl.dot(a, b, acc=acc)` has the name twice.
            accumulating_dot(source, right, name).then_some(Combine::Sum)
        }
        "assignment" if right.kind() == "call" => {
            let direct = positional(right).into_iter().any(is_name);
            match callee(source, right)? {
                "maximum" | "max" if direct => Some(Combine::Maximum),
                "minimum" | "min" if direct => Some(Combine::Minimum),
                _ => accumulating_dot(source, right, name).then_some(Combine::Sum),
            }
        }
        "assignment" => {
            // In `acc + a * b - c` the name is a term that is added.
            let mut at = right;
            while at.kind() == "binary_operator" {
                let operator = at.child_by_field_name("operator")?.kind();
                let (first, second) =
                    (at.child_by_field_name("left")?, at.child_by_field_name("right")?);
                match operator {
                    "+" if is_name(second) => return Some(Combine::Sum),
                    "+" | "-" => at = first,
                    _ => return None,
                }
            }
            is_name(at).then_some(Combine::Sum)
        }
        _ => None,
    }
}

fn accumulating_dot(source: &Source, call: Node<'_>, name: &str) -> bool {
    let is_name = |it: Node<'_>| it.kind() == "identifier" && source.slice(it) == name;
    let arguments = positional(call);
    let operands = arguments.iter().take(2);
    let keyword = keywords(source, call)
        .iter()
        .any(|keyword| keyword.name == "acc" && is_name(keyword.value));
    is_language_call(source, call, "dot")
        && operands.map(|it| mentions(source, *it, name)).sum::<usize>() == 0
        && (keyword || arguments.get(2).copied().is_some_and(is_name))
}

/// The amount by which `name` moves on in every iteration, unconditionally and alike.
fn induction<'s>(
    source: &'s Source,
    body: Node<'s>,
    name: &str,
    variable: &str,
    assigned: &BTreeSet<&str>,
) -> Option<Node<'s>> {
    let is_target = |node: &Node<'_>| {
        matches!(node.kind(), "assignment" | "augmented_assignment" | "for_statement")
            && node.child_by_field_name("left").is_some_and(|it| mentions(source, it, name) > 0)
    };
    let mut targets = descendants(body).filter(is_target);
    let (statement, None) = (targets.next()?, targets.next()) else { return None };
    let at_top = statement.parent().and_then(|it| it.parent()) == Some(body);
    let operator = statement.child_by_field_name("operator").map(|it| it.kind());
    let by = match (statement.kind(), operator) {
        ("augmented_assignment", Some("+=")) => statement.child_by_field_name("right")?,
        ("assignment", _) => {
            let sum = statement.child_by_field_name("right")?;
            let plus = sum.child_by_field_name("operator").is_some_and(|it| it.kind() == "+");
            let first = sum.child_by_field_name("left")?;
            let second = sum.child_by_field_name("right")?;
            (plus && source.slice(first) == name).then_some(second)?
        }
        _ => return None,
    };
    let fixed = |it: Node<'_>| {
        let text = source.slice(it);
        it.kind() != "call"
            && (it.kind() != "identifier" || (text != variable && !assigned.contains(text)))
    };
    (at_top && descendants(by).all(fixed)).then_some(by)
}

/// Whether each iteration sets `name` before it reads it.
fn is_local(
    source: &Source,
    kernel: Function<'_>,
    before: &[Node<'_>],
    body: Node<'_>,
    name: &str,
) -> bool {
    let known = kernel.parameters().iter().any(|parameter| parameter.name == name)
        || before.iter().any(|it| mentions(source, *it, name) > 0);
    let statements = children(body).filter(|it| it.is_named());
    let mut touching = statements.filter(|it| mentions(source, *it, name) > 0);
    // An inner loop may run not at all and leave an earlier value in place.
    let skipped = touching.next().is_some_and(|first| known && first.kind() == "for_statement");
    !skipped && first_use(source, body, name) == Some(Use::Write)
}

fn used_after(source: &Source, after: &[Node<'_>], name: &str) -> Result<(), String> {
    match first_use_in(source, after, name) {
        Some(Use::Read) => Err(format!("`{name}` of its loop's last iteration is used after it")),
        Some(Use::Write) | None => Ok(()),
    }
}
