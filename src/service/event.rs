//! Webhook deliveries as typed events: what the service acts on, and nothing else of a payload.

use serde::Deserialize;

use crate::store::service::PullKey;

/// What happened at GitHub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A label was put on a pull request.
    Labeled {
        pull: PullRef,
        label: String,
        /// The head that whoever put it on had before them.
        sha: String,
        sender: String,
    },
    /// The pull request has another head.
    Synchronized {
        pull: PullRef,
    },
    Closed {
        pull: PullRef,
    },
    /// Somebody wrote under a pull request.
    Commented {
        pull: PullRef,
        comment: u64,
        body: String,
        sender: String,
    },
    /// A button of a check run of ours, or "re-run".
    CheckButton {
        repository: RepositoryRef,
        external_id: String,
        button: Button,
        sender: String,
    },
    /// The App was taken off an account, or may not act for now.
    InstallationGone {
        installation: u64,
    },
    /// Nothing to do; why, for the log.
    Ignored(&'static str),
}

/// A pull request and what its repository is called now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRef {
    pub key: PullKey,
    pub repository: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryRef {
    pub installation: u64,
    pub id: u64,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Button {
    Again,
    Cancel,
}

impl Button {
    /// What a check run's button is called at GitHub, at most 20 characters.
    pub fn identifier(self) -> &'static str {
        match self {
            Self::Again => "again",
            Self::Cancel => "cancel",
        }
    }

    fn of_identifier(identifier: &str) -> Option<Self> {
        [Self::Again, Self::Cancel].into_iter().find(|it| it.identifier() == identifier)
    }
}

/// A body that is not what GitHub sends for its event.
#[derive(Debug, thiserror::Error)]
#[error("the body of this {event} delivery cannot be read: {why}")]
pub struct PayloadError {
    event: String,
    why: String,
}

impl PayloadError {
    /// Quotes no more of a body than a log line can bear.
    fn new(event: &str, source: &serde_json::Error) -> Self {
        const QUOTED: usize = 200;
        let mut why = source.to_string();
        if let Some((end, _)) = why.char_indices().nth(QUOTED) {
            why.truncate(end);
            why = format!("{why}… at line {} column {}", source.line(), source.column());
        }
        Self { event: event.to_owned(), why }
    }
}

/// Reads a delivery. Fields that are not needed are not looked at: GitHub adds some at any time.
pub fn read(event: &str, body: &[u8]) -> Result<Event, PayloadError> {
    let failed = |source| PayloadError::new(event, &source);
    match event {
        "pull_request" => serde_json::from_slice(body).map(pull_request).map_err(failed),
        "issue_comment" => serde_json::from_slice(body).map(issue_comment).map_err(failed),
        "check_run" => serde_json::from_slice(body).map(check_run).map_err(failed),
        "installation" => serde_json::from_slice(body).map(installation).map_err(failed),
        _ => Ok(Event::Ignored("no event of interest")),
    }
}

#[derive(Deserialize)]
struct Sender {
    login: String,
    #[serde(rename = "type", default)]
    kind: String,
}

impl Sender {
    fn is_a_bot(&self) -> bool {
        self.kind == "Bot" || self.login.ends_with("[bot]")
    }
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
}

#[derive(Deserialize)]
struct Repository {
    id: u64,
    full_name: String,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

#[derive(Deserialize)]
struct LabeledPull {
    head: LabeledHead,
}

#[derive(Deserialize)]
struct LabeledHead {
    sha: String,
}

#[derive(Deserialize)]
struct PullRequestPayload {
    action: String,
    number: u64,
    label: Option<Label>,
    pull_request: Option<LabeledPull>,
    repository: Repository,
    installation: Option<Installation>,
    sender: Sender,
}

fn pull_ref(
    repository: Repository,
    installation: Option<Installation>,
    number: u64,
) -> Option<PullRef> {
    let key = PullKey { installation: installation?.id, repository: repository.id, number };
    Some(PullRef { key, repository: repository.full_name })
}

const NO_INSTALLATION: Event = Event::Ignored("not sent to an installation of the App");

fn pull_request(payload: PullRequestPayload) -> Event {
    let PullRequestPayload {
        action,
        number,
        label,
        pull_request,
        repository,
        installation,
        sender,
    } = payload;
    let Some(pull) = pull_ref(repository, installation, number) else { return NO_INSTALLATION };
    match (action.as_str(), label.zip(pull_request)) {
        // Whoever pushes or closes, the old head is of no use any more.
        ("synchronize", _) => Event::Synchronized { pull },
        ("closed", _) => Event::Closed { pull },
        ("labeled", _) if sender.is_a_bot() => Event::Ignored("a bot's label"),
        ("labeled", Some((label, labeled))) => {
            Event::Labeled { pull, label: label.name, sha: labeled.head.sha, sender: sender.login }
        }
        _ => Event::Ignored("no action of interest on a pull request"),
    }
}

#[derive(Deserialize)]
struct IssueCommentPayload {
    action: String,
    issue: Issue,
    comment: Comment,
    repository: Repository,
    installation: Option<Installation>,
    sender: Sender,
}

#[derive(Deserialize)]
struct Issue {
    number: u64,
    /// Only of pull requests.
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    body: Option<String>,
}

fn issue_comment(payload: IssueCommentPayload) -> Event {
    let IssueCommentPayload { action, issue, comment, repository, installation, sender } = payload;
    if issue.pull_request.is_none() {
        return Event::Ignored("a comment on an issue");
    }
    if action != "created" {
        return Event::Ignored("not a new comment");
    }
    if sender.is_a_bot() {
        return Event::Ignored("a bot's comment");
    }
    let Some(pull) = pull_ref(repository, installation, issue.number) else {
        return NO_INSTALLATION;
    };
    let body = comment.body.unwrap_or_default();
    Event::Commented { pull, comment: comment.id, body, sender: sender.login }
}

#[derive(Deserialize)]
struct CheckRunPayload {
    action: String,
    check_run: CheckRun,
    requested_action: Option<RequestedAction>,
    repository: Repository,
    installation: Option<Installation>,
    sender: Sender,
}

#[derive(Deserialize)]
struct CheckRun {
    external_id: Option<String>,
}

#[derive(Deserialize)]
struct RequestedAction {
    identifier: String,
}

fn check_run(payload: CheckRunPayload) -> Event {
    let CheckRunPayload { action, check_run, requested_action, repository, installation, sender } =
        payload;
    let button = match (action.as_str(), requested_action) {
        ("rerequested", _) => Some(Button::Again),
        ("requested_action", Some(requested)) => Button::of_identifier(&requested.identifier),
        _ => None,
    };
    let Some(button) = button else { return Event::Ignored("no button of a check run") };
    if sender.is_a_bot() {
        return Event::Ignored("a bot's click");
    }
    let Some(external_id) = check_run.external_id.filter(|id| !id.is_empty()) else {
        return Event::Ignored("no check run of ours");
    };
    let Some(installation) = installation else { return NO_INSTALLATION };
    let repository = RepositoryRef {
        installation: installation.id,
        id: repository.id,
        name: repository.full_name,
    };
    Event::CheckButton { repository, external_id, button, sender: sender.login }
}

#[derive(Deserialize)]
struct InstallationPayload {
    action: String,
    installation: Installation,
}

fn installation(payload: InstallationPayload) -> Event {
    match payload.action.as_str() {
        "deleted" | "suspend" => Event::InstallationGone { installation: payload.installation.id },
        _ => Event::Ignored("no action of interest on an installation"),
    }
}
