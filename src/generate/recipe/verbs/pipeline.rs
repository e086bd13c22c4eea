//! `pipeline k 3`: loads of later rounds under way while a round computes.
//!
//! Unlike `stages`, which only pipelines loads that feed a `tl.dot`, the option of `tl.range`
//! pipelines most loads of its loop.

use super::counted_loop::{CountedLoop, counted_loops, has_tl, words};
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Edit, Source};

pub(super) struct Pipeline;

const OPTION: &str = "num_stages";
const STAGES: std::ops::RangeInclusive<i64> = 1..=8;

impl Verb for Pipeline {
    fn name(&self) -> &'static str {
        "pipeline"
    }

    fn summary(&self) -> &'static str {
        "pipeline the loads of one loop (num_stages of tl.range)"
    }

    fn syntax(&self) -> &'static str {
        "pipeline VARIABLE[#N] STAGES"
    }

    fn interpreted(&self) -> bool {
        false
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        if !has_tl(source) {
            return Vec::new();
        }
        let worth = |counted: &CountedLoop<'_>| counted.loads(source) && counted.is_innermost();
        let place = |counted: CountedLoop<'_>| Place {
            line: source.line(counted.node),
            what: counted.describe(),
            current: counted.option(source, OPTION).map(|stages| stages.to_string()),
            steps: [3, 2, 4, 5]
                .into_iter()
                .map(|stages| Step::new("pipeline").word(&counted.axis).word(stages))
                .collect(),
            axis: counted.axis,
        };
        counted_loops(source).into_iter().filter(worth).map(place).collect()
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        let (variable, value) = words(self, step)?;
        if !has_tl(source) {
            return Err(
                step.inapplicable("the source lacks `import triton.language as tl`", vec![])
            );
        }
        let counted = CountedLoop::named(source, step, variable)?;
        if !counted.loads(source) {
            return Err(step.inapplicable("the loop loads nothing", vec![]));
        }
        match value.parse::<i64>() {
            Ok(stages) if STAGES.contains(&stages) => {
                Ok(counted.with_option(source, OPTION, stages))
            }
            _ => {
                let reason = format!("`{value}` is not a number of stages");
                Err(step.inapplicable(reason, STAGES.map(|stages| stages.to_string()).collect()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
