//! Tile sizes that the host function has to speak of, as names.
//!
//! A workspace is allocated in tiles. Where a launch gives a tile size as a number, the number
//! becomes a constant of the host function, so that the launches, the grid and the workspace
//! cannot come apart when another step changes it.

use std::collections::HashSet;

use tree_sitter::Node;

use super::device::{excerpt, factor};
use crate::generate::recipe::{flow::Flow, tiling::tile_use};
use crate::kernel::syntax::{
    Edit, Function, Launch, Source, callee, children, descendants, integer, positional,
};

/// The numbers of one launch that become names.
#[derive(Debug, Default)]
pub(super) struct Constants<'s> {
    named: Vec<Named<'s>>,
    /// Numbers in the grid that repeat one of them, with its index.
    echoes: Vec<(Node<'s>, usize)>,
}

#[derive(Debug)]
struct Named<'s> {
    parameter: &'s str,
    name: String,
    literal: Node<'s>,
    /// Whether the launch gives it; else it is the kernel's default.
    given: bool,
}

impl<'s> Constants<'s> {
    /// What the host gives for a parameter, as a factor: its argument, else its default.
    pub(super) fn value(
        &mut self,
        source: &'s Source,
        launch: &Launch<'s>,
        parameter: &str,
    ) -> Option<String> {
        if let Some(known) = self.named.iter().find(|it| it.parameter == parameter) {
            return Some(known.name.clone());
        }
        let declared = launch.kernel.parameters().into_iter().find(|it| it.name == parameter)?;
        let argument = argument(launch, parameter);
        let value = match argument {
            Some(value) => value,
            None => declared
                .default
                .filter(|it| integer(source, *it).is_some() && !launch.has_splat())?,
        };
        if integer(source, value).is_none() {
            return Some(factor(source, value));
        }
        let name = self.free_name(source, launch.host?, declared.name);
        self.named.push(Named {
            parameter: declared.name,
            name: name.clone(),
            literal: value,
            given: argument.is_some(),
        });
        Some(name)
    }

    /// An expression of the kernel in the host's words.
    pub(super) fn in_host(
        &mut self,
        source: &'s Source,
        launch: &Launch<'s>,
        node: Node<'s>,
    ) -> Option<String> {
        let mut edits = Vec::new();
        for name in descendants(node) {
            match name.kind() {
                "identifier" => {
                    let value = self.value(source, launch, source.slice(name))?;
                    edits.push(Edit::replace(name.byte_range(), value));
                }
                "call" | "attribute" => return None,
                _ => {}
            }
        }
        Some(excerpt(source, node.byte_range(), &edits))
    }

    /// Makes names of the tile sizes that the launch gives as numbers, for a host function that
    /// launches other kernels with the same tiles: of those that the grid has to follow, defaults
    /// too, or of the others.
    pub(super) fn share_tiles(&mut self, source: &'s Source, launch: &Launch<'s>, in_grid: bool) {
        for parameter in launch.kernel.parameters() {
            let tile = tile_use(source, launch.kernel, parameter.name);
            if tile.is_none_or(|tile| tile.in_grid != in_grid) {
                continue;
            }
            let given = argument(launch, parameter.name);
            if given.map_or(in_grid, |it| integer(source, it).is_some()) {
                self.value(source, launch, parameter.name);
            }
        }
    }

    /// Finds where the grid repeats the numbers, and why they cannot become names if it may
    /// follow one in a way that cannot be seen. Equal numbers that the grid repeats cannot be
    /// told apart and get one name.
    pub(super) fn hear_grid(
        &mut self,
        source: &'s Source,
        launch: &Launch<'s>,
    ) -> Result<(), String> {
        let Some(host) = launch.host else { return Ok(()) };
        let nodes: Vec<Node<'s>> =
            Flow::of(source, host).reachable(launch.grid, |_| false).collect();
        for index in 0..self.named.len() {
            let (value, parameter) =
                (source.slice(self.named[index].literal), self.named[index].parameter);
            let by_key = nodes.iter().any(|node| {
                node.kind() == "string"
                    && source.slice(*node).trim_matches(['"', '\'']) == parameter
            });
            let repeats: Vec<Node<'s>> = nodes
                .iter()
                .filter(|node| node.kind() == "call" && callee(source, **node) == Some("cdiv"))
                .filter_map(|node| positional(*node).get(1).copied())
                .filter(|divisor| source.slice(*divisor) == value)
                .collect();
            let in_grid =
                tile_use(source, launch.kernel, parameter).is_none_or(|tile| tile.in_grid);
            if by_key || (!in_grid && repeats.is_empty()) {
                continue;
            }
            if repeats.is_empty() {
                return Err(format!("its grid does not say how it follows {parameter}"));
            }
            let shared = self.named[index].name.clone();
            for twin in self.named.iter_mut().filter(|it| source.slice(it.literal) == value) {
                twin.name.clone_from(&shared);
            }
            let new = repeats.into_iter().filter(|it| !self.echoes.iter().any(|(e, _)| e == it));
            let new: Vec<_> = new.map(|node| (node, index)).collect();
            self.echoes.extend(new);
        }
        Ok(())
    }

    /// Puts the names in place of the numbers that the grid repeats.
    pub(super) fn grid_edits(&self) -> Vec<Edit> {
        let name = |index: usize| self.named.get(index).map_or("", |it| it.name.as_str());
        self.echoes
            .iter()
            .map(|(node, index)| Edit::replace(node.byte_range(), name(*index)))
            .collect()
    }

    /// Puts the names in place of the numbers that the launch gives.
    pub(super) fn argument_edits(&self) -> Vec<Edit> {
        let given = self.named.iter().filter(|it| it.given);
        given.map(|it| Edit::replace(it.literal.byte_range(), it.name.clone())).collect()
    }

    /// Keyword arguments for what was left to a default.
    pub(super) fn further_arguments(&self) -> Vec<String> {
        let defaults = self.named.iter().filter(|it| !it.given);
        defaults.map(|it| format!("{}={}", it.parameter, it.name)).collect()
    }

    /// The assignments, and the statement of the host that they have to precede.
    pub(super) fn assignments(&self, source: &Source) -> Vec<String> {
        let assign = |it: &Named<'_>| format!("{} = {}", it.name, source.slice(it.literal));
        let mut lines: Vec<String> = self.named.iter().map(assign).collect();
        lines.dedup();
        lines
    }

    /// The first statement, up to `launch`, in which a name takes the place of a number; `None`
    /// if it is not in the same block, where an assignment before it might not be reached.
    pub(super) fn first_statement(&self, launch: Node<'s>) -> Option<Node<'s>> {
        let block = launch.parent()?;
        let mut first = launch;
        for (node, _) in &self.echoes {
            let mut at = *node;
            while at.parent()? != block {
                at = at.parent()?;
            }
            if at.start_byte() < first.start_byte() {
                first = at;
            }
        }
        Some(first)
    }

    /// The parameter's name, or that with a number where the host has it already.
    fn free_name(&self, source: &Source, host: Function<'_>, parameter: &str) -> String {
        let is_keyword = |node: Node<'_>| {
            node.parent().is_some_and(|parent| {
                parent.kind() == "keyword_argument"
                    && parent.child_by_field_name("name") == Some(node)
            })
        };
        let taken: HashSet<&str> = descendants(host.node())
            .filter(|node| node.kind() == "identifier" && !is_keyword(*node))
            .map(|node| source.slice(node))
            .chain(self.named.iter().map(|it| it.name.as_str()))
            .collect();
        let numbered = (2..).map(|number| format!("{parameter}_{number}"));
        std::iter::once(parameter.to_owned())
            .chain(numbered)
            .find(|name| !taken.contains(name.as_str()))
            .unwrap_or_default()
    }
}

/// The argument for a parameter; also one that stands before `*args`.
pub(super) fn argument<'s>(launch: &Launch<'s>, parameter: &str) -> Option<Node<'s>> {
    let before_splat = || {
        let splat = children(launch.list).find(|it| it.kind() == "list_splat")?;
        let index = launch.kernel.parameters().iter().position(|it| it.name == parameter)?;
        let node = launch.positional.get(index)?;
        (node.end_byte() <= splat.start_byte()).then_some(*node)
    };
    launch.binding(parameter).or_else(before_splat)
}
