//! `cache cg x_ptr`: which caches an access goes through, by PTX's names.

use super::access_hint::AccessHint;
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Edit, Source};

pub(super) struct Cache;

/// The cache operators of the PTX manual: loads take `.ca` (all levels), `.cg` (L2 only) and
/// `.cv` (fetch again); stores `.wb` (write back), `.cg`, `.cs` (streaming) and `.wt` (through).
const HINT: AccessHint = AccessHint {
    keyword: "cache_modifier",
    values: &[
        ("ca", ".ca", true, false),
        ("cg", ".cg", true, true),
        ("cv", ".cv", true, false),
        ("wb", ".wb", false, true),
        ("cs", ".cs", false, true),
        ("wt", ".wt", false, true),
        ("default", "", true, true),
    ],
    worth: &["cg", "cs", "ca", "default"],
};

impl Verb for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn summary(&self) -> &'static str {
        "choose the caches that loads and stores go through (cache_modifier)"
    }

    fn syntax(&self) -> &'static str {
        "cache ca|cg|cv|wb|cs|wt|default POINTER[#N]"
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
