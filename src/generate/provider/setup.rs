//! From the name of a provider to the provider: its key, its limits, what it may do.

use std::{
    io,
    path::{Path, PathBuf},
};

use reqwest::Url;

use super::{
    Limits, Provider, ProviderSpec, RecordError,
    anthropic::{self, Anthropic},
    base_url,
    command::Program,
    folder::Folder,
    key::{Key, KeyError},
    limited::Limited,
    openai::{self, OpenAi},
    replay::Replay,
};

const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
const OPENAI_KEY: &str = "OPENAI_API_KEY";
/// For a base URL that the user gives: the key of a well-known service is never sent elsewhere.
const MODEL_KEY: &str = "KERNELBRAIN_MODEL_KEY";

/// Variables that hold keys of ours.
pub(super) const KEY_VARIABLES: [&str; 3] = [ANTHROPIC_KEY, OPENAI_KEY, MODEL_KEY];

/// What a provider is made with.
#[derive(Clone, Copy)]
pub struct Setup<'s> {
    pub limits: &'s Limits,
    /// A file with the key, where the environment has none. Nobody but its owner may read it.
    pub key_file: Option<&'s Path>,
    /// Whether source and key may go to other machines over `http://`.
    pub plain_http: bool,
    /// Reads a variable of the environment.
    pub environment: &'s dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("limits", &self.limits)
            .field("key_file", &self.key_file)
            .field("plain_http", &self.plain_http)
            .finish_non_exhaustive()
    }
}

impl ProviderSpec {
    /// The provider that this names. Nothing is asked yet: a wrong key or model shows with the
    /// first question.
    pub fn open(&self, setup: &Setup<'_>) -> Result<Box<dyn Provider>, SetupError> {
        let limits = setup.limits;
        match self {
            Self::Anthropic { model, base } => {
                let (base, variable, key) =
                    setup.server(self, base.as_ref(), anthropic::HOME, ANTHROPIC_KEY)?;
                let provider = Anthropic::new(model, &base, key, variable, limits)?;
                Ok(Box::new(Limited::new(provider, limits.clone())))
            }
            Self::OpenAi { model, base } => {
                let (base, variable, key) =
                    setup.server(self, base.as_ref(), openai::HOME, OPENAI_KEY)?;
                let provider = OpenAi::new(model, &base, key, variable, limits)?;
                Ok(Box::new(Limited::new(provider, limits.clone())))
            }
            Self::Command { program, arguments } => {
                if !is_there(program) {
                    return Err(SetupError::NoProgram { program: program.clone() });
                }
                let provider = Program::new(program, arguments, limits);
                Ok(Box::new(Limited::new(provider, limits.clone())))
            }
            Self::Folder { path } => Ok(Box::new(Folder::open(path, limits)?)),
            Self::Replay { path } => Ok(Box::new(Replay::open(path)?)),
        }
    }
}

/// Whether a program can be found: as a path, or on the PATH. Whether it runs is seen when it does.
fn is_there(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

impl Setup<'_> {
    /// Where a server is, which variable its key is in, and the key. Only a server that the user
    /// named may do without one.
    fn server(
        &self,
        spec: &ProviderSpec,
        given: Option<&Url>,
        home: &str,
        home_key: &'static str,
    ) -> Result<(Url, &'static str, Option<Key>), SetupError> {
        let variable = if given.is_some() { MODEL_KEY } else { home_key };
        let base = given.map_or_else(|| base_url::parse(home), |base| Ok(base.clone()))?;
        base_url::check_plain_http(&base, self.plain_http)?;
        let key = Key::find(variable, self.environment, self.key_file)?;
        if key.is_none() && given.is_none() {
            return Err(SetupError::NoKey { spec: spec.to_string(), variable });
        }
        Ok((base, variable, key))
    }
}

/// Why there is no provider.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    #[error(
        "no provider is called `{given}`; possible are anthropic:MODEL, openai:MODEL, \
         openai:MODEL@https://host/v1 (vLLM, Ollama, OpenRouter, a gateway), command:PROGRAM ARGS, \
         folder:PATH, replay:RUN"
    )]
    Unknown { given: String },
    #[error("`{kind}:` needs {what} behind the colon{}", example(.kind))]
    Incomplete { kind: String, what: &'static str },
    #[error("the command line cannot be split into words ({reason}); check its quotes")]
    CommandLine { reason: String },
    #[error(
        "there is no program {program}; check the path, or that it is installed and on the PATH"
    )]
    NoProgram { program: String },
    #[error("the base URL cannot be used: {reason}")]
    BaseUrl { reason: String },
    #[error(
        "{url} would send source and key in plain text; use https:// or an SSH tunnel to \
         localhost, or allow plain HTTP in the configuration"
    )]
    PlainHttp { url: String },
    #[error(
        "{spec} needs a key: put it into the environment variable {variable}, or into a file that \
         only you can read (chmod 600) and name that in the configuration"
    )]
    NoKey { spec: String, variable: &'static str },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("cannot use the folder {}: {source}", .path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("cannot set up TLS: {reason}; check the system's certificates (ca-certificates)")]
    Client { reason: String },
}

fn example(kind: &str) -> &'static str {
    match kind {
        "anthropic" => ", as in anthropic:claude-sonnet-4-5",
        "openai" => ", as in openai:gpt-5 or openai:qwen3-coder@http://localhost:11434/v1",
        "command" => ", as in command:'claude -p'",
        "folder" => ", as in folder:prompts",
        _ => ", as in replay:20261130-101500-softmax-3f2a",
    }
}
