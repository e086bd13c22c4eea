//! `precision tf32`: how exactly `tl.dot` multiplies float32 operands.
//!
//! Whether the answer stays within the contract's tolerance is the correctness gate's to say.

use tree_sitter::Node;

use crate::generate::recipe::{Context, DeviceKind, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{
    Edit, Function, Source, appended_argument, descendants, is_language_call, keywords,
};

pub(super) struct Precision;

/// What the compiler for NVIDIA GPUs takes; the interpreter takes the first three.
const VALUES: [&str; 5] = ["ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"];

impl Verb for Precision {
    fn name(&self) -> &'static str {
        "precision"
    }

    fn summary(&self) -> &'static str {
        "choose how tl.dot multiplies float32 operands (input_precision, also for allow_tf32)"
    }

    fn syntax(&self) -> &'static str {
        "precision ieee|tf32|tf32x3|bf16x3|bf16x6 [KERNEL]"
    }

    fn interpreted(&self) -> bool {
        false
    }

    fn places(&self, source: &Source, context: &Context) -> Vec<Place> {
        let dtypes = context.dtypes();
        let float32 = dtypes.is_empty() || dtypes.iter().any(|d| matches!(*d, "float32" | "float"));
        if !float32 {
            return Vec::new();
        }
        let kernels = kernels_with_dots(source);
        let alone = kernels.len() == 1;
        let place = |(kernel, dots): &(Function<'_>, Vec<Node<'_>>)| {
            let first = *dots.first()?;
            let current = current(source, first);
            let step = |value: &&str| {
                let step = Step::new("precision").word(value);
                if alone { step } else { step.word(kernel.name()) }
            };
            let worth = ["tf32", "tf32x3", "ieee"];
            let other = worth.iter().filter(|value| current.as_deref() != Some(**value));
            Some(Place {
                line: source.line(first),
                what: format!("tl.dot of {}", kernel.name()),
                axis: kernel.name().to_owned(),
                steps: other.map(step).collect(),
                current,
            })
        };
        kernels.iter().filter_map(place).collect()
    }

    fn apply(
        &self,
        source: &Source,
        step: &Step,
        context: &Context,
    ) -> Result<Vec<Edit>, RecipeError> {
        let (value, kernel) = match step.bare().as_deref() {
            Some([value]) => (*value, None),
            Some([value, kernel]) => (*value, Some(*kernel)),
            _ => return Err(step.grammar(self, "it takes a precision and perhaps a kernel's name")),
        };
        let known = if context.device == DeviceKind::Cpu { &VALUES[..3] } else { &VALUES[..] };
        if !known.contains(&value) {
            let valid = known.iter().map(|value| (*value).to_owned()).collect();
            return Err(step.inapplicable(format!("tl.dot does not take `{value}` here"), valid));
        }
        let kernels = kernels_with_dots(source);
        let meant = kernels.iter().filter(|(k, _)| kernel.is_none_or(|name| k.name() == name));
        let edits: Vec<Edit> = meant
            .flat_map(|(_, dots)| dots.iter().filter_map(|dot| edit(source, *dot, value)))
            .collect();
        if edits.is_empty() && !kernels.iter().any(|(k, _)| kernel.is_none_or(|n| k.name() == n)) {
            let names = kernels.iter().map(|(kernel, _)| kernel.name().to_owned()).collect();
            return Err(step.inapplicable("no such kernel has a tl.dot", names));
        }
        Ok(edits)
    }
}

fn kernels_with_dots(source: &Source) -> Vec<(Function<'_>, Vec<Node<'_>>)> {
    let mut found = Vec::new();
    for kernel in source.kernels() {
        let nodes = kernel.body().into_iter().flat_map(descendants);
        let dots: Vec<_> = nodes.filter(|node| is_language_call(source, *node, "dot")).collect();
        if !dots.is_empty() {
            found.push((kernel, dots));
        }
    }
    found
}

/// What a dot has now; `None` where it leaves it to Triton.
fn current(source: &Source, dot: Node<'_>) -> Option<String> {
    let keywords = keywords(source, dot);
    let value = |name| keywords.iter().find(|k| k.name == name).map(|k| source.slice(k.value));
    match (value("input_precision"), value("allow_tf32")) {
        (Some(value), _) => Some(value.trim_matches(['"', '\'']).to_owned()),
        (None, Some("False")) => Some("ieee".to_owned()),
        (None, Some("True")) => Some("tf32".to_owned()),
        _ => None,
    }
}

/// Gives `dot` the precision `value`; `allow_tf32` gives way, since Triton takes one of the two.
fn edit(source: &Source, dot: Node<'_>, value: &str) -> Option<Edit> {
    let argument = format!("input_precision=\"{value}\"");
    let keywords = keywords(source, dot);
    let named = |name| keywords.iter().find(|k| k.name == name);
    match named("input_precision").or_else(|| named("allow_tf32")) {
        Some(_) if current(source, dot).as_deref() == Some(value) => None,
        Some(keyword) => Some(Edit::replace(keyword.node.byte_range(), argument)),
        None => {
            let list = dot.child_by_field_name("arguments")?;
            let (at, text) = appended_argument(source, list, &argument);
            Some(Edit::insert(at, text))
        }
    }
}

#[cfg(test)]
mod tests;
