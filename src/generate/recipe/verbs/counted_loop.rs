//! `for` loops of kernels over a range, and the options of `tl.range`.

use tree_sitter::Node;

use crate::generate::recipe::{RecipeError, Step, Verb};
use crate::kernel::syntax::{
    Edit, Function, Source, appended_argument, descendants, integer, is_language_call, keywords,
    positional,
};

/// `for variable in range(…)` in a kernel; `range` is Python's or Triton's.
pub(super) struct CountedLoop<'s> {
    pub node: Node<'s>,
    pub kernel: Function<'s>,
    /// Its name in recipes: the variable, with `#2` for the second loop over it.
    pub axis: String,
    /// The call of `range`.
    pub range: Node<'s>,
}

/// The loops over ranges in all kernels, in source order.
pub(super) fn counted_loops(source: &Source) -> Vec<CountedLoop<'_>> {
    let mut loops: Vec<(CountedLoop<'_>, &str)> = Vec::new();
    for kernel in source.kernels() {
        for node in kernel.body().into_iter().flat_map(descendants) {
            let Some((variable, range)) = read(source, node) else { continue };
            let earlier = loops.iter().filter(|(_, known)| *known == variable).count();
            let axis = if earlier == 0 {
                variable.to_owned()
            } else {
                format!("{variable}#{}", earlier + 1)
            };
            loops.push((CountedLoop { node, kernel, axis, range }, variable));
        }
    }
    loops.into_iter().map(|(counted, _)| counted).collect()
}

fn read<'s>(source: &'s Source, node: Node<'s>) -> Option<(&'s str, Node<'s>)> {
    if node.kind() != "for_statement" {
        return None;
    }
    let variable = node.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
    let range = node.child_by_field_name("right").filter(|right| right.kind() == "call")?;
    let python = range
        .child_by_field_name("function")
        .is_some_and(|function| source.slice(function) == "range");
    (python || is_language_call(source, range, "range")).then(|| (source.slice(variable), range))
}

impl<'s> CountedLoop<'s> {
    /// The loop that `name` means; the error lists those there are.
    pub(super) fn named(
        source: &'s Source,
        step: &Step,
        name: &str,
    ) -> Result<CountedLoop<'s>, RecipeError> {
        let mut loops = counted_loops(source);
        let index = loops.iter().position(|counted| {
            counted.axis == name || name.strip_suffix("#1") == Some(counted.axis.as_str())
        });
        match index {
            Some(index) => Ok(loops.swap_remove(index)),
            None => {
                let axes = loops.into_iter().map(|counted| counted.axis).collect();
                Err(step.inapplicable(format!("no kernel has a loop over `{name}`"), axes))
            }
        }
    }

    pub(super) fn describe(&self) -> String {
        format!("the loop over {} in {}", self.axis, self.kernel.name())
    }

    /// The number that an option of `tl.range` has here.
    pub(super) fn option(&self, source: &Source, name: &str) -> Option<i64> {
        let keyword = keywords(source, self.range).into_iter().find(|k| k.name == name)?;
        integer(source, keyword.value)
    }

    /// Makes the range Triton's own, with `name=value`.
    pub(super) fn with_option(&self, source: &Source, name: &str, value: i64) -> Vec<Edit> {
        if let Some(keyword) = keywords(source, self.range).into_iter().find(|k| k.name == name) {
            return vec![Edit::replace(keyword.value.byte_range(), value.to_string())];
        }
        let mut edits = self.renamed(source, "tl.range");
        if let Some(list) = self.range.child_by_field_name("arguments") {
            let (at, text) = appended_argument(source, list, &format!("{name}={value}"));
            edits.push(Edit::insert(at, text));
        }
        edits
    }

    /// Calls `callee` in place of Python's `range`.
    pub(super) fn renamed(&self, source: &Source, callee: &str) -> Vec<Edit> {
        let function = self.range.child_by_field_name("function");
        let python = function.filter(|function| source.slice(*function) != callee);
        python.map(|function| Edit::replace(function.byte_range(), callee)).into_iter().collect()
    }

    /// The number of rounds where start, end and step are numbers, or constexpr parameters that
    /// every launch gives a number.
    pub(super) fn fixed_rounds(&self, source: &Source) -> Option<i64> {
        let arguments = positional(self.range);
        let bound = |index: usize| self.fixed(source, *arguments.get(index)?);
        let (start, end, step) = match arguments.len() {
            1 => (0, bound(0)?, 1),
            2 => (bound(0)?, bound(1)?, 1),
            3 => (bound(0)?, bound(1)?, bound(2)?),
            _ => return None,
        };
        (step > 0).then(|| (end - start + step - 1).max(0) / step)
    }

    /// The value of a bound that is known when the kernel is compiled, the same at every launch.
    fn fixed(&self, source: &Source, bound: Node<'_>) -> Option<i64> {
        if let Some(value) = integer(source, bound) {
            return Some(value);
        }
        let name = source.slice(bound);
        let parameters = self.kernel.parameters();
        parameters.iter().find(|p| p.name == name && p.is_constexpr())?;
        let launches = source.launches();
        let own = launches.iter().filter(|launch| launch.kernel.name() == self.kernel.name());
        let values: Option<Vec<i64>> = own
            .map(|launch| {
                let given = launch.binding(name)?;
                let constant = || source.constant(source.slice(given), launch.host);
                integer(source, given).or_else(|| Some(constant()?.value))
            })
            .collect();
        let values = values?;
        let first = *values.first()?;
        values.iter().all(|value| *value == first).then_some(first)
    }

    /// Whether the body loads anything.
    pub(super) fn loads(&self, source: &Source) -> bool {
        descendants(self.node).any(|node| is_language_call(source, node, "load"))
    }

    /// Whether the body has no loop of its own.
    pub(super) fn is_innermost(&self) -> bool {
        let body = self.node.child_by_field_name("body");
        let loops = ["for_statement", "while_statement"];
        !body.into_iter().flat_map(descendants).any(|node| loops.contains(&node.kind()))
    }
}

/// Whether the source imports Triton's language as `tl`, under which the edits call it.
pub(super) fn has_tl(source: &Source) -> bool {
    descendants(source.root()).any(|node| {
        let text = || source.slice(node);
        matches!(node.kind(), "aliased_import")
            && (text() == "triton.language as tl" || text() == "language as tl")
    })
}

/// The loop's name and the count in a step `verb VARIABLE COUNT`.
pub(super) fn words<'a>(
    verb: &dyn Verb,
    step: &'a Step,
) -> Result<(&'a str, &'a str), RecipeError> {
    match step.bare().as_deref() {
        Some([variable, value]) => Ok((*variable, *value)),
        _ => Err(step.grammar(verb, "it takes a loop variable and a value")),
    }
}
