//! Commands other than `optimize`.

use super::{Facts, end};
use crate::{
    service::{
        command::{Command, CommandError},
        effect::{self, Reaction, Task},
        key::Key,
        order::results_of,
        words,
    },
    store::service::{Change, Job, JobState},
};

/// Answers a command; `optimize` is [`super::request`]'s.
pub fn converse(
    command: &Result<Command, CommandError>,
    comment: u64,
    sender: &str,
    facts: &Facts,
) -> Change {
    let mut answer = Answer { comment, facts, change: Change::default() };
    // Nobody else makes the bot talk, or learns anything by it.
    if !facts.may_write() {
        answer.react(Reaction::Confused);
        return answer.change;
    }
    match command {
        Err(error) => {
            answer.react(Reaction::Confused);
            answer.reply(words::misunderstood(error, sender));
        }
        Ok(Command::Help) => answer.reply(words::help(sender)),
        Ok(Command::Status) => {
            answer.react(Reaction::Eyes);
            answer.reply(words::status(&facts.jobs, &facts.queue, sender));
        }
        Ok(Command::Cancel) => answer.cancel(sender),
        Ok(Command::Commit) => answer.commit(sender),
        Ok(Command::Optimize(_)) => {}
    }
    answer.change
}

/// "Cancel" of a check run.
pub fn cancel_by_button(sender: &str, sha: &str, facts: &Facts) -> Change {
    let mut change = Change::default();
    if !facts.may_write() {
        return change;
    }
    for job in facts.open_jobs().filter(|job| job.new.head_sha == sha) {
        let reason = format!("cancelled by {sender}");
        end(&mut change, job, JobState::Cancelled, &reason, facts.now);
    }
    change
}

struct Answer<'f> {
    comment: u64,
    facts: &'f Facts,
    change: Change,
}

impl Answer<'_> {
    fn react(&mut self, reaction: Reaction) {
        let with = match reaction {
            Reaction::Eyes => "eyes",
            Reaction::Rocket => "rocket",
            Reaction::Confused => "confused",
        };
        let key = Key::ReactToComment { comment: self.comment, with };
        let task = Task::ReactToComment { comment: self.comment, reaction };
        self.owe(&key, task);
    }

    fn reply(&mut self, text: String) {
        let key = Key::Reply { comment: self.comment };
        let body = words::marked(&key, &text);
        self.owe(&key, Task::Comment { body });
    }

    fn owe(&mut self, key: &Key, task: Task) {
        let effect = effect::new(key, &self.facts.pull.place, task, self.facts.now);
        self.change.effects.push(effect);
    }

    fn cancel(&mut self, sender: &str) {
        let open: Vec<&Job> = self.facts.open_jobs().collect();
        if open.is_empty() {
            self.react(Reaction::Confused);
            self.reply(words::nothing_to_cancel());
            return;
        }
        for job in open {
            let reason = format!("cancelled by {sender}");
            end(&mut self.change, job, JobState::Cancelled, &reason, self.facts.now);
        }
        self.react(Reaction::Rocket);
    }

    fn commit(&mut self, sender: &str) {
        let facts = self.facts;
        let verified = |job: &&Job| {
            matches!(job.state, JobState::Measured | JobState::Reported)
                && results_of(job).is_ok_and(|results| results.verified().next().is_some())
        };
        let Some(job) = facts.jobs.iter().find(verified) else {
            self.react(Reaction::Confused);
            self.reply(words::nothing_to_commit());
            return;
        };
        if facts.pull.is_foreign() {
            self.react(Reaction::Confused);
            self.reply(words::cannot_commit_to_fork());
            return;
        }
        self.react(Reaction::Eyes);
        let key = Key::Commit { comment: self.comment };
        let task =
            Task::Commit { job: job.new.id.clone(), comment: self.comment, by: sender.to_owned() };
        self.owe(&key, task);
    }
}
