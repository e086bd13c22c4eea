//! `below 640`: a grid that fills the device by itself stays with the kernel as it was.
//!
//! The second launch and the workspace cost a few percent where there were programs enough, so
//! the host function decides by the size of the one-stage grid:
//!
//! ```text
//! if triton.cdiv(M, BLOCK_M) >= 640:
//!     _matvec_kernel[grid](…)            as it was
//! else:
//!     SPLITS = 16
//!     acc_parts = torch.empty(…)
//!     _matvec_kernel_partial[…](…)
//!     _matvec_kernel_combine[grid](…)
//! ```

use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::Node;

use super::SPLITS;
use super::constants::Constants;
use super::device::{indent, unit};
use super::grid::Grid;
use crate::kernel::syntax::{Function, Launch, Source, children, descendants, integer};

/// A launch statement that is to become one of two branches.
#[derive(Debug)]
pub(super) struct Branches {
    /// The number of programs of the one-stage grid, as an expression of the host function.
    programs: String,
    /// The launch statement, with a comment that follows on its last line.
    pub lines: Range<usize>,
    /// What stands before every line of the statement's block, and what a block is indented by.
    indent: String,
    unit: String,
}

impl Branches {
    /// Why not, where there is a reason against it.
    pub(super) fn of<'s>(
        source: &'s Source,
        launch: &Launch<'s>,
        statement: Node<'s>,
        grid: &Grid<'s>,
        constants: &Constants<'s>,
    ) -> Result<Self, String> {
        let lines = whole_lines(source, statement)
            .ok_or("another statement shares the lines of its launch")?;
        let programs = grid
            .programs(source, &constants.grid_edits())
            .ok_or("its grid is the same in every call, so there is nothing to decide by")?;
        let indent = indent(source, statement).to_owned();
        let unit = launch.host.map_or("    ", |host| unit(source, host)).to_owned();
        Ok(Self { programs, lines, indent, unit })
    }

    /// The statement that decides: `one_stage` where there are `least` programs or more, else
    /// the statements of `two_stages`.
    pub(super) fn statement(&self, least: i64, one_stage: &str, two_stages: &[String]) -> String {
        let Self { programs, indent, unit, .. } = self;
        let block = |statements: &[String]| -> String {
            let deeper = |text: &String| format!("\n{indent}{unit}{}", deeper(text, unit));
            statements.iter().map(deeper).collect()
        };
        let one_stage = block(&[one_stage.to_owned()]);
        let two_stages = block(two_stages);
        format!("if {programs} >= {least}:{one_stage}\n{indent}else:{two_stages}")
    }
}

/// The numbers of a launch that an earlier step made to be one of two branches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision<'s> {
    /// From as many programs on there is one stage.
    pub least: Node<'s>,
    /// The value of `SPLITS` in the other branch.
    pub count: Node<'s>,
}

impl<'s> Decision<'s> {
    /// Reads the statement around the one-stage `launch`; `partial` is the kernel launched first
    /// in the other branch.
    pub(super) fn around(source: &'s Source, launch: &Launch<'s>, partial: &str) -> Option<Self> {
        let branch = launch.node.parent()?.parent()?;
        let decides = branch.parent().filter(|it| it.kind() == "if_statement")?;
        let field = |name| decides.child_by_field_name(name);
        let condition = field("condition").filter(|it| it.kind() == "comparison_operator")?;
        let [_, operator, least] =
            <[_; 3]>::try_from(children(condition).collect::<Vec<_>>()).ok()?;
        let other = field("alternative").filter(|it| it.kind() == "else_clause")?;
        let launches_partial = source.launches().iter().any(|it| {
            it.kernel.name() == partial && other.byte_range().contains(&it.node.start_byte())
        });
        let mut counts = descendants(other)
            .filter(|node| node.kind() == "assignment")
            .filter(|node| {
                node.child_by_field_name("left").is_some_and(|it| source.slice(it) == SPLITS)
            })
            .filter_map(|node| node.child_by_field_name("right"));
        let (count, None) = (counts.next()?, counts.next()) else { return None };
        let numbers = integer(source, least).is_some() && integer(source, count).is_some();
        (field("consequence") == Some(branch)
            && operator.kind() == ">="
            && launches_partial
            && numbers)
            .then_some(Self { least, count })
    }
}

/// A name for the copy of `kernel` that combines, not in use in the source.
pub(super) fn combining_name(source: &Source, kernel: Function<'_>) -> String {
    let taken: HashSet<&str> = descendants(source.root())
        .filter(|node| node.kind() == "identifier")
        .map(|node| source.slice(node))
        .collect();
    let base = format!("{}_combine", kernel.name());
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    std::iter::once(base.clone())
        .chain(numbered)
        .find(|name| !taken.contains(name.as_str()))
        .unwrap_or_default()
}

/// A statement and what follows on its last line, if that is at most a comment, and if its first
/// line does not continue another one.
fn whole_lines(source: &Source, statement: Node<'_>) -> Option<Range<usize>> {
    let text = source.text();
    let rest = text.get(statement.end_byte()..)?;
    let rest = rest.split('\n').next().unwrap_or_default().trim_end();
    let before = text.get(..statement.start_byte())?.trim_end();
    let alone = rest.trim_start().is_empty() || rest.trim_start().starts_with('#');
    (alone && !before.ends_with('\\'))
        .then(|| statement.start_byte()..statement.end_byte() + rest.len())
}

/// A statement whose lines after the first are indented by `unit` more, except for those that
/// begin within a string.
fn deeper(statement: &str, unit: &str) -> String {
    let parsed = Source::parse(statement);
    let strings: Vec<Range<usize>> = parsed.iter().flat_map(rows_within_strings).collect();
    let line = |(row, line): (usize, &str)| {
        let stays =
            row == 0 || line.trim().is_empty() || strings.iter().any(|it| it.contains(&row));
        if stays { line.to_owned() } else { format!("{unit}{line}") }
    };
    statement.split('\n').enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// The rows that begin within a string, string by string.
fn rows_within_strings(source: &Source) -> Vec<Range<usize>> {
    descendants(source.root())
        .filter(|node| node.kind() == "string")
        .map(|node| node.start_position().row + 1..node.end_position().row + 1)
        .collect()
}
