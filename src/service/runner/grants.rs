//! The right to read one repository, for as long as a checkout takes.

use std::time::Duration;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::{github::GitHub, store::service::Job};

/// Where a repository is fetched from, and with what.
#[derive(Clone, Debug)]
pub struct Grant {
    pub url: String,
    /// Reads contents of this repository and nothing else, for an hour at most. Never written anywhere.
    pub token: SecretString,
}

/// Why there is no grant.
#[derive(Debug, thiserror::Error)]
#[error("no token to read the repository with: {0}")]
pub struct GrantError(pub String);

/// Gives grants.
#[async_trait]
pub trait Grants: Send + Sync {
    /// For the job whose lease has `fence`.
    async fn grant(&self, job: &Job, fence: u64) -> Result<Grant, GrantError>;
}

/// Beside the App's key.
#[derive(Clone, Debug)]
pub struct LocalGrants(pub GitHub);

#[async_trait]
impl Grants for LocalGrants {
    async fn grant(&self, job: &Job, _fence: u64) -> Result<Grant, GrantError> {
        let pull = job.new.pull;
        let token = self.0.read_token(pull.installation, pull.repository).await;
        let token = token.map_err(|error| GrantError(error.to_string()))?;
        let url = format!("{}/{}.git", self.0.git_base(), job.new.repository);
        Ok(Grant { url, token })
    }
}

/// On a host without the App's key: asks the service.
#[derive(Clone, Debug)]
pub struct RemoteGrants {
    /// Address of the service.
    pub service: String,
    /// What runners and the service share.
    pub secret: SecretString,
    client: reqwest::Client,
}

/// What a runner asks the service for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GrantRequest {
    pub job: String,
    pub fence: u64,
}

/// What the service answers.
#[derive(Clone, Serialize, Deserialize)]
pub struct GrantAnswer {
    pub url: String,
    pub token: String,
}

impl std::fmt::Debug for GrantAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GrantAnswer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Longest that the service may take.
const PATIENCE: Duration = Duration::from_secs(30);

impl RemoteGrants {
    pub fn new(service: &str, secret: SecretString) -> Result<Self, GrantError> {
        let address: http::Uri =
            service.parse().map_err(|_| GrantError(format!("{service} is no address")))?;
        let here = matches!(address.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        if address.scheme_str() != Some("https") && !here {
            return Err(GrantError(format!(
                "{service}: tokens travel over https only, between hosts"
            )));
        }
        let client = reqwest::Client::builder().timeout(PATIENCE).build();
        let client = client.map_err(|error| GrantError(error.to_string()))?;
        Ok(Self { service: service.trim_end_matches('/').to_owned(), secret, client })
    }
}

#[async_trait]
impl Grants for RemoteGrants {
    async fn grant(&self, job: &Job, fence: u64) -> Result<Grant, GrantError> {
        let failed = |error: reqwest::Error| GrantError(error.without_url().to_string());
        let request = GrantRequest { job: job.new.id.to_string(), fence };
        let body = serde_json::to_string(&request).map_err(|it| GrantError(it.to_string()))?;
        let sent = self
            .client
            .post(format!("{}/runner/grant", self.service))
            .bearer_auth(self.secret.expose_secret())
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .map_err(failed)?;
        if !sent.status().is_success() {
            return Err(GrantError(format!("the service answered {}", sent.status())));
        }
        let text = sent.text().await.map_err(failed)?;
        let answer: GrantAnswer = serde_json::from_str(&text)
            .map_err(|_| GrantError("the service's answer cannot be read".to_owned()))?;
        Ok(Grant { url: answer.url, token: answer.token.into() })
    }
}
