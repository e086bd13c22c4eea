//! The grid of a launch, and how the chunks get programs of their own.

use std::ops::Range;

use tree_sitter::Node;

use super::SPLITS;
use super::constants::Constants;
use super::device::{excerpt, is_factor};
use crate::kernel::syntax::{Edit, Function, Launch, Source, children, descendants, integer};

/// How the programs of the partial kernel are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// The grid has fewer than three axes, this many, and gets another.
    Own(usize),
    /// The grid has three axes, and the first gets a program for each chunk.
    Shared,
}

impl Axis {
    /// The number of this program's chunk.
    pub(super) fn part(self) -> String {
        match self {
            Self::Own(axis) => format!("tl.program_id({axis})"),
            Self::Shared => format!("tl.program_id(0) % {SPLITS}"),
        }
    }

    /// The number of this program in the grid before the split, as a 64-bit integer; `partial`
    /// in the partial kernel.
    pub(super) fn program(self, partial: bool) -> String {
        let (axes, first) = match self {
            Self::Own(axes) => (axes, "tl.program_id(0)".to_owned()),
            Self::Shared if partial => (3, format!("(tl.program_id(0) // {SPLITS})")),
            Self::Shared => (3, "tl.program_id(0)".to_owned()),
        };
        let mut number = format!("{first}.to(tl.int64)");
        for axis in 1..axes {
            let before = if axis > 1 { format!("({number})") } else { number };
            number = format!("{before} * tl.num_programs({axis}) + tl.program_id({axis})");
        }
        number
    }
}

/// The grid of a launch.
#[derive(Debug)]
pub(super) enum Grid<'s> {
    /// A name that stands for a tuple with these elements.
    Named(&'s str, Vec<Node<'s>>),
    /// The extents, with names of the host to be put in place of some of their parts.
    Extents(Vec<Node<'s>>, Vec<Edit>),
}

impl<'s> Grid<'s> {
    pub(super) fn read(
        source: &'s Source,
        launch: &Launch<'s>,
        constants: &mut Constants<'s>,
    ) -> Option<Self> {
        let grid = launch.grid;
        let brackets = grid.parent()?;
        let read = if children(brackets).any(|it| it.kind() == ",") {
            Self::Extents(elements(brackets)?.split_off(1), Vec::new())
        } else if grid.kind() == "identifier" {
            let name = source.slice(grid);
            let value = only_value(source, launch.host?, name)?;
            match value.kind() {
                "tuple" => Self::Named(name, elements(value)?),
                _ => Self::of_expression(source, launch, value, constants)?,
            }
        } else {
            Self::of_expression(source, launch, grid, constants)?
        };
        (1..=3).contains(&read.axes()).then_some(read)
    }

    /// Reads a tuple, or the tuple that a function of the metaparameters returns, with the
    /// launch's values in place of the metaparameters.
    fn of_expression(
        source: &'s Source,
        launch: &Launch<'s>,
        grid: Node<'s>,
        constants: &mut Constants<'s>,
    ) -> Option<Self> {
        if matches!(grid.kind(), "tuple" | "list") {
            return Some(Self::Extents(elements(grid)?, Vec::new()));
        }
        if grid.kind() != "lambda" {
            return None;
        }
        let meta = source.slice(grid.child_by_field_name("parameters")?);
        let tuple = grid.child_by_field_name("body").filter(|it| it.kind() == "tuple")?;
        let mut edits = Vec::new();
        for used in descendants(tuple) {
            if used.kind() != "identifier" || source.slice(used) != meta {
                continue;
            }
            let item = used.parent().filter(|it| it.kind() == "subscript")?;
            let key = source.slice(item.child_by_field_name("subscript")?);
            let value = constants.value(source, launch, key.trim_matches(['"', '\'']))?;
            edits.push(Edit::replace(item.byte_range(), value));
        }
        Some(Self::Extents(elements(tuple)?, edits))
    }

    pub(super) fn axes(&self) -> usize {
        self.nodes().len()
    }

    fn nodes(&self) -> &[Node<'s>] {
        match self {
            Self::Named(_, nodes) | Self::Extents(nodes, _) => nodes,
        }
    }

    /// The number of programs, for use on one side of a comparison, after further `edits`;
    /// `None` where the grid is the same in every call.
    pub(super) fn programs(&self, source: &Source, edits: &[Edit]) -> Option<String> {
        if self.nodes().iter().all(|node| integer(source, *node).is_some()) {
            return None;
        }
        let counts = |(_, node): &(usize, &Node<'_>)| integer(source, **node) != Some(1);
        let axes: Vec<_> = self.nodes().iter().enumerate().filter(counts).collect();
        let alone = axes.len() == 1;
        let factors = axes.iter().map(|(axis, node)| match self {
            Self::Named(name, _) => format!("{name}[{axis}]"),
            Self::Extents(_, own) => {
                let text = excerpt(source, node.byte_range(), &[own, edits].concat());
                let sum = alone && node.kind() == "binary_operator";
                // A line break wants brackets around it.
                let bare = (sum || is_factor(**node)) && !text.contains('\n');
                if bare { text } else { format!("({text})") }
            }
        });
        Some(factors.collect::<Vec<_>>().join(" * "))
    }

    /// The extents, for use in a tuple, after further `edits`.
    pub(super) fn spread(&self, source: &Source, edits: &[Edit]) -> String {
        match self {
            Self::Named(name, _) => format!("*{name}"),
            Self::Extents(..) => self.extents(source, edits).join(", "),
        }
    }

    /// The grid of the partial kernel.
    pub(super) fn with_splits(&self, source: &Source, edits: &[Edit]) -> String {
        match (self.axes(), self.extents(source, edits).as_slice()) {
            (3, [first, second, third]) => format!("({first} * {SPLITS}, {second}, {third})"),
            _ => format!("({}, {SPLITS})", self.spread(source, edits)),
        }
    }

    /// The text of every extent; the first as a factor.
    fn extents(&self, source: &Source, edits: &[Edit]) -> Vec<String> {
        match self {
            Self::Named(name, axes) => {
                (0..axes.len()).map(|axis| format!("{name}[{axis}]")).collect()
            }
            Self::Extents(nodes, own) => {
                let edits = [own, edits].concat();
                let text = |node: &Node<'_>| excerpt(source, node.byte_range(), &edits);
                let mut extents: Vec<String> = nodes.iter().map(text).collect();
                if let (3, Some(first), Some(node)) =
                    (nodes.len(), extents.first_mut(), nodes.first())
                    && matches!(node.kind(), "binary_operator" | "conditional_expression")
                {
                    *first = format!("({first})");
                }
                extents
            }
        }
    }
}

/// All that stands between the brackets of a launch, a tuple without parentheses too.
pub(super) fn span(launch: &Launch<'_>) -> Range<usize> {
    let end = |brackets: Node<'_>| {
        children(brackets).last().map_or(brackets.end_byte(), |bracket| bracket.start_byte())
    };
    let start = launch.grid.start_byte();
    start..launch.grid.parent().map_or(launch.grid.end_byte(), end)
}

/// The elements of a tuple; `None` with a splat among them.
fn elements(tuple: Node<'_>) -> Option<Vec<Node<'_>>> {
    let parts = children(tuple).filter(|it| it.is_named() && it.kind() != "comment");
    parts.map(|it| (it.kind() != "list_splat").then_some(it)).collect()
}

/// The value of a name that a function assigns once.
fn only_value<'s>(source: &'s Source, host: Function<'s>, name: &str) -> Option<Node<'s>> {
    if host.parameters().iter().any(|parameter| parameter.name == name) {
        return None;
    }
    let mut values = descendants(host.node()).filter_map(|node| {
        let target = match node.kind() {
            "assignment" | "augmented_assignment" | "for_statement" => "left",
            "named_expression" | "function_definition" => "name",
            _ => return None,
        };
        let target = node.child_by_field_name(target)?;
        let is_name = |it: Node<'_>| it.kind() == "identifier" && source.slice(it) == name;
        let plain = node.kind() == "assignment" && target.kind() == "identifier";
        descendants(target)
            .any(is_name)
            .then(|| node.child_by_field_name("right").filter(|_| plain))
    });
    let (value, None) = (values.next()?, values.next()) else { return None };
    value
}
