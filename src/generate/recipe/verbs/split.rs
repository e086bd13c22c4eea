//! `split 16`: a long reduction shared out over programs, in two stages.
//!
//! A kernel whose loop sums (or takes the maximum of) a long dimension leaves most of the device
//! idle when its grid is small. The loop is cut into chunks: a first kernel, with as many programs
//! more, writes each chunk's partial result to a workspace, and the kernel itself combines them
//! where its loop was and goes on as before.
//!
//! `split 16 below 640` leaves a grid of 640 programs or more, which fills the device by itself,
//! to the kernel as it was: the host function decides at every call, and a copy of the kernel
//! combines.
//!
//! The workspace of an accumulator has the shape `[grid…, SPLITS, accumulator…]`. Partial results
//! are combined in a fixed order, so that the answer stays the same from call to call; it differs
//! from the unsplit one by the order of additions.

mod constants;
mod device;
mod dispatch;
mod grid;
mod host;
mod plan;
mod reduction;

use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Edit, Function, Source};
use plan::Plan;

pub(super) struct Split;

/// Worth trying, the most telling first. A limit of 640 programs is about five for each of the
/// multiprocessors of a large GPU, one of 256 about two.
const WORTH: [Shares; 10] = [
    Shares::always(16),
    Shares::below(640, 16),
    Shares::always(64),
    Shares::below(640, 64),
    Shares::always(4),
    Shares::always(32),
    Shares::always(8),
    Shares::always(2),
    Shares::below(256, 16),
    Shares::below(640, 4),
];

/// More than this only costs workspace.
const MOST: i64 = 1024;

/// What the first axis of a grid may have.
const MOST_PROGRAMS: i64 = i32::MAX as i64;

/// The name of the number of chunks, in the kernels and in the host function.
const SPLITS: &str = "SPLITS";

/// How a reduction is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shares {
    /// The number of chunks.
    count: i64,
    /// Only where the grid has fewer programs than this.
    below: Option<i64>,
}

impl Shares {
    const fn always(count: i64) -> Self {
        Self { count, below: None }
    }

    const fn below(programs: i64, count: i64) -> Self {
        Self { count, below: Some(programs) }
    }

    /// The step that shares out like this, perhaps the reduction of one kernel among several.
    fn step(self, kernel: Option<&str>) -> Step {
        let mut step = Step::new(Split.name()).word(self.count);
        if let Some(programs) = self.below {
            step = step.word("below").word(programs);
        }
        if let Some(kernel) = kernel { step.word(kernel) } else { step }
    }
}

impl Verb for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn summary(&self) -> &'static str {
        "share a long reduction loop out over COUNT programs, perhaps only where there are fewer \
         than PROGRAMS, and combine their results after"
    }

    fn syntax(&self) -> &'static str {
        "split COUNT [below PROGRAMS] [KERNEL]"
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        let kernels: Vec<_> = source
            .kernels()
            .into_iter()
            .filter_map(|kernel| Some((kernel, Plan::of(source, kernel, false).ok()?)))
            .collect();
        let alone = kernels.len() == 1;
        let place = |(kernel, plan): &(Function<'_>, Plan<'_>)| {
            let current = plan.current(source);
            let limit = current.and_then(|it| it.below);
            let named = (!alone).then(|| kernel.name());
            let limited = limit.map(|it| format!(", where it has fewer than {it} programs"));
            Place {
                line: plan.line(source),
                what: format!(
                    "the reduction loop of {}{}",
                    kernel.name(),
                    limited.unwrap_or_default()
                ),
                axis: kernel.name().to_owned(),
                current: current.map(|it| it.count.to_string()),
                steps: worth(current).into_iter().map(|shares| shares.step(named)).collect(),
            }
        };
        kernels.iter().map(place).collect()
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        let (shares, wanted) = self.read(step)?;
        let mut kernels = source.kernels();
        kernels.retain(|kernel| wanted.is_none_or(|name| kernel.name() == name));
        let dispatches = shares.below.is_some();
        let plans: Vec<_> =
            kernels.iter().map(|kernel| (*kernel, Plan::of(source, *kernel, dispatches))).collect();
        let mut fit = plans.iter().filter_map(|(kernel, plan)| Some((kernel, plan.as_ref().ok()?)));
        match (fit.next(), fit.next()) {
            (Some((kernel, plan)), None) => plan.edits(source, shares).map_err(|reason| {
                step.inapplicable(format!("{}: {reason}", kernel.name()), Vec::new())
            }),
            (Some((one, _)), Some((other, _))) => {
                let names = [one, other].map(|it| shares.step(Some(it.name())).to_string());
                Err(step.inapplicable("several kernels have such a loop", names.into()))
            }
            (None, _) => {
                let reasons: Vec<String> = plans
                    .iter()
                    .filter_map(|(kernel, plan)| {
                        Some(format!("{}: {}", kernel.name(), plan.as_ref().err()?))
                    })
                    .collect();
                let none = || "there is no such kernel".to_owned();
                let reason = if reasons.is_empty() { none() } else { reasons.join("; ") };
                Err(step.inapplicable(reason, Vec::new()))
            }
        }
    }
}

impl Split {
    /// What a step asks for, and of which kernel.
    fn read<'a>(&self, step: &'a Step) -> Result<(Shares, Option<&'a str>), RecipeError> {
        let words = step.bare();
        let (count, below, kernel) = match words.as_deref() {
            Some([count]) => (*count, None, None),
            Some([count, "below", programs]) => (*count, Some(*programs), None),
            Some([count, "below", programs, kernel]) => (*count, Some(*programs), Some(*kernel)),
            Some([count, kernel]) if *kernel != "below" => (*count, None, Some(*kernel)),
            _ => {
                let reason =
                    "it takes a number, perhaps `below` and another, and perhaps a kernel's name";
                return Err(step.grammar(self, reason));
            }
        };
        let Some(count) = count.parse().ok().filter(|count| (2..=MOST).contains(count)) else {
            let reason = format!("`{count}` is not a number of chunks from 2 to {MOST}");
            let counts = WORTH.iter().filter(|it| it.below.is_none());
            return Err(step.inapplicable(reason, counts.map(|it| it.count.to_string()).collect()));
        };
        let below = below
            .map(|text| {
                let programs = text.parse().ok().filter(|it| (2..=MOST_PROGRAMS).contains(it));
                programs.ok_or_else(|| {
                    let reason =
                        format!("`{text}` is not a number of programs from 2 to {MOST_PROGRAMS}");
                    step.inapplicable(reason, vec!["640".to_owned(), "256".to_owned()])
                })
            })
            .transpose()?;
        Ok((Shares { count, below }, kernel))
    }
}

/// What is worth trying for a reduction that is shared out like `current`.
fn worth(current: Option<Shares>) -> Vec<Shares> {
    let Some(current) = current else { return WORTH.to_vec() };
    let counts = WORTH.into_iter().filter(|it| it.below.is_none() && it.count != current.count);
    // A split without a limit gets none later; one with a limit keeps it where none is given.
    let limits = current.below.into_iter().flat_map(|now| {
        let limits = [640, 256, 1280].into_iter().filter(move |limit| *limit != now);
        limits.map(|limit| Shares::below(limit, current.count))
    });
    counts.chain(limits).collect()
}

#[cfg(test)]
mod tests;
