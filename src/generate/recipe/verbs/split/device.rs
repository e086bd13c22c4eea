//! The two kernels: one that writes the partial results of a chunk, and one that combines them:
//! the kernel itself, or a copy where the kernel stays in use as it is.

use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::Node;

use super::SPLITS;
use super::grid::Axis;
use super::reduction::{Accumulator, Combine, Reduction};
use crate::generate::recipe::verbs::programs::program_axis;
use crate::kernel::syntax::{
    Edit, Function, Source, appended_argument, apply_edits, children, descendants,
};

/// The name of the kernel that writes the partial results of `kernel`.
pub(super) fn partial_name(kernel: Function<'_>) -> String {
    format!("{}_partial", kernel.name())
}

/// The parameter that points to the partial results of an accumulator.
fn pointer(accumulator: &Accumulator<'_>) -> String {
    format!("{}_parts_ptr", accumulator.name)
}

/// Puts the partial kernel before the kernel, and the combination in place of its loop: in a copy
/// called `copy`, else in the kernel itself.
pub(super) fn edits(
    source: &Source,
    reduction: &Reduction<'_>,
    axis: Axis,
    count: i64,
    copy: Option<&str>,
) -> Vec<Edit> {
    let names = Names::of(source, reduction);
    let definition = definition(reduction.kernel);
    let partial = partial_kernel(source, reduction, &names, axis, count);
    let mut combining = parameters(source, reduction, count);
    let combination = combination(source, reduction, &names, axis);
    combining.push(Edit::replace(reduction.node.byte_range(), combination));
    let Some(name) = copy else {
        combining.push(Edit::insert(definition.start, format!("{partial}\n\n\n")));
        return combining;
    };
    combining.extend(renamed(reduction.kernel, name));
    let start = definition.start;
    let combining = excerpt(source, definition, &combining);
    vec![Edit::insert(start, format!("{partial}\n\n\n{combining}\n\n\n"))]
}

/// Gives a kernel another name.
fn renamed(kernel: Function<'_>, name: &str) -> Option<Edit> {
    let written = kernel.node().child_by_field_name("name")?;
    Some(Edit::replace(written.byte_range(), name))
}

/// Names of the variables that are added, none of them in use in the kernel.
struct Names {
    part: String,
    steps: String,
    chunk: String,
    program: String,
    /// Where an accumulator's partial results lie; in the accumulators' order.
    places: Vec<String>,
}

impl Names {
    fn of(source: &Source, reduction: &Reduction<'_>) -> Self {
        let mut taken: HashSet<String> = descendants(reduction.kernel.node())
            .filter(|node| node.kind() == "identifier")
            .map(|node| source.slice(node).to_owned())
            .collect();
        let mut fresh = |base: &str| {
            let numbered = (2..).map(|number| format!("{base}_{number}"));
            let free =
                std::iter::once(base.to_owned()).chain(numbered).find(|it| !taken.contains(it));
            let name = free.unwrap_or_default();
            taken.insert(name.clone());
            name
        };
        Self {
            part: fresh("part"),
            steps: fresh("steps"),
            chunk: fresh("chunk"),
            program: fresh("program"),
            places: reduction
                .accumulators
                .iter()
                .map(|accumulator| fresh(&format!("{}_at", accumulator.name)))
                .collect(),
        }
    }
}

/// The span of a kernel with its decorators.
pub(super) fn definition(kernel: Function<'_>) -> Range<usize> {
    let node = kernel.node();
    let decorated = node.parent().filter(|parent| parent.kind() == "decorated_definition");
    decorated.unwrap_or(node).byte_range()
}

/// Adds the workspaces in front and the number of chunks at the end.
fn parameters(source: &Source, reduction: &Reduction<'_>, count: i64) -> Vec<Edit> {
    let Some(list) = reduction.kernel.node().child_by_field_name("parameters") else {
        return Vec::new();
    };
    let pointers: String =
        reduction.accumulators.iter().map(|it| format!("{}, ", pointer(it))).collect();
    let first = first_argument(list);
    // After a parameter with a default, Python wants one here too; launches give it anyway.
    let parameters = reduction.kernel.parameters();
    let default = parameters.iter().any(|parameter| parameter.default.is_some());
    let default = if default { format!(" = {count}") } else { String::new() };
    let (at, last) = appended_argument(source, list, &format!("{SPLITS}: tl.constexpr{default}"));
    vec![Edit::insert(first, pointers), Edit::insert(at, last)]
}

/// The kernel up to the end of its loop, with the loop on one chunk, and the stores of what it
/// accumulated.
fn partial_kernel(
    source: &Source,
    reduction: &Reduction<'_>,
    names: &Names,
    axis: Axis,
    count: i64,
) -> String {
    let span = definition(reduction.kernel).start..reduction.node.end_byte();
    let mut edits = parameters(source, reduction, count);
    edits.extend(renamed(reduction.kernel, &partial_name(reduction.kernel)));
    if let Axis::Shared = axis {
        edits.extend(programs_of_first_axis(source, reduction, span.end));
    }
    edits.extend(chunk(source, reduction, names, axis));
    let mut text = excerpt(source, span, &edits);
    let indent = indent(source, reduction.node);
    for line in places(source, reduction, names, axis, &format!(" + {}", names.part)) {
        text.push_str(&format!("\n{indent}{line}"));
    }
    for (accumulator, place) in reduction.accumulators.iter().zip(&names.places) {
        text.push_str(&format!("\n{indent}tl.store({place}, {})", accumulator.name));
    }
    text
}

/// Restricts the loop to the chunk of this program.
fn chunk(source: &Source, reduction: &Reduction<'_>, names: &Names, axis: Axis) -> Vec<Edit> {
    let Names { part, steps, chunk, .. } = names;
    let term = |node: Option<Node<'_>>| node.map(|node| factor(source, node));
    let start = term(reduction.start).filter(|text| text != "0");
    let step = term(reduction.step).filter(|text| text != "1");
    let stop = source.slice(reduction.stop);
    let length = match &start {
        None => stop.to_owned(),
        Some(start) => format!("{} - {start}", factor(source, reduction.stop)),
    };
    let iterations = match &step {
        None => length,
        Some(step) => format!("tl.cdiv({length}, {step})"),
    };
    let times_step = step.as_ref().map_or_else(String::new, |step| format!(" * {step}"));

    let mut lines = vec![format!("{part} = {}", axis.part())];
    if reduction.inductions.is_empty() {
        lines.push(format!("{chunk} = tl.cdiv({iterations}, {SPLITS}){times_step}"));
    } else {
        lines.push(format!("{steps} = tl.cdiv({iterations}, {SPLITS})"));
        lines.push(format!("{chunk} = {steps}{times_step}"));
    }
    for induction in &reduction.inductions {
        let by = factor(source, induction.by);
        lines.push(format!("{} += {part}.to(tl.int64) * {steps} * {by}", induction.name));
    }
    let first = match &start {
        None => format!("{part} * {chunk}"),
        Some(start) => format!("{start} + {part} * {chunk}"),
    };
    let mut bounds = format!("{first}, tl.minimum({first} + {chunk}, {stop})");
    if let Some(step) = reduction.step {
        bounds.push_str(&format!(", {}", source.slice(step)));
    }
    let indent = indent(source, reduction.node);
    let lines: String = lines.iter().map(|line| format!("{line}\n{indent}")).collect();
    let written = reduction.start.unwrap_or(reduction.stop).start_byte();
    let end = reduction.step.unwrap_or(reduction.stop).end_byte();
    vec![Edit::insert(reduction.node.start_byte(), lines), Edit::replace(written..end, bounds)]
}

/// What stands where the loop was: the partial results, combined in order.
fn combination(source: &Source, reduction: &Reduction<'_>, names: &Names, axis: Axis) -> String {
    let part = &names.part;
    let mut lines = places(source, reduction, names, axis, "");
    // Loads of small tiles are all in flight at once when the loop is unrolled.
    let small = reduction.accumulators.iter().all(|it| it.shape.len() < 2);
    let range = if small { "tl.static_range" } else { "range" };
    lines.push(format!("for {part} in {range}({SPLITS}):"));
    let unit = unit(source, reduction.kernel);
    for (accumulator, place) in reduction.accumulators.iter().zip(&names.places) {
        let name = accumulator.name;
        let size = size(source, accumulator, 0);
        let step = size.map_or_else(String::new, |size| format!(" * {size}"));
        let next = format!("tl.load({place} + {part}{step})");
        lines.push(match accumulator.combine {
            Combine::Sum => format!("{unit}{name} += {next}"),
            Combine::Maximum => format!("{unit}{name} = tl.maximum({name}, {next})"),
            Combine::Minimum => format!("{unit}{name} = tl.minimum({name}, {next})"),
        });
    }
    lines.join(&format!("\n{}", indent(source, reduction.node)))
}

/// Statements that compute where the partial results of this program lie; `part` is added to the
/// number of the chunk.
fn places(
    source: &Source,
    reduction: &Reduction<'_>,
    names: &Names,
    axis: Axis,
    part: &str,
) -> Vec<String> {
    let program = &names.program;
    let mut lines = vec![format!("{program} = {}", axis.program(!part.is_empty()))];
    for (accumulator, place) in reduction.accumulators.iter().zip(&names.places) {
        let pointer = pointer(accumulator);
        let mut text = match (size(source, accumulator, 0), part) {
            (None, part) => format!("{pointer} + {program} * {SPLITS}{part}"),
            (Some(size), "") => format!("{pointer} + {program} * {SPLITS} * {size}"),
            (Some(size), part) => format!("{pointer} + ({program} * {SPLITS}{part}) * {size}"),
        };
        for (index, extent) in accumulator.shape.iter().enumerate() {
            let rank = accumulator.shape.len();
            let at = |dimension| if dimension == index { ":" } else { "None" };
            let view: Vec<&str> = (0..rank).map(at).collect();
            let view = if rank > 1 { format!("[{}]", view.join(", ")) } else { String::new() };
            let stride = size(source, accumulator, index + 1);
            let stride = stride.map_or_else(String::new, |stride| format!(" * {stride}"));
            text.push_str(&format!(" + tl.arange(0, {}){view}{stride}", source.slice(*extent)));
        }
        lines.push(format!("{place} = {text}"));
    }
    lines
}

/// The number of elements of an accumulator's dimensions from `first` on; `None` for one.
fn size(source: &Source, accumulator: &Accumulator<'_>, first: usize) -> Option<String> {
    let extents = accumulator.shape.get(first..).filter(|extents| !extents.is_empty())?;
    let factors: Vec<String> = extents.iter().map(|node| factor(source, *node)).collect();
    Some(if factors.len() == 1 { factors.concat() } else { format!("({})", factors.join(" * ")) })
}

/// Where the first axis is shared, its programs come in groups of one a chunk.
fn programs_of_first_axis(source: &Source, reduction: &Reduction<'_>, end: usize) -> Vec<Edit> {
    descendants(reduction.kernel.node())
        .filter(|node| node.start_byte() < end)
        .filter(|node| program_axis(source, *node) == Some(Some(0)))
        .map(|node| {
            let whole = node.parent().is_some_and(|it| it.kind() == "assignment");
            let quotient = format!("{} // {SPLITS}", source.slice(node));
            let text = if whole { quotient } else { format!("({quotient})") };
            Edit::replace(node.byte_range(), text)
        })
        .collect()
}

/// The text of an expression, in parentheses where a product needs them.
pub(super) fn factor(source: &Source, node: Node<'_>) -> String {
    let text = source.slice(node);
    if is_factor(node) { text.to_owned() } else { format!("({text})") }
}

/// Whether an expression can stand in a product as it is.
pub(super) fn is_factor(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "identifier" | "integer" | "call" | "attribute" | "subscript" | "parenthesized_expression"
    )
}

/// Where the first parameter or argument of a list stands, or would stand.
pub(super) fn first_argument(list: Node<'_>) -> usize {
    let first = children(list).find(|it| it.is_named() && it.kind() != "comment");
    first.map_or(list.start_byte() + 1, |node| node.start_byte())
}

/// The indentation of the line on which `node` starts.
pub(super) fn indent<'s>(source: &'s Source, node: Node<'_>) -> &'s str {
    let before = source.text().get(..node.start_byte()).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.get(line..).unwrap_or_default();
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

/// What a function's body is indented by, more than the function.
pub(super) fn unit<'s>(source: &'s Source, function: Function<'s>) -> &'s str {
    let statement = |it: &Node<'_>| it.is_named() && it.kind() != "comment";
    let first = function.body().and_then(|body| children(body).find(statement));
    let unit =
        first.and_then(|it| indent(source, it).strip_prefix(indent(source, function.node())));
    unit.filter(|unit| !unit.is_empty()).unwrap_or("    ")
}

/// The text of `span` after those of `edits` that lie in it.
pub(super) fn excerpt(source: &Source, span: Range<usize>, edits: &[Edit]) -> String {
    let text = source.text().get(span.clone()).unwrap_or_default();
    let moved: Vec<Edit> = edits
        .iter()
        .filter(|edit| span.start <= edit.span.start && edit.span.end <= span.end)
        .map(|edit| {
            let own = edit.span.start - span.start..edit.span.end - span.start;
            Edit::replace(own, edit.text.clone())
        })
        .collect();
    apply_edits(text, &moved).unwrap_or_else(|_| text.to_owned())
}
