//! Check runs: where progress and the outcome of a commit are shown.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Repository, hundred_a_page};
use crate::github::{GitHubError, Result, text_limits, transport::Answer};

/// How far a check run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Queued,
    InProgress,
    Completed,
    /// One that only GitHub's own Actions set.
    #[serde(other, skip_serializing)]
    Other,
}

/// How a check run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckConclusion {
    Success,
    Failure,
    Neutral,
    Cancelled,
    TimedOut,
    ActionRequired,
    Skipped,
    /// One that only GitHub sets.
    #[serde(other, skip_serializing)]
    Other,
}

/// A check run of this App.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRun {
    pub id: u64,
    pub name: String,
    pub head_sha: String,
    /// What this App calls it.
    pub external_id: Option<String>,
    pub status: CheckStatus,
    pub conclusion: Option<CheckConclusion>,
    pub app_id: Option<u64>,
    /// For people.
    pub html_url: Option<String>,
}

#[derive(Deserialize)]
struct Wire {
    id: u64,
    name: String,
    head_sha: String,
    #[serde(default)]
    external_id: Option<String>,
    status: CheckStatus,
    conclusion: Option<CheckConclusion>,
    app: Option<super::Numbered>,
    html_url: Option<String>,
}

impl From<Wire> for CheckRun {
    fn from(wire: Wire) -> Self {
        Self {
            id: wire.id,
            name: wire.name,
            head_sha: wire.head_sha,
            external_id: wire.external_id.filter(|id| !id.is_empty()),
            status: wire.status,
            conclusion: wire.conclusion,
            app_id: wire.app.map(|app| app.id),
            html_url: wire.html_url,
        }
    }
}

#[derive(Deserialize)]
struct Page {
    check_runs: Vec<Wire>,
}

/// A button under a check run. Pressing it sends `identifier` back in a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckAction {
    /// At most 20 characters.
    pub label: String,
    /// At most 40 characters.
    pub description: String,
    /// At most 20 characters.
    pub identifier: String,
}

/// A check run as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCheckRun {
    pub name: String,
    pub head_sha: String,
    pub external_id: String,
    pub status: CheckStatus,
    /// With [`CheckStatus::Completed`], and only then.
    pub conclusion: Option<CheckConclusion>,
    pub title: String,
    /// Markdown, at most 65,535 characters, as is `text`.
    pub summary: String,
    pub text: Option<String>,
    pub details_url: Option<String>,
    /// At most 3.
    pub actions: Vec<CheckAction>,
}

impl NewCheckRun {
    /// The body of the request, or why GitHub would not take it.
    fn body(&self) -> Result<Value> {
        let completed = self.status == CheckStatus::Completed;
        if completed != self.conclusion.is_some() {
            return Err(refused("a check run has a conclusion exactly when it is completed"));
        }
        if self.status == CheckStatus::Other || self.conclusion == Some(CheckConclusion::Other) {
            return Err(refused("a state of a check run that only GitHub sets"));
        }
        if self.actions.len() > text_limits::ACTIONS {
            return Err(refused("a check run has at most three actions"));
        }
        for action in &self.actions {
            let parts = [&action.label, &action.description, &action.identifier];
            for (text, (what, most)) in parts.into_iter().zip(text_limits::ACTION) {
                text_limits::check(&format!("the {what} of an action"), text, most)?;
            }
        }
        text_limits::check("the summary", &self.summary, text_limits::CHECK_TEXT)?;
        let mut output = json!({"title": self.title, "summary": self.summary});
        if let Some(text) = &self.text {
            text_limits::check("the text", text, text_limits::CHECK_TEXT)?;
            output["text"] = text.as_str().into();
        }
        let mut body = json!({"status": self.status, "output": output, "actions": self.actions});
        if let Some(conclusion) = self.conclusion {
            body["conclusion"] = json!(conclusion);
        }
        if let Some(url) = &self.details_url {
            body["details_url"] = url.as_str().into();
        }
        Ok(body)
    }
}

fn refused(why: &str) -> GitHubError {
    GitHubError::Unprocessable(format!("{why}: not sent"))
}

impl Repository {
    /// This App's check runs of that name on a commit, repeated ones included, newest first.
    pub async fn check_runs(&self, sha: &str, name: &str) -> Result<Vec<CheckRun>> {
        let app = self.app_id.to_string();
        let query =
            hundred_a_page([("check_name", name), ("filter", "all"), ("app_id", app.as_str())]);
        let url = self.url(["commits", sha, "check-runs"])? + &query;
        let page = |answer: &Answer| Ok(answer.json::<Page>()?.check_runs);
        let mut runs: Vec<CheckRun> =
            self.pages(url, page).await?.into_iter().map(CheckRun::from).collect();
        runs.retain(|run| run.app_id == Some(self.app_id) && run.name == name);
        runs.sort_by_key(|run| std::cmp::Reverse(run.id));
        Ok(runs)
    }

    pub async fn create_check_run(&self, new: &NewCheckRun) -> Result<CheckRun> {
        let mut body = new.body()?;
        body["name"] = new.name.as_str().into();
        body["head_sha"] = new.head_sha.as_str().into();
        body["external_id"] = new.external_id.as_str().into();
        self.post::<_, Wire>(self.url(["check-runs"])?, &body).await.map(CheckRun::from)
    }

    /// Makes check run `id` show what `wanted` says. Its commit stays, as do its name and external id.
    pub async fn update_check_run(&self, id: u64, wanted: &NewCheckRun) -> Result<CheckRun> {
        let url = self.url(["check-runs", &id.to_string()])?;
        self.patch::<_, Wire>(url, &wanted.body()?).await.map(CheckRun::from)
    }
}
