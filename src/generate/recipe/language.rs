//! Text to steps and back.
//!
//! ```text
//! recipe = step { ";" step }
//! step   = verb { word }
//! word   = bare | name "=" value
//! ```
//!
//! Words are separated by blanks and hold none; a line break counts as `;`.

use std::{fmt, str::FromStr};

use super::{Context, RecipeError, VERBS, Verb, apply_step};
use crate::kernel::syntax::Source;

/// A word after the verb.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Word {
    /// `8`, `first`, `x_ptr`
    Bare(String),
    /// `BLOCK_K=512`
    Assign { name: String, value: String },
}

impl Word {
    fn as_bare(&self) -> Option<&str> {
        if let Self::Bare(text) = self { Some(text) } else { None }
    }

    fn as_assignment(&self) -> Option<(&str, &str)> {
        if let Self::Assign { name, value } = self { Some((name, value)) } else { None }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(text) => f.write_str(text),
            Self::Assign { name, value } => write!(f, "{name}={value}"),
        }
    }
}

/// One verb and its words. A step that was parsed has a verb that exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    pub verb: String,
    pub words: Vec<Word>,
}

impl Step {
    pub fn new(verb: impl Into<String>) -> Self {
        Self { verb: verb.into(), words: Vec::new() }
    }

    /// Adds a bare word.
    #[must_use]
    pub fn word(mut self, text: impl fmt::Display) -> Self {
        self.words.push(Word::Bare(text.to_string()));
        self
    }

    /// Adds `name=value`.
    #[must_use]
    pub fn set(mut self, name: impl fmt::Display, value: impl fmt::Display) -> Self {
        self.words.push(Word::Assign { name: name.to_string(), value: value.to_string() });
        self
    }

    /// The words as bare texts; `None` if one is an assignment.
    pub fn bare(&self) -> Option<Vec<&str>> {
        self.words.iter().map(Word::as_bare).collect()
    }

    /// The words as (name, value); `None` if one is bare.
    pub fn assignments(&self) -> Option<Vec<(&str, &str)>> {
        self.words.iter().map(Word::as_assignment).collect()
    }

    /// The words are not what the verb takes.
    pub fn grammar(&self, verb: &dyn Verb, reason: impl Into<String>) -> RecipeError {
        let (step, syntax) = (self.to_string(), verb.syntax().to_owned());
        RecipeError::Grammar { step, reason: reason.into(), syntax }
    }

    /// The source has no place for this step, or the place does not take the value.
    pub fn inapplicable(&self, reason: impl Into<String>, valid: Vec<String>) -> RecipeError {
        RecipeError::Inapplicable { step: self.to_string(), reason: reason.into(), valid }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.verb)?;
        self.words.iter().try_for_each(|word| write!(f, " {word}"))
    }
}

impl FromStr for Step {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let mut words = text.split_whitespace();
        let verb = words.next().ok_or(RecipeError::Empty)?;
        let verb = verb_named(verb)?;
        let mut step = Self::new(verb.name());
        for word in words {
            step = match word.split_once('=') {
                None => step.word(word),
                Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                    step.set(name, value)
                }
                Some(_) => {
                    let whole = Self::new(text.trim());
                    return Err(whole.grammar(verb, format!("`{word}` lacks a name or a value")));
                }
            };
        }
        Ok(step)
    }
}

/// The steps of one move, in the order they are applied; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    steps: Vec<Step>,
}

impl Recipe {
    /// `None` without a step.
    pub fn of(steps: Vec<Step>) -> Option<Self> {
        (!steps.is_empty()).then_some(Self { steps })
    }

    pub fn parse(text: &str) -> Result<Self, RecipeError> {
        let parts = text.split([';', '\n']).filter(|part| !part.trim().is_empty());
        let steps = parts.map(str::parse).collect::<Result<Vec<_>, _>>()?;
        Self::of(steps).ok_or(RecipeError::Empty)
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The source after all steps. Every step must change something.
    pub fn apply(&self, text: &str, context: &Context) -> Result<String, RecipeError> {
        self.apply_to(&Source::parse(text)?, context)
    }

    /// As [`Recipe::apply`], on a source that is parsed already.
    pub fn apply_to(&self, source: &Source, context: &Context) -> Result<String, RecipeError> {
        let mut steps = self.steps.iter();
        let first = steps.next().ok_or(RecipeError::Empty)?;
        let mut source = apply_step(source, first, context)?;
        for step in steps {
            source = apply_step(&source, step, context)?;
        }
        Ok(source.text().to_owned())
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            write!(f, "{}{step}", if index > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

/// The verb called `name`, else an error with the nearest name and all of them.
pub(super) fn verb_named(name: &str) -> Result<&'static dyn Verb, RecipeError> {
    if let Some(verb) = VERBS.iter().find(|verb| verb.name() == name) {
        return Ok(*verb);
    }
    let nearest = VERBS.iter().map(|verb| (distance(name, verb.name()), verb.name())).min();
    let suggestion = nearest.filter(|(distance, _)| *distance <= 2).map(|(_, verb)| verb.into());
    let known = VERBS.iter().map(|verb| verb.name().to_owned()).collect();
    Err(RecipeError::UnknownVerb { name: name.to_owned(), suggestion, known })
}

/// Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
