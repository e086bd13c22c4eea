//! Delivers verified kernels: as suggestions where every change can be anchored in the diff, else on a
//! branch with a draft pull request, else as a patch in the comment.

use std::collections::HashMap;

use super::{Dispatcher, PerformError, perform::Performed};
use crate::{
    github::{
        GitHubError, NewReview, PostedReviewComment, Pull, PullFile, Repository, ReviewComment,
        suggest::{self, FileDiff, Suggestion},
    },
    service::{
        decide::Completed,
        order::{Delivered, Delivery, KernelOutcome, Results, order_of, results_of},
        words::{self, Texts},
    },
    store::service::{Effect, Job, JobId},
};

impl Dispatcher {
    pub(super) async fn publish(
        &self,
        repository: &Repository,
        effect: &Effect,
        job: &JobId,
    ) -> Performed {
        let job = self.job(job).await?;
        let results =
            results_of(&job).map_err(|error| PerformError::Hopeless(error.to_string()))?;
        let texts = self.texts(&results).await?;
        let mut delivery = Delivery { kernels: vec![Delivered::Nothing; results.kernels.len()] };
        let chosen = one_a_file(&results);
        for (index, kernel) in results.kernels.iter().enumerate() {
            if kernel.verified.is_some() && !chosen.contains(&index) {
                let instead = "another kernel's result changes the same file, and the two were not \
                               verified together: apply that one, then run again";
                delivery.kernels[index] = Delivered::Patch { instead: instead.to_owned() };
            }
        }
        if chosen.is_empty() {
            return Ok((Completed::Published(delivery), None));
        }
        let pull = repository.pull(job.new.pull.number).await?;
        if pull.head.sha != job.new.head_sha {
            return Ok((Completed::Stale, None));
        }
        let publication = Publication {
            dispatcher: self,
            repository,
            job: &job,
            results: &results,
            texts: &texts,
            pull: &pull,
        };
        let refused = publication.suggest(effect, &chosen, &mut delivery).await?;
        publication.otherwise(refused, &mut delivery).await?;
        Ok((Completed::Published(delivery), None))
    }

    /// The texts that results speak of.
    pub(super) async fn texts(&self, results: &Results) -> Result<Texts, PerformError> {
        let mut texts = Texts::default();
        for kernel in &results.kernels {
            for hash in [&kernel.verified, &kernel.baseline].into_iter().flatten() {
                if !texts.contains_key(hash)
                    && let Some(text) = self.store.text(hash).await?
                {
                    texts.insert(hash.clone(), text);
                }
            }
        }
        Ok(texts)
    }
}

/// Of the verified kernels of each file the one that gained most: two were not verified together.
pub(super) fn one_a_file(results: &Results) -> Vec<usize> {
    let gain = |kernel: &KernelOutcome| {
        let ratio = kernel.report.as_ref().and_then(|report| report.speedup.vs_baseline);
        ratio.map_or(0.0, |ratio| ratio.median)
    };
    let mut best: HashMap<&str, usize> = HashMap::new();
    for (index, kernel) in results.kernels.iter().enumerate() {
        if kernel.verified.is_none() {
            continue;
        }
        let place = best.entry(&kernel.source).or_insert(index);
        if gain(kernel) > gain(&results.kernels[*place]) {
            *place = index;
        }
    }
    let mut chosen: Vec<usize> = best.into_values().collect();
    chosen.sort_unstable();
    chosen
}

/// A review of ours that is there.
struct MadeReview {
    first_line: String,
    url: Option<String>,
    comments: Vec<PostedReviewComment>,
}

impl MadeReview {
    /// Whether it is the one of an attempt whose end was not kept, or says the same of an earlier
    /// search: line by line, as the lines stand now.
    fn is_for(&self, marker: &str, wanted: &[Suggestion]) -> bool {
        let says = |wanted: &Suggestion| {
            self.comments.iter().any(|made| {
                let at = (made.path.as_str(), made.start_line, made.line);
                at == (wanted.path.as_str(), wanted.start_line, Some(wanted.line))
                    && made.body.trim_end() == wanted.body.trim_end()
            })
        };
        let same = self.comments.len() == wanted.len() && wanted.iter().all(says);
        self.first_line == marker || (same && !wanted.is_empty())
    }
}

/// A kernel that cannot be suggested, and why.
pub(super) type Refused = (usize, String);

pub(super) struct Publication<'p> {
    pub(super) dispatcher: &'p Dispatcher,
    pub(super) repository: &'p Repository,
    pub(super) job: &'p Job,
    pub(super) results: &'p Results,
    pub(super) texts: &'p Texts,
    pub(super) pull: &'p Pull,
}

impl Publication<'_> {
    pub(super) fn number(&self) -> u64 {
        self.job.new.pull.number
    }

    /// Suggests what can be suggested, in one review; what cannot comes back.
    async fn suggest(
        &self,
        effect: &Effect,
        chosen: &[usize],
        delivery: &mut Delivery,
    ) -> Result<Vec<Refused>, PerformError> {
        let marker = words::marker_line(&effect.new.key);
        let there = self.reviews_of_ours().await?;
        let mut refused = Vec::new();
        for again in [false, true] {
            refused.clear();
            let files = self.repository.pull_files(self.number()).await?;
            let mut offered: Vec<(usize, usize)> = Vec::new();
            let mut comments = Vec::new();
            for &index in chosen {
                match self.suggestions(index, &files) {
                    Ok(made) if comments.len() + made.len() <= suggest::AT_MOST => {
                        offered.push((index, made.len()));
                        comments.extend(self.with_prose(index, made));
                    }
                    Ok(_) => refused.push((index, "a review would have too many of them".into())),
                    Err(reason) => refused.push((index, reason)),
                }
            }
            if offered.is_empty() {
                return Ok(refused);
            }
            let url = match there.iter().find(|review| review.is_for(&marker, &comments)) {
                Some(review) => review.url.clone(),
                None => match self.review(&marker, &offered, &comments).await {
                    Ok(url) => url,
                    // All or nothing, and GitHub does not say which: the diff is read again, once.
                    Err(PerformError::GitHub(GitHubError::Unprocessable(message))) => {
                        if again {
                            let reason = format!("GitHub did not take the suggestions: {message}");
                            refused.extend(offered.into_iter().map(|(it, _)| (it, reason.clone())));
                            return Ok(refused);
                        }
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            for (index, _) in offered {
                delivery.kernels[index] = Delivered::Suggestion { url: url.clone() };
            }
            break;
        }
        Ok(refused)
    }

    /// What our own App said of this pull request before.
    async fn reviews_of_ours(&self) -> Result<Vec<MadeReview>, PerformError> {
        let login = self.dispatcher.login().await?;
        let reviews = self.repository.reviews(self.number()).await?;
        let ours: Vec<_> = reviews.into_iter().filter(|it| it.user.login == login).collect();
        if ours.is_empty() {
            return Ok(Vec::new());
        }
        let comments = self.repository.review_comments(self.number()).await?;
        let made = ours.into_iter().map(|review| MadeReview {
            comments: comments.iter().filter(|it| it.review == Some(review.id)).cloned().collect(),
            first_line: review.body.lines().next().unwrap_or_default().trim_end().to_owned(),
            url: review.html_url,
        });
        Ok(made.collect())
    }

    async fn review(
        &self,
        marker: &str,
        offered: &[(usize, usize)],
        comments: &[Suggestion],
    ) -> Result<Option<String>, PerformError> {
        let body = words::review(marker, self.job, self.results, offered);
        let comments = comments.iter().map(|it| ReviewComment {
            path: it.path.clone(),
            body: it.body.clone(),
            line: it.line,
            start_line: it.start_line,
        });
        let review = NewReview {
            commit_id: self.job.new.head_sha.clone(),
            body,
            comments: comments.collect(),
        };
        let made = self.repository.create_review(self.number(), &review).await?;
        Ok(made.html_url)
    }

    /// Of several suggestions each says that it is one of them.
    fn with_prose(&self, index: usize, made: Vec<Suggestion>) -> Vec<Suggestion> {
        let (name, parts) = (&self.results.kernels[index].name, made.len());
        let numbered = made.into_iter().enumerate().map(|(at, suggestion)| {
            let body = words::part(name, at + 1, parts) + &suggestion.body;
            Suggestion { body, ..suggestion }
        });
        numbered.collect()
    }

    fn suggestions(&self, index: usize, files: &[PullFile]) -> Result<Vec<Suggestion>, String> {
        let kernel = &self.results.kernels[index];
        let (head, verified) = self.sides(kernel).ok_or("its text is not kept any more")?;
        let file = files.iter().find(|file| file.filename == kernel.source);
        let file = file.ok_or("the pull request does not change the kernel's file")?;
        let patch = file.patch.as_deref().ok_or("GitHub shows no diff of the file")?;
        let diff = FileDiff::parse(patch).map_err(|error| error.to_string())?;
        suggest::suggest(&kernel.source, head, verified, &diff).map_err(|error| error.to_string())
    }

    pub(super) fn sides(&self, kernel: &KernelOutcome) -> Option<(&str, &str)> {
        let text = |hash: &Option<String>| self.texts.get(hash.as_ref()?).map(String::as_str);
        Some((text(&kernel.baseline)?, text(&kernel.verified)?))
    }

    /// A branch for what could not be suggested, where that may be; else a patch.
    async fn otherwise(
        &self,
        refused: Vec<Refused>,
        delivery: &mut Delivery,
    ) -> Result<(), PerformError> {
        if refused.is_empty() {
            return Ok(());
        }
        let foreign = order_of(self.job).map_or(true, |order| order.fork.is_some());
        let reason = if foreign {
            // A tree of a fork in the base repository would run with its rights.
            Some("branches are not pushed for pull requests from forks".to_owned())
        } else if !self.dispatcher.options.branches {
            Some("this installation pushes no branches".to_owned())
        } else {
            match self.branch(&refused, delivery).await {
                Ok(()) => None,
                Err(PerformError::GitHub(
                    error @ (GitHubError::Forbidden(_) | GitHubError::Unprocessable(_)),
                )) => Some(error.to_string()),
                Err(error) => return Err(error),
            }
        };
        if let Some(no_branch) = reason {
            for (index, no_suggestion) in refused {
                let instead = format!("{no_suggestion}; {no_branch}");
                delivery.kernels[index] = Delivered::Patch { instead };
            }
        }
        Ok(())
    }
}
