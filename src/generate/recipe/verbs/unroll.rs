//! `unroll c 4`: several rounds of a loop in one.

use super::counted_loop::{CountedLoop, counted_loops, has_tl, words};
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Edit, Source};

pub(super) struct Unroll;

const OPTION: &str = "loop_unroll_factor";
/// Factors that it takes; beyond, the code no longer fits the instruction cache.
const FACTORS: std::ops::RangeInclusive<i64> = 2..=16;
/// Most rounds that `full` writes out.
const MOST_ROUNDS: i64 = 32;

impl Verb for Unroll {
    fn name(&self) -> &'static str {
        "unroll"
    }

    fn summary(&self) -> &'static str {
        "unroll a loop by a factor (tl.range), or fully where its bounds are fixed (tl.static_range)"
    }

    fn syntax(&self) -> &'static str {
        "unroll VARIABLE[#N] FACTOR|full"
    }

    fn interpreted(&self) -> bool {
        false
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        if !has_tl(source) {
            return Vec::new();
        }
        let place = |counted: CountedLoop<'_>| {
            let rounds = counted.fixed_rounds(source);
            let full = rounds.filter(|rounds| (1..=MOST_ROUNDS).contains(rounds));
            let factors = [4, 2, 8].into_iter().filter(|factor| rounds.is_none_or(|r| *factor < r));
            let values = full.map(|_| "full".to_owned()).into_iter();
            let values = values.chain(factors.map(|factor| factor.to_string()));
            let step = |value: String| Step::new("unroll").word(&counted.axis).word(value);
            Place {
                line: source.line(counted.node),
                what: counted.describe(),
                current: counted.option(source, OPTION).map(|factor| factor.to_string()),
                steps: values.map(step).collect(),
                axis: counted.axis.clone(),
            }
        };
        counted_loops(source).into_iter().map(place).collect()
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        let (variable, value) = words(self, step)?;
        if !has_tl(source) {
            return Err(
                step.inapplicable("the source lacks `import triton.language as tl`", vec![])
            );
        }
        let counted = CountedLoop::named(source, step, variable)?;
        if value == "full" {
            let rounds = counted.fixed_rounds(source);
            let options = crate::kernel::syntax::keywords(source, counted.range);
            return match rounds {
                Some(rounds) if rounds <= MOST_ROUNDS && options.is_empty() => {
                    Ok(counted.renamed(source, "tl.static_range"))
                }
                Some(rounds) if rounds > MOST_ROUNDS => {
                    let reason = format!("{rounds} rounds are too many to write out");
                    Err(step.inapplicable(reason, vec!["2".into(), "4".into(), "8".into()]))
                }
                _ => {
                    let reason = "its bounds are not fixed when it is compiled, or it has options";
                    Err(step.inapplicable(reason, vec!["2".into(), "4".into(), "8".into()]))
                }
            };
        }
        match value.parse::<i64>() {
            Ok(factor) if FACTORS.contains(&factor) => {
                Ok(counted.with_option(source, OPTION, factor))
            }
            _ => {
                let reason = format!("`{value}` is not a factor from 2 to 16");
                Err(step.inapplicable(reason, vec!["2".into(), "4".into(), "8".into()]))
            }
        }
    }
}

#[cfg(test)]
mod tests;
