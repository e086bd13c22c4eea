//! Small kernels for the verbs' tests.

use super::{Context, DeviceKind, Recipe, RecipeError};

pub(crate) const SCALE_ROWS: &str = include_str!("kernels/scale_rows.py");
pub(crate) const PRODUCT: &str = include_str!("kernels/product.py");
pub(crate) const ADD: &str = include_str!("kernels/add.py");
pub(crate) const HEADS: &str = include_str!("kernels/heads.py");
pub(crate) const TUNED: &str = include_str!("kernels/tuned.py");

pub(crate) const ALL: [&str; 5] = [SCALE_ROWS, PRODUCT, ADD, HEADS, TUNED];

pub(in crate::generate) fn cuda() -> Context {
    Context::new(DeviceKind::Cuda)
}

/// `text` after `recipe`, which applies.
pub(in crate::generate) fn after(recipe: &str, text: &str) -> String {
    Recipe::parse(recipe).unwrap().apply(text, &cuda()).unwrap()
}

/// Why `recipe` gives nothing for `text`.
pub(in crate::generate) fn refusal(recipe: &str, text: &str) -> String {
    refused(recipe, text).to_string()
}

pub(in crate::generate) fn refused(recipe: &str, text: &str) -> RecipeError {
    Recipe::parse(recipe).and_then(|recipe| recipe.apply(text, &cuda())).unwrap_err()
}

/// The lines that differ, old before new.
pub(in crate::generate) fn changes(before: &str, after: &str) -> Vec<String> {
    let diff = similar::TextDiff::from_lines(before, after);
    diff.iter_all_changes()
        .filter(|change| change.tag() != similar::ChangeTag::Equal)
        .map(|change| format!("{}{}", change.tag(), change.value().trim_end()))
        .collect()
}
