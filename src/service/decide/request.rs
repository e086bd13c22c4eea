//! Somebody asks for a search.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Facts, Policy, PullFacts, check_of, end, pull_key, upheaval::unlabel};
use crate::{
    service::{
        effect::{self, CheckStage, Reaction, Task},
        key::Key,
        order::{Fork, Order},
        targets::NoTarget,
        words,
    },
    store::service::{Change, Job, JobId, JobState, NewJob},
};

/// How it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The label, put on this head, by the delivery that told of it.
    Label {
        delivery: String,
        sha: String,
    },
    Command {
        comment: u64,
    },
    /// "Run again" of a check run of this head, by the delivery that told of it.
    Button {
        delivery: String,
        sha: String,
    },
}

impl Trigger {
    fn origin(&self) -> String {
        match self {
            Self::Label { delivery, .. } => format!("label:{delivery}"),
            Self::Command { comment } => format!("comment:{comment}"),
            Self::Button { delivery, .. } => format!("button:{delivery}"),
        }
    }

    /// The head that it was about, where that is known without its being named.
    fn sha(&self) -> Option<&str> {
        match self {
            Self::Label { sha, .. } | Self::Button { sha, .. } => Some(sha),
            Self::Command { .. } => None,
        }
    }
}

/// Who asks for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub trigger: Trigger,
    pub sender: String,
    /// The commit that was named.
    pub sha: Option<String>,
    pub budget: Option<Duration>,
}

/// Queues a job, or says why not.
pub fn request(approval: &Approval, facts: &Facts, policy: &Policy) -> Change {
    match grant(approval, facts, policy) {
        Ok(seconds) => queue(approval, facts, policy, seconds),
        Err(refusal) => refuse(approval, facts, policy, &refusal),
    }
}

/// Why nothing is queued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("@{who} may not start a search here: that takes write access to the repository")]
    Permission { who: String },
    #[error("this pull request is closed")]
    Closed,
    #[error("this pull request has moved on: its head is {head}, and the commit named is {named}")]
    OtherHead { head: String, named: String },
    #[error(
        "this pull request comes from another repository: whoever approves its code names the commit \
         that was read, as in `/kernelbrain optimize {head}`"
    )]
    ForkNeedsSha { head: String },
    #[error("a search of this commit is {state} already")]
    UnderWay { state: &'static str },
    #[error("budget={asked} is more than the {most} that one search may have")]
    TooMuch { asked: String, most: String },
    #[error(
        "{asked} is too little for {kernels} kernels: each needs {least} at least; name fewer of them, \
         or allow more with budget="
    )]
    TooLittle { asked: String, kernels: usize, least: String },
    #[error("{whose} searches may take {limit} {period}, and {spent} of that is spent or granted")]
    Spent { whose: &'static str, period: &'static str, limit: String, spent: String },
    #[error(transparent)]
    NoTarget(#[from] NoTarget),
}

/// With less a search does not come to a result.
const LEAST_SECONDS: u64 = 30;

/// Seconds that are granted.
fn grant(approval: &Approval, facts: &Facts, policy: &Policy) -> Result<u64, Refusal> {
    if !facts.may_write() {
        return Err(Refusal::Permission { who: approval.sender.clone() });
    }
    let pull = &facts.pull;
    if !pull.open {
        return Err(Refusal::Closed);
    }
    if let Some(sha) = approval.trigger.sha()
        && sha != pull.head_sha
    {
        return Err(Refusal::OtherHead { head: pull.head_sha.clone(), named: sha.to_owned() });
    }
    match &approval.sha {
        Some(named) if *named != pull.head_sha => {
            return Err(Refusal::OtherHead { head: pull.head_sha.clone(), named: named.clone() });
        }
        // A label or a click may land just after a push that nobody has read.
        None if pull.is_foreign() => {
            return Err(Refusal::ForkNeedsSha { head: pull.head_sha.clone() });
        }
        _ => {}
    }
    // One that is being delivered still has to say how it ended, at the same check run.
    let at_work = |job: &&Job| !job.state.is_over() || job.state == JobState::Measured;
    let same = |job: &&Job| job.new.head_sha == pull.head_sha;
    if let Some(job) = facts.jobs.iter().filter(at_work).find(same) {
        let state = match job.state {
            JobState::Queued => "queued",
            JobState::Measured => "being delivered",
            _ => "under way",
        };
        return Err(Refusal::UnderWay { state });
    }
    let seconds = approval.budget.map_or(policy.budget_seconds, |budget| budget.as_secs());
    if seconds > policy.most_seconds {
        let (asked, most) = (time(seconds), time(policy.most_seconds));
        return Err(Refusal::TooMuch { asked, most });
    }
    if let Err(no_target) = &facts.targets {
        return Err(no_target.clone().into());
    }
    let kernels = facts.targets.as_ref().map_or(0, Vec::len);
    if seconds < LEAST_SECONDS * kernels as u64 {
        let (asked, least) = (time(seconds), time(LEAST_SECONDS));
        return Err(Refusal::TooLittle { asked, kernels, least });
    }
    // The jobs that this one replaces give back what they were granted.
    let given_back: u64 = facts.open_jobs().map(|job| job.new.budget_seconds).sum();
    let budgets = [
        ("this pull request's", "in all", policy.pull_seconds, facts.spent_on_pull),
        ("your", "a day", policy.user_seconds, facts.spent_by_user),
        ("this installation's", "a day", policy.installation_seconds, facts.spent_by_installation),
    ];
    for (whose, period, limit, spent) in budgets {
        let spent = spent.seconds.saturating_sub(given_back);
        if spent + seconds > limit {
            let (limit, spent) = (time(limit), time(spent));
            return Err(Refusal::Spent { whose, period, limit, spent });
        }
    }
    Ok(seconds)
}

fn time(seconds: u64) -> String {
    humantime::format_duration(Duration::from_secs(seconds)).to_string()
}

fn queue(approval: &Approval, facts: &Facts, policy: &Policy, seconds: u64) -> Change {
    let (pull, now) = (&facts.pull, facts.now);
    let mut change = Change::default();
    // Of older heads, where a push was not told of.
    for job in facts.open_jobs() {
        end(&mut change, job, JobState::Superseded, "a newer commit came", now);
    }
    let kernels = facts.targets.clone().unwrap_or_default();
    let origin = approval.trigger.origin();
    let id = job_id(&origin, pull);
    let waiting = words::queued(&kernels, seconds, &approval.sender);
    let order = Order {
        kernels,
        asked: matches!(approval.trigger, Trigger::Command { .. }),
        head_ref: pull.head_ref.clone(),
        fork: pull.is_foreign().then(|| Fork {
            repository: pull.head_repository.as_ref().map(|(_, name)| name.clone()),
        }),
    };
    let stage = CheckStage::Queued;
    change.effects.push(check_of(&pull.place, &id, &pull.head_sha, stage, waiting, now));
    change.effects.push(acceptance(approval, pull, &id, now));
    change.new_jobs.push(NewJob {
        id,
        pull: pull_key(pull),
        repository: pull.place.repository.clone(),
        head_sha: pull.head_sha.clone(),
        base_sha: pull.base_sha.clone(),
        requested_by: approval.sender.clone(),
        origin,
        gpu: policy.gpu.clone(),
        budget_seconds: seconds,
        order: serde_json::to_value(order).unwrap_or_default(),
    });
    change
}

/// The same request gives the same id, so that saying it twice makes no second job.
fn job_id(origin: &str, pull: &PullFacts) -> JobId {
    let digest = Sha256::digest(format!("{}/{origin}", pull.place.pull.repository));
    JobId(digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

/// Eyes, where the person asked.
fn acceptance(
    approval: &Approval,
    pull: &PullFacts,
    job: &JobId,
    now: i64,
) -> crate::store::service::NewEffect {
    match approval.trigger {
        Trigger::Command { comment } => {
            let key = Key::ReactToComment { comment, with: "eyes" };
            let task = Task::ReactToComment { comment, reaction: Reaction::Eyes };
            effect::new(&key, &pull.place, task, now)
        }
        Trigger::Label { .. } | Trigger::Button { .. } => {
            let key = Key::ReactToPull(job.clone());
            effect::new(&key, &pull.place, Task::ReactToPull { reaction: Reaction::Eyes }, now)
        }
    }
}

/// Who may not write here is answered by a reaction at most: no stranger makes the bot talk.
fn refuse(approval: &Approval, facts: &Facts, policy: &Policy, refusal: &Refusal) -> Change {
    let (pull, now) = (&facts.pull, facts.now);
    let mut change = Change::default();
    if let Trigger::Command { comment } = approval.trigger {
        let key = Key::ReactToComment { comment, with: "confused" };
        let task = Task::ReactToComment { comment, reaction: Reaction::Confused };
        change.effects.push(effect::new(&key, &pull.place, task, now));
    }
    if matches!(refusal, Refusal::Permission { .. }) {
        return change;
    }
    // Pushed to before the label was read: what a push does is done, and nobody need be told.
    if let (Trigger::Label { .. }, Refusal::OtherHead { .. }) = (&approval.trigger, refusal) {
        change.effects.extend(unlabel(pull, &policy.label, now));
        return change;
    }
    let key = match &approval.trigger {
        Trigger::Command { comment } => Key::Reply { comment: *comment },
        // A label that is put on twice is not answered twice.
        Trigger::Label { .. } | Trigger::Button { .. } => {
            if matches!(refusal, Refusal::UnderWay { .. } | Refusal::Closed) {
                return change;
            }
            let digest = Sha256::digest(format!("{} {refusal}", pull.head_sha));
            let about = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
            Key::Remark { pull: pull_key(pull), about }
        }
    };
    let body = words::refused(refusal, &approval.sender, &key);
    change.effects.push(effect::new(&key, &pull.place, Task::Comment { body }, now));
    change
}
