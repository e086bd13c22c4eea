//! One expert task, as its file has it.

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{Axis, Condition, TaskError};
use crate::kernel::syntax::Source;

/// What an expert would tell a colleague to try.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpertTask {
    /// As the file is called, without its ending.
    pub name: String,
    pub axis: Axis,
    /// What it typically brings where it helps: time before over time after. It orders tasks of which
    /// nothing else is known.
    pub gain: f64,
    /// A few words, as an order.
    pub title: String,
    pub when: Condition,
    /// What to do.
    pub instruction: String,
    /// What is paid for it: registers, launches, code.
    pub cost: String,
    /// A kernel, or a part of one, that shows it. Python.
    pub exemplar: String,
    /// How it fails.
    pub pitfalls: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    name: Spanned<String>,
    axis: Axis,
    #[serde(default = "usual_gain")]
    gain: f64,
    title: Spanned<String>,
    #[serde(default)]
    when: Condition,
    instruction: Spanned<String>,
    cost: Spanned<String>,
    exemplar: Spanned<String>,
    pitfalls: Spanned<String>,
}

/// Of a task that does not say.
fn usual_gain() -> f64 {
    1.1
}

/// Bytes of a task file: it is read by a model, at every request that it is chosen for.
const MAX_BYTES: usize = 16 << 10;

impl ExpertTask {
    /// Reads the text of `file`, a path for messages whose last part is the task's name.
    pub fn parse(file: &str, text: &str) -> Result<Self, TaskError> {
        let invalid = |at: usize, reason: String| TaskError::Invalid {
            file: file.to_owned(),
            line: line_at(text, at),
            reason,
        };
        if text.len() > MAX_BYTES {
            let size = text.len();
            return Err(invalid(
                0,
                format!(
                    "the task has {size} bytes; shorten it to {MAX_BYTES}: a model reads all of it"
                ),
            ));
        }
        let read: TaskFile = toml::from_str(text).map_err(|error| {
            invalid(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        let stem = file.rsplit(['/', '\\']).next().unwrap_or(file);
        let stem = stem.strip_suffix(".toml").unwrap_or(stem);
        let at = read.name.span().start;
        if read.name.get_ref() != stem {
            let reason = format!(
                "the name is {:?}, the file's is {stem:?}: make them the same",
                read.name.get_ref()
            );
            return Err(invalid(at, reason));
        }
        if !read
            .name
            .get_ref()
            .bytes()
            .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
        {
            return Err(invalid(
                at,
                "a name has small letters, digits and hyphens only".to_owned(),
            ));
        }
        for (key, value) in [
            ("title", &read.title),
            ("instruction", &read.instruction),
            ("cost", &read.cost),
            ("exemplar", &read.exemplar),
            ("pitfalls", &read.pitfalls),
        ] {
            if value.get_ref().trim().is_empty() {
                return Err(invalid(value.span().start, format!("{key} is empty")));
            }
        }
        if read.title.get_ref().contains('\n') {
            return Err(invalid(read.title.span().start, "the title is one line".to_owned()));
        }
        let exemplar = read.exemplar.get_ref().trim().to_owned() + "\n";
        if let Err(error) = Source::parse(exemplar.as_str()) {
            let reason = format!("the exemplar is not Python: {error}");
            return Err(invalid(read.exemplar.span().start, reason));
        }
        if !(read.gain > 1.0 && read.gain <= 100.0) {
            let reason = format!("gain is {}: write a factor above 1 and up to 100", read.gain);
            return Err(invalid(text.find("gain").unwrap_or(0), reason));
        }
        let when = read.when;
        if let Some(fact) = when.has.iter().find(|fact| when.lacks.contains(fact)) {
            return Err(invalid(
                0,
                format!("{fact:?} is in both `has` and `lacks`: it never applies"),
            ));
        }
        let trimmed = |text: Spanned<String>| text.into_inner().trim().to_owned();
        Ok(Self {
            name: read.name.into_inner(),
            axis: read.axis,
            gain: read.gain,
            title: trimmed(read.title),
            when,
            instruction: trimmed(read.instruction),
            cost: trimmed(read.cost),
            exemplar,
            pitfalls: trimmed(read.pitfalls),
        })
    }
}

fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
