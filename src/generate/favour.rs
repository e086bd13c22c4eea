//! Where to look first: verbs and the direction of their values, from a diagnosis and from the
//! recipe that made the parent.

use super::recipe::{Place, Recipe, Step, Word};
use crate::kernel::Diagnosis;

/// What is to be tried before the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Favour {
    hints: Vec<Hint>,
    /// For children: the order of the other axes is drawn anew for each parent.
    pub(super) from_parent: bool,
}

/// One suggestion as the recipe language understands it.
#[derive(Clone, Debug)]
struct Hint {
    verb: String,
    wish: Wish,
}

/// Which of a verb's values come first.
#[derive(Clone, Debug, PartialEq)]
enum Wish {
    Any,
    More,
    Fewer,
    Value(String),
}

impl Favour {
    pub(super) fn for_seeds(diagnosis: Option<&Diagnosis>) -> Self {
        let hints = diagnosis.map_or_else(Vec::new, hints);
        Self { hints, from_parent: false }
    }

    pub(super) fn for_children(diagnosis: Option<&Diagnosis>, move_text: Option<&str>) -> Self {
        let mut hints = diagnosis.map_or_else(Vec::new, hints);
        let recipe = move_text.and_then(|text| Recipe::parse(text).ok());
        let steps = recipe.iter().flat_map(Recipe::steps);
        hints.extend(steps.map(|step| Hint { verb: step.verb.clone(), wish: Wish::Any }));
        let from_parent = !hints.is_empty();
        Self { hints, from_parent }
    }

    /// Position of a verb: what was named first comes first, what was not named last.
    pub(super) fn rank(&self, verb: &str) -> usize {
        self.hints.iter().position(|hint| hint.verb == verb).unwrap_or(self.hints.len())
    }

    /// Puts the wished values of `verb` first in each of its places; the order of the others stays.
    pub(super) fn order(&self, verb: &str, places: &mut [Place]) {
        let Some(hint) = self.hints.iter().find(|hint| hint.verb == verb) else { return };
        for place in places {
            let current = place.current.as_deref().and_then(number);
            place.steps.sort_by_key(|step| !hint.wish.granted_by(step, current));
        }
    }
}

impl Wish {
    fn granted_by(&self, step: &Step, current: Option<f64>) -> bool {
        // `below 640` says where the value holds.
        let is_limit = |word: &Word| matches!(word, Word::Bare(text) if text == "below");
        let end = step.words.iter().position(is_limit).unwrap_or(step.words.len());
        let value = step.words.iter().take(end).rev().find_map(|word| match word {
            Word::Bare(text) => number(text),
            Word::Assign { value, .. } => number(value),
        });
        match self {
            Self::Any => true,
            // What is not there yet (a loop that is not pipelined) can only become more.
            Self::More => value.is_some_and(|value| current.is_none_or(|now| value > now)),
            Self::Fewer => value.zip(current).is_some_and(|(value, now)| value < now),
            Self::Value(wanted) => step.words.iter().any(|word| match word {
                Word::Bare(text) => text == wanted,
                Word::Assign { value, .. } => value == wanted,
            }),
        }
    }
}

/// `warps 8`, `stages fewer`, `tile larger`, `evict`; expert tasks are for others.
fn hints(diagnosis: &Diagnosis) -> Vec<Hint> {
    let hint = |text: &String| {
        let mut words = text.split_whitespace();
        let verb = words.next()?.to_owned();
        let wish = match words.next_back() {
            None => Wish::Any,
            Some("more" | "larger") => Wish::More,
            Some("fewer" | "smaller") => Wish::Fewer,
            Some(value) => Wish::Value(value.to_owned()),
        };
        Some(Hint { verb, wish })
    };
    diagnosis.suggestions.iter().filter_map(hint).collect()
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}
