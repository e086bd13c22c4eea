//! Naming a provider on a command line or in a configuration.

use std::{fmt, path::PathBuf, str::FromStr};

use reqwest::Url;

use super::{base_url, command::program_name, setup::SetupError};

/// Which provider is to answer.
#[derive(Clone, PartialEq, Eq)]
pub enum ProviderSpec {
    /// `anthropic:MODEL`, or `anthropic:MODEL@URL` for a gateway that speaks the same.
    Anthropic { model: String, base: Option<Url> },
    /// `openai:MODEL`, or `openai:MODEL@URL` for any server that speaks chat completions.
    OpenAi { model: String, base: Option<Url> },
    /// `command:PROGRAM ARGUMENT…`, split as a shell would, but run without one.
    Command { program: String, arguments: Vec<String> },
    /// `folder:PATH`.
    Folder { path: PathBuf },
    /// `replay:FILE`.
    Replay { path: PathBuf },
}

impl ProviderSpec {
    /// Whether its answers come with the tokens that they took; those of others are estimated. A replay's
    /// are what the recording says.
    pub fn counts_tokens(&self) -> bool {
        !matches!(self, Self::Command { .. } | Self::Folder { .. })
    }

    /// Reads a name of the forms above.
    pub fn parse(text: &str) -> Result<Self, SetupError> {
        let unknown = || SetupError::Unknown { given: kind_of(text) };
        let (kind, rest) = text.split_once(':').ok_or_else(unknown)?;
        let rest = rest.trim();
        let missing = |what| SetupError::Incomplete { kind: kind.to_owned(), what };
        match kind.trim() {
            "anthropic" => {
                let (model, base) = model_at(rest)?.ok_or_else(|| missing("a model"))?;
                Ok(Self::Anthropic { model, base })
            }
            "openai" => {
                let (model, base) = model_at(rest)?.ok_or_else(|| missing("a model"))?;
                Ok(Self::OpenAi { model, base })
            }
            "command" => {
                let words = shell_words::split(rest)
                    .map_err(|error| SetupError::CommandLine { reason: error.to_string() })?;
                let mut words = words.into_iter();
                let program = words.next().filter(|program| !program.is_empty());
                let program = program.ok_or_else(|| missing("a program"))?;
                Ok(Self::Command { program, arguments: words.collect() })
            }
            "folder" if rest.is_empty() => Err(missing("a path")),
            "folder" => Ok(Self::Folder { path: rest.into() }),
            "replay" if rest.is_empty() => Err(missing("a run, or the file of a recording")),
            "replay" => Ok(Self::Replay { path: rest.into() }),
            _ => Err(unknown()),
        }
    }
}

/// What stands before the colon, as far as it can be a misspelt kind: all else may be a key that
/// was put in the wrong place.
fn kind_of(text: &str) -> String {
    let kind = text.split(':').next().unwrap_or_default().trim();
    let short = kind.len() <= 16 && kind.chars().all(|c| c.is_ascii_alphanumeric());
    if short { kind.to_owned() } else { "…".to_owned() }
}

/// `MODEL` or `MODEL@URL`. Names of models may contain `@` and `:` themselves.
fn model_at(text: &str) -> Result<Option<(String, Option<Url>)>, SetupError> {
    let marks = ["@https://", "@http://"];
    let mark = marks.iter().filter_map(|mark| text.find(mark)).min();
    let (model, base) = match mark {
        Some(at) => (&text[..at], Some(base_url::parse(text[at + 1..].trim())?)),
        None => (text, None),
    };
    let model = model.trim();
    Ok((!model.is_empty()).then(|| (model.to_owned(), base)))
}

impl FromStr for ProviderSpec {
    type Err = SetupError;

    fn from_str(text: &str) -> Result<Self, SetupError> {
        Self::parse(text)
    }
}

/// As it is written, except that a command's arguments are left out: people put keys there.
impl fmt::Display for ProviderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at =
            |base: &Option<Url>| base.as_ref().map(|url| format!("@{url}")).unwrap_or_default();
        match self {
            Self::Anthropic { model, base } => write!(f, "anthropic:{model}{}", at(base)),
            Self::OpenAi { model, base } => write!(f, "openai:{model}{}", at(base)),
            Self::Command { program, arguments } => {
                let rest = if arguments.is_empty() { "" } else { " …" };
                write!(f, "command:{}{rest}", program_name(program))
            }
            Self::Folder { path } => write!(f, "folder:{}", path.display()),
            Self::Replay { path } => write!(f, "replay:{}", path.display()),
        }
    }
}

impl fmt::Debug for ProviderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProviderSpec({self})")
    }
}
