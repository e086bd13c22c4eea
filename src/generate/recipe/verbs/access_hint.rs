//! String keywords of loads and stores that tell the caches what to expect.

use crate::generate::recipe::{
    Place, RecipeError, Step, Verb,
    access::{Access, accesses, groups, named, text_keyword},
};
use crate::kernel::syntax::{Edit, Source, appended_argument, keywords};

/// A keyword and the words that a recipe uses for its values.
pub(super) struct AccessHint {
    pub keyword: &'static str,
    /// (word, value, on loads, on stores)
    pub values: &'static [(&'static str, &'static str, bool, bool)],
    /// Words worth trying.
    pub worth: &'static [&'static str],
}

impl AccessHint {
    pub(super) fn places(&self, verb: &dyn Verb, source: &Source) -> Vec<Place> {
        let accesses = accesses(source);
        let place = |(name, group): (String, Vec<&Access<'_>>)| {
            let first = group.first()?;
            let kind = if group.iter().all(|access| access.is_load) {
                "loads"
            } else if group.iter().any(|access| access.is_load) {
                "loads and stores"
            } else {
                "stores"
            };
            let current = group.iter().map(|access| self.word(source, access)).next()?;
            let fits = |word: &&&str| group.iter().all(|access| self.value(word, access).is_some());
            let steps = self.worth.iter().filter(fits);
            Some(Place {
                line: source.line(first.call),
                what: format!("{kind} through {name} in {}", first.kernel.name()),
                current: current.map(str::to_owned),
                steps: steps.map(|word| Step::new(verb.name()).word(word).word(&name)).collect(),
                axis: name,
            })
        };
        groups(&accesses).into_iter().filter_map(place).collect()
    }

    pub(super) fn apply(
        &self,
        verb: &dyn Verb,
        source: &Source,
        step: &Step,
    ) -> Result<Vec<Edit>, RecipeError> {
        let Some([word, pointer]) = step.bare().and_then(|words| <[&str; 2]>::try_from(words).ok())
        else {
            return Err(step.grammar(verb, "it takes a hint and a pointer"));
        };
        let accesses = accesses(source);
        let meant = named(&accesses, pointer);
        if meant.is_empty() {
            let names = groups(&accesses).into_iter().map(|(name, _)| name).collect();
            return Err(step.inapplicable(format!("nothing goes through `{pointer}`"), names));
        }
        let mut edits = Vec::new();
        for access in meant {
            let Some(value) = self.value(word, access) else {
                let side = if access.is_load { "a load" } else { "a store" };
                let fits = |(word, ..): &&(&str, _, _, _)| self.value(word, access).is_some();
                let valid = self.values.iter().filter(fits).map(|(word, ..)| (*word).to_owned());
                let line = source.line(access.call);
                let reason = format!("{side} (line {line}) does not take `{word}`");
                return Err(step.inapplicable(reason, valid.collect()));
            };
            edits.extend(self.edit(source, access, value));
        }
        Ok(edits)
    }

    fn edit(&self, source: &Source, access: &Access<'_>, value: &str) -> Option<Edit> {
        let present = keywords(source, access.call).into_iter().find(|k| k.name == self.keyword);
        if let Some(keyword) = present {
            return Some(Edit::replace(keyword.value.byte_range(), format!("\"{value}\"")));
        }
        if value.is_empty() {
            return None;
        }
        let list = access.call.child_by_field_name("arguments")?;
        let argument = format!("{}=\"{value}\"", self.keyword);
        let (at, text) = appended_argument(source, list, &argument);
        Some(Edit::insert(at, text))
    }

    /// The value that `word` stands for, if `access` takes it.
    fn value(&self, word: &str, access: &Access<'_>) -> Option<&'static str> {
        let (_, value, on_loads, on_stores) =
            self.values.iter().find(|(name, ..)| *name == word)?;
        (if access.is_load { *on_loads } else { *on_stores }).then_some(*value)
    }

    /// The word for what `access` has now.
    fn word(&self, source: &Source, access: &Access<'_>) -> Option<&'static str> {
        let value = text_keyword(source, access.call, self.keyword)?;
        self.values.iter().find(|(_, known, ..)| *known == value).map(|(word, ..)| *word)
    }
}
