//! `warps 8`: how many warps share one program's tile.

use super::launch_option::LaunchOption;
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Edit, Source};

pub(super) struct Warps;

const OPTION: LaunchOption = LaunchOption {
    keyword: "num_warps",
    default: 4,
    values: &[1, 2, 4, 8, 16, 32],
    worth: &[1, 2, 4, 8, 16],
};

impl Verb for Warps {
    fn name(&self) -> &'static str {
        "warps"
    }

    fn summary(&self) -> &'static str {
        "set the number of warps of a program (num_warps at the launch)"
    }

    fn syntax(&self) -> &'static str {
        "warps COUNT [KERNEL[#N]]"
    }

    fn interpreted(&self) -> bool {
        false
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        OPTION.places(self, source, |_| true)
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        let unfit = "no such kernel is launched here with its warps open to change";
        OPTION.apply(self, source, step, |_| true, unfit)
    }
}

#[cfg(test)]
mod tests;
