//! The secrets of a service: from the environment, or from files out of everybody's reach.

use std::{fs, path::PathBuf};

use secrecy::{ExposeSecret, SecretString};

use super::{ConfigError, Environment, ServerConfig};

impl ServerConfig {
    /// The App's id.
    pub fn app_id(&self) -> Result<u64, ConfigError> {
        self.github.app_id.ok_or(ConfigError::Missing(
            "no App: give its id as [github] app_id or KERNELBRAIN_APP_ID",
        ))
    }

    /// The App's private key: PEM text.
    pub fn private_key(&self, environment: &Environment) -> Result<SecretString, ConfigError> {
        self.secret(environment, "KERNELBRAIN_PRIVATE_KEY", &self.github.private_key_file)?.ok_or(
            ConfigError::Missing(
                "no private key of the App: name its file as [github] private_key_file, or give the \
                 text in KERNELBRAIN_PRIVATE_KEY",
            ),
        )
    }

    /// Secrets that sign deliveries: any of them will do.
    pub fn webhook_secrets(
        &self,
        environment: &Environment,
    ) -> Result<Vec<SecretString>, ConfigError> {
        let file = &self.github.webhook_secret_file;
        let text = self.secret(environment, "KERNELBRAIN_WEBHOOK_SECRET", file)?;
        let text = text.ok_or(ConfigError::Missing(
            "no webhook secret: name a file as [github] webhook_secret_file, or give it in \
             KERNELBRAIN_WEBHOOK_SECRET",
        ))?;
        let lines = text.expose_secret().lines().map(str::trim).filter(|line| !line.is_empty());
        let secrets: Vec<SecretString> = lines.map(SecretString::from).collect();
        if secrets.is_empty() {
            return Err(ConfigError::Missing("the webhook secret is empty"));
        }
        Ok(secrets)
    }

    /// What remote runners and the service share, where there are any.
    pub fn runner_secret(
        &self,
        environment: &Environment,
    ) -> Result<Option<SecretString>, ConfigError> {
        let secret =
            self.secret(environment, "KERNELBRAIN_RUNNER_SECRET", &self.runner.secret_file)?;
        let secret = secret.map(|it| SecretString::from(it.expose_secret().trim()));
        match secret {
            Some(secret) if secret.expose_secret().len() < 20 => Err(ConfigError::Wrong(
                "the runners' secret is too short: make one with `openssl rand -hex 32`".to_owned(),
            )),
            other => Ok(other),
        }
    }

    /// Refuses secrets in files that a contract or a repository's own tests, which run confined on this
    /// host, could read.
    pub fn check_that_secrets_are_out_of_reach(&self) -> Result<(), ConfigError> {
        let files = [
            &self.github.private_key_file,
            &self.github.webhook_secret_file,
            &self.runner.secret_file,
        ];
        for file in files.into_iter().flatten() {
            let path = self.folder.join(file);
            let path = path.canonicalize().unwrap_or(path);
            if let Some(open) = crate::engine::readable_folder(&path) {
                return Err(ConfigError::Wrong(format!(
                    "{} lies below {open}, where contracts and tests that run on this host can read: \
                     move it, for example to /var/lib, give it in the environment, or let runners work \
                     on other hosts (--runner none)",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    fn secret(
        &self,
        environment: &Environment,
        name: &'static str,
        file: &Option<PathBuf>,
    ) -> Result<Option<SecretString>, ConfigError> {
        if let Some(value) = environment.get(name) {
            return Ok(Some(SecretString::from(value)));
        }
        let Some(file) = file else { return Ok(None) };
        let path = self.folder.join(file);
        let text =
            fs::read_to_string(&path).map_err(|source| ConfigError::Read { path, source })?;
        Ok(Some(SecretString::from(text)))
    }
}
