//! `kernelbrain-server.toml`: one file for `serve` and for `runner`. The environment overrides it, and is
//! where secrets belong.

mod secrets;

use std::{
    collections::HashMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use secrecy::SecretString;
use serde::Deserialize;

use super::{decide::Policy, dispatch::DispatchOptions, runner::EngineCommand};

/// The file as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    pub github: GitHubTable,
    pub server: ServerTable,
    pub policy: PolicyTable,
    pub runner: RunnerTable,
    /// Of the file, for relative paths.
    #[serde(skip)]
    folder: PathBuf,
}

/// `[github]`: which App this is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GitHubTable {
    pub app_id: Option<u64>,
    pub private_key_file: Option<PathBuf>,
    /// One secret a line, so that a new one can be added before the old one goes.
    pub webhook_secret_file: Option<PathBuf>,
    /// `https://HOST/api/v3` for GitHub Enterprise Server.
    pub api: String,
    /// Where repositories are cloned from, where that does not follow from `api`.
    pub git: Option<String>,
}

impl Default for GitHubTable {
    fn default() -> Self {
        Self {
            app_id: None,
            private_key_file: None,
            webhook_secret_file: None,
            api: "https://api.github.com".to_owned(),
            git: None,
        }
    }
}

/// `[server]`: where it listens and what it keeps.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerTable {
    pub listen: SocketAddr,
    /// A SQLite file or `postgres://…`.
    pub database: String,
    /// Shown with check runs.
    pub details_url: Option<String>,
    /// Between two writes to an installation; GitHub asks for a second.
    #[serde(with = "humantime_text")]
    pub write_interval: Duration,
    /// How often missed deliveries are asked for; `0s` for never.
    #[serde(with = "humantime_text")]
    pub recover_every: Duration,
    /// How often it is looked whether there is something to do, where nothing says so.
    #[serde(with = "humantime_text")]
    pub look_every: Duration,
    /// How long a delivery is remembered after it was handled.
    #[serde(with = "humantime_text")]
    pub remember: Duration,
}

impl Default for ServerTable {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            database: "kernelbrain-server.db".to_owned(),
            details_url: None,
            write_interval: Duration::from_secs(1),
            recover_every: Duration::from_secs(300),
            look_every: Duration::from_millis(500),
            remember: Duration::from_secs(14 * 24 * 3600),
        }
    }
}

/// `[policy]`: who gets how much.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyTable {
    pub label: String,
    #[serde(with = "humantime_text")]
    pub budget: Duration,
    #[serde(with = "humantime_text")]
    pub most: Duration,
    #[serde(with = "humantime_text")]
    pub per_pull_request: Duration,
    #[serde(with = "humantime_text")]
    pub per_user_and_day: Duration,
    #[serde(with = "humantime_text")]
    pub per_day: Duration,
    pub attempts: u32,
    #[serde(with = "humantime_text")]
    pub progress_every: Duration,
    /// Whether branches may be pushed where a kernel cannot be suggested.
    pub branches: bool,
    /// The label of the GPUs that jobs ask for; empty for any.
    pub gpu: String,
}

impl Default for PolicyTable {
    fn default() -> Self {
        Self {
            label: "optimize-kernel".to_owned(),
            budget: Duration::from_secs(20 * 60),
            most: Duration::from_secs(2 * 3600),
            per_pull_request: Duration::from_secs(6 * 3600),
            per_user_and_day: Duration::from_secs(8 * 3600),
            per_day: Duration::from_secs(20 * 3600),
            attempts: 5,
            progress_every: Duration::from_secs(15),
            branches: true,
            gpu: String::new(),
        }
    }
}

/// `[runner]`: the GPU host.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunnerTable {
    /// Default: the host's name.
    pub name: Option<String>,
    pub labels: Vec<String>,
    /// Mirrors, workspaces, the database of runs.
    pub folder: PathBuf,
    /// What is started to search, `optimize` and its arguments following; default: this binary.
    pub engine: Vec<String>,
    /// Further arguments of `optimize`.
    pub arguments: Vec<String>,
    /// Variables that the engine sees besides those it needs anyway.
    pub environment: Vec<String>,
    /// Address of the service, for a runner on a host without the App's key.
    pub service: Option<String>,
    /// A file with what such runners and the service share.
    pub secret_file: Option<PathBuf>,
    #[serde(with = "humantime_text")]
    pub lease: Duration,
    #[serde(with = "humantime_text")]
    pub heartbeat: Duration,
    pub fetch_bytes: u64,
    pub checkout_bytes: u64,
}

impl Default for RunnerTable {
    fn default() -> Self {
        Self {
            name: None,
            labels: Vec::new(),
            folder: PathBuf::from("kernelbrain-runner"),
            engine: Vec::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            service: None,
            secret_file: None,
            lease: Duration::from_secs(60),
            heartbeat: Duration::from_secs(2),
            fetch_bytes: 2 << 30,
            checkout_bytes: 2 << 30,
        }
    }
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: {error}", path.display())]
    Toml { path: PathBuf, error: toml::de::Error },
    #[error("{0}")]
    Missing(&'static str),
    #[error("{name}=\"{value}\" cannot be read: {why}")]
    Variable { name: &'static str, value: String, why: String },
    #[error("{0}")]
    Wrong(String),
}

/// The variables that override a file.
#[derive(Clone, Debug, Default)]
pub struct Environment(HashMap<String, String>);

impl Environment {
    /// Of this process.
    pub fn of_process() -> Self {
        Self(std::env::vars().collect())
    }

    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(variables.into_iter().collect())
    }

    fn get(&self, name: &'static str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn parsed<T: std::str::FromStr>(&self, name: &'static str) -> Result<Option<T>, ConfigError>
    where
        T::Err: std::fmt::Display,
    {
        let read = |value: &str| {
            value.parse().map_err(|why: T::Err| ConfigError::Variable {
                name,
                value: value.to_owned(),
                why: why.to_string(),
            })
        };
        self.get(name).map(read).transpose()
    }
}

impl ServerConfig {
    /// Reads a file, where one is named, and what the environment says instead.
    pub fn read(path: Option<&Path>, environment: &Environment) -> Result<Self, ConfigError> {
        let mut config = match path {
            None => Self::default(),
            Some(path) => {
                let text = fs::read_to_string(path)
                    .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
                let parsed = toml::from_str(&text);
                parsed.map_err(|error| ConfigError::Toml { path: path.to_owned(), error })?
            }
        };
        config.folder = path.and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        if let Some(id) = environment.parsed("KERNELBRAIN_APP_ID")? {
            config.github.app_id = Some(id);
        }
        if let Some(listen) = environment.parsed("KERNELBRAIN_LISTEN")? {
            config.server.listen = listen;
        }
        for (name, place) in [
            ("DATABASE_URL", &mut config.server.database),
            ("GITHUB_API_URL", &mut config.github.api),
        ] {
            if let Some(value) = environment.get(name) {
                value.clone_into(place);
            }
        }
        if let Some(service) = environment.get("KERNELBRAIN_SERVICE") {
            config.runner.service = Some(service.to_owned());
        }
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |text: &str| Err(ConfigError::Wrong(text.to_owned()));
        if self.policy.label.trim().is_empty() {
            return wrong("[policy] label is empty: name the label that asks for a search");
        }
        if self.policy.attempts == 0 {
            return wrong("[policy] attempts must be 1 or more");
        }
        if self.policy.budget > self.policy.most {
            return wrong("[policy] budget is more than `most`, the most that a search may have");
        }
        let positive = [
            (self.policy.budget, "[policy] budget"),
            (self.server.look_every, "[server] look_every"),
            (self.runner.heartbeat, "[runner] heartbeat"),
        ];
        if let Some((_, name)) = positive.iter().find(|(time, _)| time.is_zero()) {
            return wrong(&format!("{name} must be more than nothing"));
        }
        if self.runner.lease < 4 * self.runner.heartbeat {
            return wrong("[runner] lease must be at least four times `heartbeat`");
        }
        Ok(())
    }

    /// Where the database is: an address, or the path of a file.
    pub fn database(&self) -> Database {
        let named = &self.server.database;
        if named.starts_with("postgres://") || named.starts_with("postgresql://") {
            return Database::Postgres(SecretString::from(named.as_str()));
        }
        let path = named.strip_prefix("sqlite:").unwrap_or(named);
        let path = path.strip_prefix("//").unwrap_or(path);
        Database::Sqlite(self.folder.join(path))
    }

    pub fn policy(&self) -> Policy {
        let policy = &self.policy;
        Policy {
            label: policy.label.clone(),
            budget_seconds: policy.budget.as_secs(),
            most_seconds: policy.most.as_secs(),
            pull_seconds: policy.per_pull_request.as_secs(),
            user_seconds: policy.per_user_and_day.as_secs(),
            installation_seconds: policy.per_day.as_secs(),
            attempts: policy.attempts,
            progress_every: super::clock::in_millis(policy.progress_every),
            gpu: policy.gpu.clone(),
        }
    }

    pub fn dispatch(&self) -> DispatchOptions {
        /// About an hour and a half with the waits between them.
        const ATTEMPTS: u32 = 16;
        DispatchOptions {
            attempts: ATTEMPTS,
            branches: self.policy.branches,
            details: self.server.details_url.clone(),
        }
    }

    /// How runners start a search.
    pub fn engine(&self) -> Result<EngineCommand, ConfigError> {
        let program = if self.runner.engine.is_empty() {
            let own = std::env::current_exe().map_err(|error| {
                ConfigError::Wrong(format!("cannot find kernelbrain's own binary: {error}"))
            })?;
            vec![own.to_string_lossy().into_owned()]
        } else {
            self.runner.engine.clone()
        };
        Ok(EngineCommand {
            program,
            arguments: self.runner.arguments.clone(),
            environment: self.runner.environment.clone(),
        })
    }

    /// The folder of a runner, absolute.
    pub fn runner_folder(&self) -> Result<PathBuf, ConfigError> {
        let path = self.folder.join(&self.runner.folder);
        let absolute = fs::create_dir_all(&path).and_then(|()| path.canonicalize());
        absolute.map_err(|source| ConfigError::Read { path, source })
    }
}

/// Where a service keeps its rows.
#[derive(Clone, Debug)]
pub enum Database {
    Sqlite(PathBuf),
    /// The address may hold a password.
    Postgres(SecretString),
}

/// Durations as people write them: `20m`.
mod humantime_text {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, de::Error};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(from)?;
        humantime::parse_duration(&text).map_err(|error| {
            D::Error::custom(format!("\"{text}\" is no time ({error}): write for example \"20m\""))
        })
    }
}
