//! What a step does to one kernel: its loop is cut, or the numbers of an earlier cut change.

use tree_sitter::Node;

use super::dispatch::{Decision, combining_name};
use super::host::{self, Site};
use super::reduction::Reduction;
use super::{SPLITS, Shares, device};
use crate::kernel::syntax::{Edit, Function, Source, integer};

pub(super) enum Plan<'s> {
    /// Cuts its loop.
    Cut(Box<Cut<'s>>),
    /// Its loop has been cut for every grid; the number of chunks changes.
    Retune { count: Node<'s> },
    /// Its loop has been cut for small grids.
    RetuneBelow(Vec<Decision<'s>>),
}

/// A loop that can be cut.
pub(super) struct Cut<'s> {
    reduction: Reduction<'s>,
    sites: Vec<Site<'s>>,
    /// The name of the combining kernel, where the kernel itself stays in use as it is.
    copy: Option<String>,
}

impl<'s> Plan<'s> {
    /// What can be done for `kernel`, or why nothing can; `dispatches` where the host function is
    /// to decide by the size of the grid.
    pub(super) fn of(
        source: &'s Source,
        kernel: Function<'s>,
        dispatches: bool,
    ) -> Result<Self, String> {
        if is_cut(kernel) || source.function(&device::partial_name(kernel)).is_some_and(is_cut) {
            let plan = if is_cut(kernel) {
                Self::retune(source, kernel)
            } else {
                Self::retune_below(source, kernel)
            };
            return plan.ok_or_else(|| "its reduction is shared out already".to_owned());
        }
        let reduction = Reduction::find(source, kernel)?;
        let sites = host::sites(source, &reduction, dispatches)?;
        let copy = dispatches.then(|| combining_name(source, kernel));
        Ok(Self::Cut(Box::new(Cut { reduction, sites, copy })))
    }

    /// Of the two kernels that a split makes, the one that combines is asked.
    fn retune(source: &'s Source, kernel: Function<'s>) -> Option<Self> {
        source.function(&device::partial_name(kernel))?;
        let launch = source.launches().into_iter().find(|it| it.kernel.name() == kernel.name())?;
        let given = launch.keyword(SPLITS)?.value;
        let constant = source.constant(source.slice(given), launch.host)?;
        Some(Self::Retune { count: constant.literal })
    }

    /// Of the three kernels, the one that was there is asked.
    fn retune_below(source: &'s Source, kernel: Function<'s>) -> Option<Self> {
        let partial = device::partial_name(kernel);
        let launches = source.launches().into_iter().filter(|it| it.kernel.name() == kernel.name());
        let decisions: Vec<_> =
            launches.map(|it| Decision::around(source, &it, &partial)).collect::<Option<_>>()?;
        (!decisions.is_empty()).then_some(Self::RetuneBelow(decisions))
    }

    /// How the reduction is shared out now.
    pub(super) fn current(&self, source: &Source) -> Option<Shares> {
        match self {
            Self::Cut(_) => None,
            Self::Retune { count } => Some(Shares { count: integer(source, *count)?, below: None }),
            Self::RetuneBelow(decisions) => {
                let Decision { least, count } = decisions.first()?;
                let count = integer(source, *count)?;
                Some(Shares { count, below: integer(source, *least) })
            }
        }
    }

    pub(super) fn line(&self, source: &Source) -> u32 {
        match self {
            Self::Cut(cut) => source.line(cut.reduction.node),
            Self::Retune { count } => source.line(*count),
            Self::RetuneBelow(decisions) => decisions.first().map_or(1, |it| source.line(it.least)),
        }
    }

    /// The edits that share the reduction out as `shares` says; a split that has a limit keeps it
    /// where none is given.
    pub(super) fn edits(&self, source: &Source, shares: Shares) -> Result<Vec<Edit>, String> {
        let Shares { count, below } = shares;
        let number =
            |node: Node<'_>, value: i64| Edit::replace(node.byte_range(), value.to_string());
        match self {
            Self::Retune { .. } if below.is_some() => Err(
                "its reduction is shared out for every grid already, and the kernel of one stage is \
                 gone: give the limit in the step that splits it"
                    .to_owned(),
            ),
            Self::Retune { count: literal } => Ok(vec![number(*literal, count)]),
            Self::RetuneBelow(decisions) => Ok(decisions
                .iter()
                .flat_map(|it| {
                    let least = below.map(|below| number(it.least, below));
                    std::iter::once(number(it.count, count)).chain(least)
                })
                .collect()),
            Self::Cut(cut) => Ok(cut.edits(source, shares)),
        }
    }
}

impl Cut<'_> {
    fn edits(&self, source: &Source, shares: Shares) -> Vec<Edit> {
        let Self { reduction, sites, copy } = self;
        let axis = host::axis(sites);
        let mut edits = device::edits(source, reduction, axis, shares.count, copy.as_deref());
        let combining = copy.as_deref().unwrap_or_else(|| reduction.kernel.name());
        for site in sites {
            edits.extend(site.edits(source, reduction, shares, combining));
        }
        if source.text().contains("\r\n") {
            for edit in &mut edits {
                edit.text = edit.text.replace("\r\n", "\n").replace('\n', "\r\n");
            }
        }
        edits
    }
}

/// Whether a kernel takes the number of chunks: it is one of those that a split makes.
fn is_cut(kernel: Function<'_>) -> bool {
    kernel.parameters().iter().any(|parameter| parameter.name == SPLITS)
}
