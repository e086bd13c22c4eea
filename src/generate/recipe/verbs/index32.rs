//! `index32`: 64-bit index arithmetic done in 32 bits, where every tensor is small enough.
//!
//! Kernels cast a program's number to 64 bits so that offsets into large tensors do not overflow.
//! The cast makes all arithmetic that follows from it wide, which costs registers and
//! instructions. Where the inputs of every case are known, and with them the size of everything
//! that the kernel reads and writes, it can be seen to be unnecessary.
//!
//! Sums and products modulo 2³² are right wherever the offset they end in is; quotients,
//! remainders and comparisons are not, so that the first two are not touched, and offsets get
//! half of the range as room for what lies beyond a mask.

mod sizes;

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::generate::recipe::addresses::base_parameters;
use crate::generate::recipe::flow::Flow;
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{
    Edit, Function, Launch, Source, callee, descendants, is_language_call, keywords, positional,
};
use sizes::Sizes;

pub(super) struct Index32;

/// Elements that a tensor may span: with as many again beyond its end, offsets fit 31 bits.
const MOST_ELEMENTS: i64 = 1 << 30;

impl Verb for Index32 {
    fn name(&self) -> &'static str {
        "index32"
    }

    fn summary(&self) -> &'static str {
        "compute offsets in 32 bits where no tensor of any case needs 64"
    }

    fn syntax(&self) -> &'static str {
        "index32 [KERNEL]"
    }

    fn places(&self, source: &Source, context: &Context) -> Vec<Place> {
        let kernels = source.kernels();
        let fit: Vec<_> = kernels
            .iter()
            .filter_map(|kernel| Some((kernel, casts(source, *kernel, context).ok()?)))
            .collect();
        let alone = fit.len() == 1;
        let place = |(kernel, casts): &(&Function<'_>, Vec<Node<'_>>)| {
            let step = Step::new(self.name());
            let line = casts.first().map_or(kernel.node(), |cast| *cast);
            Place {
                line: source.line(line),
                what: format!("{} casts to 64 bits in {}", casts.len(), kernel.name()),
                axis: kernel.name().to_owned(),
                current: None,
                steps: vec![if alone { step } else { step.word(kernel.name()) }],
            }
        };
        fit.iter().map(place).collect()
    }

    fn apply(
        &self,
        source: &Source,
        step: &Step,
        context: &Context,
    ) -> Result<Vec<Edit>, RecipeError> {
        let wanted = match step.bare().as_deref() {
            Some([]) => None,
            Some([kernel]) => Some(*kernel),
            _ => return Err(step.grammar(self, "it takes a kernel's name or nothing")),
        };
        let mut kernels = source.kernels();
        kernels.retain(|kernel| wanted.is_none_or(|name| kernel.name() == name));
        let (mut edits, mut reasons) = (Vec::new(), Vec::new());
        for kernel in kernels {
            match casts(source, kernel, context) {
                Ok(casts) => edits.extend(casts.iter().filter_map(|cast| without(source, *cast))),
                Err(reason) => reasons.push(format!("{}: {reason}", kernel.name())),
            }
        }
        if edits.is_empty() {
            let none = "there is no such kernel".to_owned();
            let reason = if reasons.is_empty() { none } else { reasons.join("; ") };
            return Err(step.inapplicable(reason, Vec::new()));
        }
        Ok(edits)
    }
}

/// Puts what is cast in place of the cast.
fn without(source: &Source, cast: Node<'_>) -> Option<Edit> {
    let object = cast.child_by_field_name("function")?.child_by_field_name("object")?;
    Some(Edit::replace(cast.byte_range(), source.slice(object)))
}

/// The casts to 64 bits that `kernel` can do without, or why there is none.
fn casts<'s>(
    source: &'s Source,
    kernel: Function<'s>,
    context: &Context,
) -> Result<Vec<Node<'s>>, String> {
    let flow = Flow::of(source, kernel);
    let accesses: Vec<Node<'s>> =
        descendants(kernel.node()).filter(|node| is_access(source, *node)).collect();
    let found: Vec<Node<'s>> = descendants(kernel.node())
        .filter(|node| is_cast(source, *node))
        .filter(|cast| only_in_addresses(source, kernel, &flow, &accesses, *cast))
        .collect();
    if found.is_empty() {
        return Err("no offset is cast to 64 bits, or what is cast is used for more".to_owned());
    }
    let bases = accesses
        .iter()
        .map(|access| base_parameters(source, kernel, *positional(*access).first()?))
        .collect::<Option<Vec<_>>>()
        .ok_or("one of its accesses does not start from a parameter")?;
    let pointers: BTreeSet<&str> = bases.into_iter().flatten().collect();
    let launches = source.launches();
    let own: Vec<&Launch<'_>> =
        launches.iter().filter(|launch| launch.kernel.name() == kernel.name()).collect();
    if own.is_empty() {
        return Err("it is not launched here".to_owned());
    }
    for launch in own {
        for sizes in Sizes::at(source, launch, context)? {
            for pointer in &pointers {
                let argument = launch.binding(pointer).map(|node| source.slice(node));
                let span = argument.and_then(|name| sizes.span(name)).ok_or_else(|| {
                    format!("the size of what `{pointer}` points to is not known in every case")
                })?;
                if span > MOST_ELEMENTS {
                    return Err(format!(
                        "`{pointer}` spans {span} elements in the case {}, more than {MOST_ELEMENTS}",
                        sizes.case()
                    ));
                }
            }
        }
    }
    Ok(found)
}

/// Whether `node` is a call `….to(tl.int64)`.
fn is_cast(source: &Source, node: Node<'_>) -> bool {
    node.kind() == "call"
        && callee(source, node) == Some("to")
        && positional(node).first().is_some_and(|it| source.slice(*it) == "tl.int64")
}

fn is_access(source: &Source, node: Node<'_>) -> bool {
    let name = node.child_by_field_name("function").map_or("", |it| source.slice(it));
    node.kind() == "call"
        && name
            .strip_prefix("tl.")
            .is_some_and(|it| matches!(it, "load" | "store") || it.starts_with("atomic_"))
}

/// Whether `cast` serves addresses and masks alone, and is not divided on the way.
fn only_in_addresses<'s>(
    source: &'s Source,
    kernel: Function<'s>,
    flow: &Flow<'s>,
    accesses: &[Node<'s>],
    cast: Node<'s>,
) -> bool {
    let is_load = |node: Node<'_>| is_language_call(source, node, "load");
    let is_this = |node: Node<'_>| node.id() == cast.id();
    let in_address = accesses.iter().any(|access| {
        let pointer = positional(*access).first().copied();
        pointer.is_some_and(|pointer| flow.reaches(pointer, is_this, is_load))
    });
    let in_value = accesses.iter().any(|access| {
        let named = keywords(source, *access).into_iter().find(|keyword| keyword.name == "value");
        let stores = !is_load(*access);
        let value = named.map(|it| it.value).or_else(|| positional(*access).get(1).copied());
        stores && value.is_some_and(|value| flow.reaches(value, is_this, is_load))
    });
    let divided = descendants(kernel.node()).any(|node| {
        let operator = node.child_by_field_name("operator").map_or("", |it| it.kind());
        node.kind() == "binary_operator"
            && matches!(operator, "//" | "%" | "/" | ">>")
            && flow.reaches(node, is_this, is_load)
    });
    in_address && !in_value && !divided && !flow.reaches(cast, is_load, |_| false)
}

#[cfg(test)]
mod tests;
