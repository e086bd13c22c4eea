//! The review that carries suggestions.

use super::{KernelResult, PullRequestFacts, fit, marker, verdict};
use crate::report::{clean, escape::span, format};

/// A kernel that a review suggests.
#[derive(Clone, Debug)]
pub struct ReviewedKernel<'r> {
    pub result: &'r KernelResult,
    /// Comments of the review that belong to it.
    pub suggestions: usize,
}

/// The body of the review, marked as `review` of the job. The commit is in it, since GitHub points an
/// old review at a newer head after a forced push.
pub fn review_body(facts: &PullRequestFacts, kernels: &[ReviewedKernel<'_>]) -> String {
    let facts = facts.cleaned();
    let commit = span(facts.head_sha.get(..12).unwrap_or(&facts.head_sha));
    let mut lines = String::new();
    for ReviewedKernel { result, suggestions } in kernels.iter().take(20) {
        let result = result.cleaned();
        lines += &format!("- {}", verdict::line(&result));
        if kernels.len() > 1 || *suggestions > 1 {
            lines += &format!(" {}.", format::count(*suggestions, "suggestion"));
        }
        lines.push('\n');
    }
    let all: usize = kernels.iter().map(|kernel| kernel.suggestions).sum();
    let how = match all {
        1 => "Commit the suggestion below.".to_owned(),
        all => format!(
            "Apply all {all} as one batch (*Files changed*, *Add suggestion to batch* on each, then \
             *Commit suggestions*): a kernel was verified as a whole, and a part of it was not."
        ),
    };
    let body = format!("Verified for commit {commit}.\n\n{lines}\n{how}");
    fit::page(&format!("{}\n{body}", marker("review", &facts.job)), Vec::new(), "")
}

/// What is put before the block of one suggestion: `Part 1 of 3 of softmax …`; empty where there is only
/// one.
pub fn suggestion_prose(kernel: &str, part: usize, parts: usize) -> String {
    if parts < 2 {
        return String::new();
    }
    let kernel = span(&format::shorten(&clean::text(kernel), 80));
    format!("Part {part} of {parts} of {kernel}: apply all of them as one batch.\n\n")
}
