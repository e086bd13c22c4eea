//! `evict first x_ptr`: which data the L2 cache lets go of first.

use super::access_hint::AccessHint;
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Edit, Source};

pub(super) struct Evict;

const HINT: AccessHint = AccessHint {
    keyword: "eviction_policy",
    values: &[
        ("first", "evict_first", true, true),
        ("last", "evict_last", true, true),
        ("normal", "", true, true),
    ],
    worth: &["first", "last", "normal"],
};

impl Verb for Evict {
    fn name(&self) -> &'static str {
        "evict"
    }

    fn summary(&self) -> &'static str {
        "tell the L2 cache which data comes again and which does not (eviction_policy)"
    }

    fn syntax(&self) -> &'static str {
        "evict first|last|normal POINTER[#N]"
    }

    fn interpreted(&self) -> bool {
        false
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        HINT.places(self, source)
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        HINT.apply(self, source, step)
    }
}

#[cfg(test)]
mod tests;
