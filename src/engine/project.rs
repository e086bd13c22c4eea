//! `kernelbrain.toml`: the kernels of a repository, and how to search.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::error::EngineError;
use crate::{generate::provider::price::PriceTable, kernel::Arch};

/// Name of the configuration file.
pub const FILE_NAME: &str = "kernelbrain.toml";

/// The configuration file as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// The kernels of the repository.
    #[serde(default, rename = "kernel")]
    pub kernels: Vec<KernelEntry>,
    #[serde(default)]
    pub search: SearchSettings,
    #[serde(default)]
    pub model: ModelTable,
}

/// One `[[kernel]]` table. Paths are relative to the file's folder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelEntry {
    pub name: String,
    pub source: PathBuf,
    /// `package.module:function`.
    pub entry: String,
    /// The contract.
    pub test: PathBuf,
    /// Further files and folders that the kernel depends on: a pull request that touches one of them
    /// touches the kernel.
    #[serde(default)]
    pub depends: Vec<PathBuf>,
    /// Top-level symbols that may change; all when absent.
    #[serde(default)]
    pub edit: Option<Vec<String>>,
    /// The repository's rules for kernels, in words.
    #[serde(default)]
    pub rules: Vec<String>,
    /// The repository's own test command.
    #[serde(default)]
    pub tests: Option<CommandLine>,
    /// Further architectures that the winner must compile for, for example `["sm_80"]`.
    #[serde(default)]
    pub archs: Vec<Arch>,
}

/// A command as one string, split like a shell would, or as a list of words.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum CommandLine {
    Text(String),
    Words(Vec<String>),
}

impl CommandLine {
    /// The program and its arguments.
    pub fn words(&self) -> Result<Vec<String>, EngineError> {
        match self {
            Self::Words(words) => Ok(words.clone()),
            Self::Text(text) => shell_words::split(text).map_err(|error| {
                EngineError::Usage(format!("{FILE_NAME}: tests = \"{text}\": {error}"))
            }),
        }
    }
}

/// The `[search]` table: defaults for what the command line can say too.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchSettings {
    /// Wall clock, for example `"10m"`.
    pub budget: Option<String>,
    /// Time for which the GPU is held.
    pub gpu_budget: Option<String>,
    pub evaluations: Option<u64>,
    pub max_candidates: Option<usize>,
    /// Stop when the best runs within this factor of its speed-of-light bound.
    pub headroom: Option<f64>,
    /// Stop after this many results in a row without a new best.
    pub patience: Option<u64>,
    /// Whether to read the GPU's counters (default: yes).
    pub profile: Option<bool>,
    /// The ladder, a list of `[[search.rung]]`; the default one when empty.
    pub rung: Vec<crate::search::Rung>,
}

/// The `[model]` table: which language models take part, and on what terms. Paths are relative to the
/// file's folder.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelTable {
    /// Who rewrites kernels, as for `--model`.
    pub name: Option<String>,
    /// Who reads winners, as for `--review-model`.
    pub review: Option<String>,
    /// How many rewrites are asked for, of what, how often each is sent back, how many at a time.
    pub rewrites: Option<crate::search::Rewrites>,
    pub tokens: Option<u64>,
    /// US dollars.
    pub usd: Option<f64>,
    /// Tokens that a prompt may have, estimated.
    pub prompt_tokens: Option<usize>,
    /// Tokens that an answer may have.
    pub output_tokens: Option<u32>,
    /// For one answer, for example `"10m"`.
    pub time_out: Option<String>,
    /// Questions under way at a time.
    pub concurrency: Option<usize>,
    /// A file with the key, where the environment has none.
    pub key_file: Option<PathBuf>,
    /// Whether source and key may go to other machines over `http://`.
    pub plain_http: bool,
    /// A folder of expert tasks.
    pub tasks: Option<PathBuf>,
    /// A folder of templates.
    pub templates: Option<PathBuf>,
    /// By `provider:model`, US dollars for a million tokens.
    pub prices: PriceTable,
}

impl ModelTable {
    /// With its paths below `folder`.
    fn below(mut self, folder: &Path) -> Self {
        for path in [&mut self.key_file, &mut self.tasks, &mut self.templates].into_iter().flatten()
        {
            *path = folder.join(&path);
        }
        self
    }
}

impl Project {
    /// Reads `path`; the error names the line.
    pub fn read(path: &Path) -> Result<Self, EngineError> {
        let text = fs::read_to_string(path)
            .map_err(|source| EngineError::Read { path: path.to_owned(), source })?;
        let mut project: Self = toml::from_str(&text)
            .map_err(|error| EngineError::Usage(format!("{}: {error}", path.display())))?;
        project.model = project.model.below(path.parent().unwrap_or(Path::new("")));
        Ok(project)
    }

    /// The nearest configuration file at or above `folder`.
    pub fn find(folder: &Path) -> Option<PathBuf> {
        folder.ancestors().map(|above| above.join(FILE_NAME)).find(|path| path.is_file())
    }

    /// The kernel called `name`, or the only one.
    pub fn kernel(&self, name: Option<&str>) -> Result<&KernelEntry, EngineError> {
        let names = || {
            let names: Vec<_> = self.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            names.join(", ")
        };
        match (name, self.kernels.as_slice()) {
            (_, []) => Err(EngineError::Usage(format!(
                "{FILE_NAME} lists no kernel: add a [[kernel]] table, or name a source file and \
                 --test (see docs/contracts.md)"
            ))),
            (None, [only]) => Ok(only),
            (None, _) => Err(EngineError::Usage(format!(
                "{FILE_NAME} lists several kernels: choose one with --kernel ({})",
                names()
            ))),
            (Some(name), kernels) => {
                kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| {
                    EngineError::Usage(format!(
                        "{FILE_NAME} lists no kernel \"{name}\"; there are: {}",
                        names()
                    ))
                })
            }
        }
    }
}
