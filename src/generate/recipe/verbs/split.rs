//! `split 16`: a long reduction shared out over programs, in two stages.
//!
//! A kernel whose loop sums (or takes the maximum of) a long dimension leaves most of the device
//! idle when its grid is small. The loop is cut into chunks: a first kernel, with as many programs
//! more, writes each chunk's partial result to a workspace, and the kernel itself combines them
//! where its loop was and goes on as before.
//!
//! The workspace of an accumulator has the shape `[grid…, SPLITS, accumulator…]`. Partial results
//! are combined in a fixed order, so that the answer stays the same from call to call; it differs
//! from the unsplit one by the order of additions.

mod constants;
mod device;
mod grid;
mod host;
mod reduction;

use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Constant, Edit, Function, Source};
use host::Site;
use reduction::Reduction;

pub(super) struct Split;

/// How many programs share a reduction: worth trying, the most telling first.
const WORTH: [i64; 6] = [16, 64, 4, 32, 8, 2];

/// More than this only costs workspace.
const MOST: i64 = 1024;

/// The name of the number of chunks, in the kernels and in the host function.
const SPLITS: &str = "SPLITS";

impl Verb for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn summary(&self) -> &'static str {
        "share a long reduction loop out over COUNT programs, and combine their results after"
    }

    fn syntax(&self) -> &'static str {
        "split COUNT [KERNEL]"
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        let kernels: Vec<_> = source
            .kernels()
            .into_iter()
            .filter_map(|kernel| Some((kernel, Plan::of(source, kernel).ok()?)))
            .collect();
        let alone = kernels.len() == 1;
        let place = |(kernel, plan): &(Function<'_>, Plan<'_>)| {
            let step = |count: &i64| {
                let step = Step::new(self.name()).word(count);
                if alone { step } else { step.word(kernel.name()) }
            };
            let current = plan.current();
            Place {
                line: plan.line(source),
                what: format!("the reduction loop of {}", kernel.name()),
                axis: kernel.name().to_owned(),
                current: current.map(|count| count.to_string()),
                steps: WORTH.iter().filter(|it| Some(**it) != current).map(step).collect(),
            }
        };
        kernels.iter().map(place).collect()
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        let (count, wanted) = match step.bare().as_deref() {
            Some([count]) => (*count, None),
            Some([count, kernel]) => (*count, Some(*kernel)),
            _ => return Err(step.grammar(self, "it takes a number and perhaps a kernel's name")),
        };
        let Some(count) = count.parse().ok().filter(|count| (2..=MOST).contains(count)) else {
            let reason = format!("`{count}` is not a number of chunks from 2 to {MOST}");
            return Err(step.inapplicable(reason, WORTH.map(|it| it.to_string()).into()));
        };
        let mut kernels = source.kernels();
        kernels.retain(|kernel| wanted.is_none_or(|name| kernel.name() == name));
        let plans: Vec<_> =
            kernels.iter().map(|kernel| (*kernel, Plan::of(source, *kernel))).collect();
        let mut fit = plans.iter().filter_map(|(kernel, plan)| Some((kernel, plan.as_ref().ok()?)));
        match (fit.next(), fit.next()) {
            (Some((_, plan)), None) => Ok(plan.edits(source, count)),
            (Some((one, _)), Some((other, _))) => {
                let names = vec![
                    format!("split {count} {}", one.name()),
                    format!("split {count} {}", other.name()),
                ];
                Err(step.inapplicable("several kernels have such a loop", names))
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

/// What a step does to one kernel.
enum Plan<'s> {
    /// Cuts its loop.
    Cut { reduction: Reduction<'s>, sites: Vec<Site<'s>> },
    /// Its loop has been cut; the number of chunks changes.
    Retune(Constant<'s>),
}

impl<'s> Plan<'s> {
    /// What can be done for `kernel`, or why nothing can.
    fn of(source: &'s Source, kernel: Function<'s>) -> Result<Self, String> {
        if kernel.parameters().iter().any(|parameter| parameter.name == SPLITS) {
            return Self::retune(source, kernel)
                .ok_or_else(|| "its reduction is shared out already".to_owned());
        }
        let reduction = Reduction::find(source, kernel)?;
        let sites = host::sites(source, &reduction)?;
        Ok(Self::Cut { reduction, sites })
    }

    /// Of the two kernels that a split makes, the one that combines is asked.
    fn retune(source: &'s Source, kernel: Function<'s>) -> Option<Self> {
        source.function(&device::partial_name(kernel))?;
        let launch = source.launches().into_iter().find(|it| it.kernel.name() == kernel.name())?;
        let given = launch.keyword(SPLITS)?.value;
        Some(Self::Retune(source.constant(source.slice(given), launch.host)?))
    }

    fn current(&self) -> Option<i64> {
        if let Self::Retune(constant) = self { Some(constant.value) } else { None }
    }

    fn line(&self, source: &Source) -> u32 {
        source.line(match self {
            Self::Cut { reduction, .. } => reduction.node,
            Self::Retune(constant) => constant.literal,
        })
    }

    fn edits(&self, source: &Source, count: i64) -> Vec<Edit> {
        match self {
            Self::Retune(constant) => {
                vec![Edit::replace(constant.literal.byte_range(), count.to_string())]
            }
            Self::Cut { reduction, sites } => {
                let axis = host::axis(sites);
                let mut edits = device::edits(source, reduction, axis, count);
                edits.extend(sites.iter().flat_map(|site| site.edits(source, reduction, count)));
                if source.text().contains("\r\n") {
                    for edit in &mut edits {
                        edit.text = edit.text.replace("\r\n", "\n").replace('\n', "\r\n");
                    }
                }
                edits
            }
        }
    }
}

#[cfg(test)]
mod tests;
