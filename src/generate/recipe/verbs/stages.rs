//! `stages 3`: how many iterations of a loop's loads are in flight.

use super::launch_option::LaunchOption;
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Edit, Function, Source, descendants};

pub(super) struct Stages;

const OPTION: LaunchOption = LaunchOption {
    keyword: "num_stages",
    default: 3,
    values: &[1, 2, 3, 4, 5, 6, 7, 8],
    worth: &[1, 2, 3, 4, 5, 6],
};

impl Verb for Stages {
    fn name(&self) -> &'static str {
        "stages"
    }

    fn summary(&self) -> &'static str {
        "set the depth of the software pipeline of a kernel's loops (num_stages at the launch)"
    }

    fn syntax(&self) -> &'static str {
        "stages COUNT [KERNEL[#N]]"
    }

    fn interpreted(&self) -> bool {
        false
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        OPTION.places(self, source, has_loop)
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        let unfit = "no such kernel with a loop is launched here with its stages open to change";
        OPTION.apply(self, source, step, has_loop, unfit)
    }
}

/// Without a loop there is nothing to pipeline.
fn has_loop(kernel: &Function<'_>) -> bool {
    kernel.body().into_iter().flat_map(descendants).any(|node| node.kind() == "for_statement")
}

#[cfg(test)]
mod tests;
