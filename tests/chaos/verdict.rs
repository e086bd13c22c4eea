//! What must hold when the dust has settled.

use std::collections::BTreeMap;

use kernelbrain::{
    kernel::Event,
    store::service::{Job, JobState, PullKey, ServiceStore},
};

use crate::{
    mock::{GitHub, git, state::Reaction},
    stories::{Kind, SOURCE, Story, verified},
};

pub(crate) async fn pronounce(github: &GitHub, store: &dyn ServiceStore, stories: &[Story]) {
    let mut jobs = 0;
    for story in stories {
        let told = Told { github, store, story, head: story.pull.head_sha() };
        jobs += told.jobs_ended_once().await;
        told.comments();
        told.check_runs();
        told.reactions();
        told.branches();
        told.deliverable();
    }
    let all = store.jobs_in(&JobState::ALL, 1000).await.unwrap();
    assert_eq!(all.len(), jobs, "jobs that no story asked for");
}

struct Told<'t> {
    github: &'t GitHub,
    store: &'t dyn ServiceStore,
    story: &'t Story,
    head: String,
}

impl Told<'_> {
    fn name(&self) -> String {
        let pull = &self.story.pull;
        format!("{:?}, {}#{}", self.story.kind, pull.repository.full_name(), pull.number)
    }

    /// The story's jobs, each of its head; how many.
    async fn jobs_ended_once(&self) -> usize {
        let repository = &self.story.pull.repository;
        let pull = PullKey {
            installation: repository.installation(),
            repository: repository.id,
            number: self.story.pull.number,
        };
        let mut expected = vec![(self.head.clone(), self.story.kind.job())];
        expected.extend(self.story.old_head.clone().map(|head| (head, JobState::Superseded)));
        let jobs = self.store.jobs_of(pull).await.unwrap();
        let ended: Vec<_> = jobs.iter().map(|job| (job.new.head_sha.clone(), job.state)).collect();
        assert_eq!(ended, expected, "{}", self.name());
        for job in &jobs {
            self.nothing_measured_twice(job).await;
        }
        jobs.len()
    }

    /// What the journal has of an evaluation is never asked for again.
    async fn nothing_measured_twice(&self, job: &Job) {
        let Some(kept) = self.store.copied_run(&job.new.id, "softmax").await.unwrap() else {
            let may_lack = job.state != JobState::Reported
                || matches!(self.story.kind, Kind::Failing | Kind::FailingByCommand);
            assert!(may_lack, "{}: no copy of its journal", self.name());
            return;
        };
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for event in &kept.events {
            let what = match event {
                Event::BaselineMeasured { .. } => "the baseline".to_owned(),
                Event::Evaluated { evaluation, .. } => {
                    format!("{:?} at rung {}", evaluation.candidate, evaluation.rung)
                }
                Event::Verified { verification, .. } => {
                    format!("the verification of {:?}", verification.candidate)
                }
                Event::Ended { .. } => "the end".to_owned(),
                _ => continue,
            };
            *times.entry(what).or_default() += 1;
        }
        let twice: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "{}: measured more than once: {twice:?}", self.name());
    }

    fn comments(&self) {
        let page = self.story.pull.conversation();
        let comments = self.story.pull.bot_comments();
        let is_result = |body: &str, head: &str| {
            let first = body.lines().next().unwrap_or_default();
            first.starts_with("<!-- kernelbrain:result ") && first.contains(head)
        };
        let results = comments.iter().filter(|it| is_result(&it.body, &self.head)).count();
        assert_eq!(results, self.story.kind.comments(), "{}\n{page}", self.name());
        // Nothing else is said, of an older head neither.
        assert_eq!(comments.len(), results, "{}\n{page}", self.name());
    }

    fn check_runs(&self) {
        let runs = self.github.check_runs();
        let of = |head: &str| -> Vec<(String, Option<String>)> {
            let repository = self.story.pull.repository.id;
            let ours = runs.iter().filter(|it| it.repository == repository && it.head_sha == head);
            ours.map(|run| (run.status.clone(), run.conclusion.clone())).collect()
        };
        let completed = |how: &str| vec![("completed".to_owned(), Some(how.to_owned()))];
        assert_eq!(of(&self.head), completed(self.story.kind.conclusion()), "{}", self.name());
        if let Some(old) = &self.story.old_head {
            assert_eq!(of(old), completed("cancelled"), "{}", self.name());
        }
    }

    fn reactions(&self) {
        let bot = format!("{}[bot]", self.github.app_slug());
        let by_bot = |all: &[Reaction]| -> Vec<String> {
            let ours = all.iter().filter(|one| one.author == bot);
            ours.map(|one| one.content.clone()).collect()
        };
        let labelled = !self.story.commands.iter().any(|(_, with)| *with == "eyes");
        let on_pull = by_bot(&self.story.pull.now().reactions);
        assert_eq!(on_pull, vec!["eyes"; usize::from(labelled)], "{}", self.name());
        let comments = self.story.pull.comments();
        for (id, with) in &self.story.commands {
            let comment = comments.iter().find(|comment| comment.id == *id).unwrap();
            assert_eq!(by_bot(&comment.reactions), [*with], "{}", self.name());
        }
    }

    fn branches(&self) {
        let (repository, number) = (&self.story.pull.repository, self.story.pull.number);
        let prefix = format!("kernelbrain/pr-{number}-");
        let branches = repository.branches();
        let ours: Vec<&String> = branches.iter().filter(|it| it.starts_with(&prefix)).collect();
        let stacked = repository.pulls();
        let stacked: Vec<_> =
            stacked.iter().filter(|it| it.head_ref.starts_with(&prefix)).collect();
        if self.story.kind != Kind::Branch {
            assert!(ours.is_empty() && stacked.is_empty(), "{}: {ours:?}", self.name());
            return;
        }
        assert_eq!((ours.len(), stacked.len()), (1, 1), "{}: {ours:?}", self.name());
        assert!(stacked[0].draft && stacked[0].base_ref == self.story.pull.now().head_ref);
        let on_branch = repository.file(ours[0], SOURCE).unwrap();
        assert_eq!(on_branch, verified(&self.source()), "{}", self.name());
    }

    /// What is suggested, or to be applied by hand, gives the verified file.
    fn deliverable(&self) {
        let reviews = self.story.pull.reviews();
        assert_eq!(reviews.len(), self.story.kind.reviews(), "{}", self.name());
        let wanted = verified(&self.source());
        for review in reviews {
            assert_eq!(review.commit.to_string(), self.head, "{}", self.name());
            let applied = self.story.pull.apply_suggestions(review.id, "mona").unwrap();
            assert_eq!(applied, [(SOURCE.to_owned(), wanted.clone())], "{}", self.name());
        }
        if self.story.kind == Kind::ForkPatched {
            let comment = self.story.pull.bot_comments().pop().unwrap().body;
            assert!(comment.contains("+    BLOCK = 256"), "{}\n{comment}", self.name());
        }
    }

    /// The kernel's file at the head that was searched.
    fn source(&self) -> String {
        let head = git2::Oid::from_str(&self.head).unwrap();
        let bytes = git::file(&self.story.pull.repository.git(), head, SOURCE).unwrap();
        String::from_utf8(bytes).unwrap()
    }
}
