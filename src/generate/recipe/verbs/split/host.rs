//! The launches: a workspace, the partial kernel on a larger grid, the combining one on the grid
//! as it was.

use tree_sitter::Node;

use super::constants::{Constants, argument};
use super::device::{excerpt, first_argument, indent, partial_name};
use super::dispatch::Branches;
use super::grid::{self, Axis, Grid};
use super::reduction::Reduction;
use super::{SPLITS, Shares};
use crate::generate::recipe::addresses::base_parameters;
use crate::generate::recipe::verbs::programs::{helpers_ask, program_axis};
use crate::kernel::syntax::{
    Edit, Function, Launch, Source, appended_argument, children, descendants, is_language_call,
    positional,
};

/// A launch that can be split.
#[derive(Debug)]
pub(super) struct Site<'s> {
    launch: Launch<'s>,
    grid: Grid<'s>,
    constants: Constants<'s>,
    /// The statement before which the constants are assigned.
    first: Node<'s>,
    /// An argument that is a tensor: its device is the workspace's.
    tensor: &'s str,
    /// The accumulators' dimensions in the host's words.
    shapes: Vec<Vec<String>>,
    /// Set where the host function decides by the size of the grid.
    branches: Option<Branches>,
}

/// The axis for the chunks; the same at all sites.
pub(super) fn axis(sites: &[Site<'_>]) -> Axis {
    match sites.first().map_or(1, |site| site.grid.axes()) {
        3.. => Axis::Shared,
        axes => Axis::Own(axes),
    }
}

/// All launches of the reduction's kernel, or why one of them cannot be split; `dispatches` where
/// each is to stay as one of two branches.
pub(super) fn sites<'s>(
    source: &'s Source,
    reduction: &Reduction<'s>,
    dispatches: bool,
) -> Result<Vec<Site<'s>>, String> {
    let kernel = reduction.kernel;
    imports(source)?;
    let jit_alone = kernel.decorators().len() == 1;
    if !jit_alone {
        return Err("it has decorators besides @triton.jit".to_owned());
    }
    let launches: Vec<_> = source
        .launches()
        .into_iter()
        .filter(|launch| launch.kernel.name() == kernel.name())
        .collect();
    let mentions = descendants(source.root())
        .filter(|node| node.kind() == "identifier" && source.slice(*node) == kernel.name())
        .count();
    if launches.is_empty() || mentions != launches.len() + 1 {
        return Err("it is used otherwise than in launches of this file".to_owned());
    }
    names_are_free(source, reduction)?;
    let sites: Vec<Site<'_>> = launches
        .into_iter()
        .map(|it| Site::read(source, reduction, it, dispatches))
        .collect::<Result<_, _>>()?;
    let axes: Vec<usize> = sites.iter().map(|site| site.grid.axes()).collect();
    if axes.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err("its launches have grids of different rank".to_owned());
    }
    programs_fit(source, kernel, axes.first().copied().unwrap_or(1))?;
    Ok(sites)
}

/// The names that are added mean nothing in the source yet.
fn names_are_free(source: &Source, reduction: &Reduction<'_>) -> Result<(), String> {
    let workspaces = reduction.accumulators.iter().map(|it| format!("{}_parts", it.name));
    let new: Vec<String> = workspaces
        .flat_map(|name| [format!("{name}_ptr"), name])
        .chain([SPLITS.to_owned(), partial_name(reduction.kernel)])
        .collect();
    let taken = descendants(source.root())
        .filter(|node| node.kind() == "identifier")
        .find(|node| new.iter().any(|name| name == source.slice(*node)));
    taken.map_or(Ok(()), |node| Err(format!("the name {} is taken", source.slice(node))))
}

/// The generated code says `torch.empty` and `tl.load`.
fn imports(source: &Source) -> Result<(), String> {
    let imports = |name: &str| {
        descendants(source.root())
            .filter(|node| matches!(node.kind(), "import_statement" | "import_from_statement"))
            .flat_map(children)
            .any(|it| {
                source.slice(it) == name || source.slice(it).ends_with(&format!(" as {name}"))
            })
    };
    if imports("torch") && imports("tl") {
        return Ok(());
    }
    Err("the file does not import torch, and triton.language as tl".to_owned())
}

/// Whether every program number that the kernel asks for can be told from the chunk's.
fn programs_fit(source: &Source, kernel: Function<'_>, axes: usize) -> Result<(), String> {
    for node in descendants(kernel.node()) {
        match program_axis(source, node) {
            None => {}
            Some(Some(axis)) if axis < axes => {}
            Some(_) => {
                return Err(format!("it asks for `{}`, beyond its grid", source.slice(node)));
            }
        }
    }
    if helpers_ask(source, kernel) {
        return Err("a function that it calls asks for program numbers".to_owned());
    }
    Ok(())
}

impl<'s> Site<'s> {
    fn read(
        source: &'s Source,
        reduction: &Reduction<'s>,
        launch: Launch<'s>,
        dispatches: bool,
    ) -> Result<Self, String> {
        let place = |what: &str| format!("{what} (line {})", source.line(launch.node));
        if launch.host.is_none() {
            return Err(place("it is launched outside of a function"));
        }
        let statement = launch
            .node
            .parent()
            .filter(|it| it.kind() == "expression_statement" && stands_alone(source, *it))
            .ok_or_else(|| place("its launch is not a statement on lines of its own"))?;
        let tensor = tensor(source, reduction.kernel, &launch)
            .ok_or_else(|| place("no argument of its launch is known to be a tensor"))?;
        let mut constants = Constants::default();
        // What the shapes and the grid rest on decides the constants' names, with which they are
        // then read.
        shapes(source, reduction, &launch, &mut constants).map_err(|it| place(&it))?;
        let unreadable = || place("its grid cannot be read as a tuple");
        Grid::read(source, &launch, &mut constants).ok_or_else(unreadable)?;
        if dispatches {
            constants.share_tiles(source, &launch, true);
        }
        constants.hear_grid(source, &launch).map_err(|it| place(&it))?;
        if dispatches {
            constants.share_tiles(source, &launch, false);
        }
        let shapes = shapes(source, reduction, &launch, &mut constants).map_err(|it| place(&it))?;
        let grid = Grid::read(source, &launch, &mut constants).ok_or_else(unreadable)?;
        let first = constants
            .first_statement(statement)
            .filter(|it| stands_alone(source, *it))
            .ok_or_else(|| place("its grid is made in another block"))?;
        let branches = dispatches
            .then(|| Branches::of(source, &launch, statement, &grid, &constants))
            .transpose()
            .map_err(|it| place(&it))?;
        Ok(Self { launch, grid, constants, first, tensor, shapes, branches })
    }

    /// Puts both stages in place of the launch, or beside it where the host function decides.
    pub(super) fn edits(
        &self,
        source: &Source,
        reduction: &Reduction<'_>,
        shares: Shares,
        combining: &str,
    ) -> Vec<Edit> {
        let launch = self.launch.node.byte_range();
        let two_stages = self.two_stages(source, reduction, shares.count, combining);
        let (span, text) = match (&self.branches, shares.below) {
            (Some(branches), Some(least)) => {
                let mut names = self.constants.grid_edits();
                names.extend(self.constants.argument_edits());
                names.extend(self.further_arguments(source));
                let one_stage = excerpt(source, branches.lines.clone(), &names);
                (branches.lines.clone(), branches.statement(least, &one_stage, &two_stages))
            }
            _ => (launch, two_stages.join(&format!("\n{}", indent(source, self.launch.node)))),
        };
        let mut edits = vec![before(source, self.first, &self.constants.assignments(source))];
        // Names in a grid that is made before the launch.
        let elsewhere = |edit: &Edit| edit.span.end <= span.start || span.end <= edit.span.start;
        edits.extend(self.constants.grid_edits().into_iter().filter(elsewhere));
        edits.push(Edit::replace(span, text));
        edits
    }

    /// Statements that allocate the workspaces, launch the partial kernel, and pass the workspaces
    /// on to the combining one.
    fn two_stages(
        &self,
        source: &Source,
        reduction: &Reduction<'_>,
        count: i64,
        combining: &str,
    ) -> Vec<String> {
        let workspaces: Vec<String> =
            reduction.accumulators.iter().map(|it| format!("{}_parts", it.name)).collect();
        let renamed = self.constants.grid_edits();
        let mut lines = vec![format!("{SPLITS} = {count}")];
        for ((name, accumulator), shape) in
            workspaces.iter().zip(&reduction.accumulators).zip(&self.shapes)
        {
            let mut extents = vec![self.grid.spread(source, &renamed), SPLITS.to_owned()];
            extents.extend(shape.iter().cloned());
            lines.push(format!(
                "{name} = torch.empty(({}), device={}.device, dtype=torch.{})",
                extents.join(", "),
                self.tensor,
                accumulator.dtype
            ));
        }
        let list = self.launch.list;
        let mut named = self.constants.further_arguments();
        named.push(format!("{SPLITS}={SPLITS}"));
        let (last, named) = appended_argument(source, list, &named.join(", "));
        let positional: String = workspaces.iter().map(|name| format!("{name}, ")).collect();
        let mut arguments = self.constants.argument_edits();
        arguments.push(Edit::insert(first_argument(list), positional));
        arguments.push(Edit::insert(last, named));

        let launch = |kernel: &str, grid: &[Edit]| {
            let mut edits = [&arguments, grid].concat();
            let callee = self.launch.node.child_by_field_name("function");
            let name = callee.and_then(|it| it.child_by_field_name("value"));
            edits.extend(name.map(|name| Edit::replace(name.byte_range(), kernel)));
            excerpt(source, self.launch.node.byte_range(), &edits)
        };
        let larger = self.grid.with_splits(source, &renamed);
        let larger = Edit::replace(grid::span(&self.launch), larger);
        lines.push(launch(&partial_name(self.launch.kernel), &[larger]));
        lines.push(launch(combining, &renamed));
        lines
    }

    /// Arguments for what the one-stage launch left to a default that is a name now.
    fn further_arguments(&self, source: &Source) -> Option<Edit> {
        let further = self.constants.further_arguments();
        let (at, text) = appended_argument(source, self.launch.list, &further.join(", "));
        (!further.is_empty()).then(|| Edit::insert(at, text))
    }
}

/// The accumulators' dimensions in the host's words.
fn shapes<'s>(
    source: &'s Source,
    reduction: &Reduction<'s>,
    launch: &Launch<'s>,
    constants: &mut Constants<'s>,
) -> Result<Vec<Vec<String>>, String> {
    let accumulators = reduction.accumulators.iter();
    accumulators
        .map(|accumulator| {
            let extents = accumulator.shape.iter();
            let extents: Option<Vec<String>> =
                extents.map(|node| constants.in_host(source, launch, *node)).collect();
            extents.ok_or_else(|| {
                format!("the shape of {} is not known at its launch", accumulator.name)
            })
        })
        .collect()
}

/// Whether a statement shares its lines with no other.
fn stands_alone(source: &Source, statement: Node<'_>) -> bool {
    let before = source.text().get(..statement.start_byte()).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.trim().is_empty()
}

/// Puts `lines` before a statement, as indented as it is.
fn before(source: &Source, statement: Node<'_>, lines: &[String]) -> Edit {
    let indent = indent(source, statement);
    let text: String = lines.iter().map(|line| format!("{line}\n{indent}")).collect();
    Edit::insert(statement.start_byte(), text)
}

/// The name of a tensor among the arguments: what the kernel stores to, else what it loads from.
fn tensor<'s>(source: &'s Source, kernel: Function<'s>, launch: &Launch<'s>) -> Option<&'s str> {
    let accesses = |name: &'static str| {
        descendants(kernel.node()).filter(move |node| is_language_call(source, *node, name))
    };
    let mut pointers = accesses("store").chain(accesses("load"));
    pointers.find_map(|access| {
        let pointers = base_parameters(source, kernel, *positional(access).first()?)?;
        let argument = argument(launch, pointers.first()?)?;
        (argument.kind() == "identifier").then(|| source.slice(argument))
    })
}
