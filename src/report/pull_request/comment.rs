//! The one comment that tells what came of a job.

use super::{
    Delivered, KernelResult, PullRequestFacts,
    action::{self, PATCHES, PatchPlace},
    facts,
    fit::{self, Section, link, web},
    marker, sections,
    verdict::{self, Ending},
};
use crate::report::escape::span;

/// Characters of all verdicts together: every kernel has its line, as far as that goes.
const VERDICTS: usize = 12_000;

/// The result of a job as a comment, at most [`super::LONGEST`] characters, marked as
/// `result` of the job.
pub fn result_comment(facts: &PullRequestFacts, results: &[(KernelResult, Delivered)]) -> String {
    let (facts, results) = (&facts.cleaned(), &facts::cleaned(results));
    let marker = marker("result", &facts.job);
    let (head, sections, foot) = parts(facts, results);
    fit::page(&format!("{marker}\n{head}"), sections, &foot)
}

/// Verdicts, everything else, and what it is about. Texts in `results` are clean.
pub(super) fn parts(
    facts: &PullRequestFacts,
    results: &[(KernelResult, Delivered)],
) -> (String, Vec<Section>, String) {
    // The good news first; within it, the order of the configuration.
    let mut ordered: Vec<&(KernelResult, Delivered)> = results.iter().collect();
    ordered.sort_by_key(|(result, _)| Ending::of(result));
    let mut room = PATCHES;
    let (mut lines, mut sections) = (Vec::new(), Vec::new());
    for (result, delivered) in &ordered {
        let place = match delivered {
            Delivered::Patch(patch) => Some(PatchPlace::of(patch, &mut room)),
            _ => None,
        };
        let line = verdict::line(result);
        let action = action::of(facts, result, delivered, place);
        lines.push(format!("{line} {action}").trim_end().to_owned());
        if let (Delivered::Patch(patch), Some(PatchPlace::Comment)) = (delivered, place) {
            sections.push(sections::patch(result, patch));
        }
        sections.extend(sections::of(result, ordered.len() > 1));
    }
    (head(&lines, results), sections, foot(facts))
}

fn head(lines: &[String], results: &[(KernelResult, Delivered)]) -> String {
    if let [only] = lines {
        return only.clone();
    }
    let summary = verdict::summary(results.iter().map(|(result, _)| result));
    let mut head = format!("**{}.**\n", fit::plain(&summary, 200));
    let mut length = 0;
    for (at, line) in lines.iter().enumerate() {
        length += line.chars().count();
        if length > VERDICTS {
            head += &format!("\n- and {} more", lines.len() - at);
            break;
        }
        head += &format!("\n- {line}");
    }
    head.trim_end().to_owned()
}

fn foot(facts: &PullRequestFacts) -> String {
    let PullRequestFacts { head_sha, job, requested_by, .. } = facts;
    let commit = span(head_sha.get(..12).unwrap_or(head_sha));
    let mut foot = format!("<sub>Measured at commit {commit}");
    if !requested_by.is_empty() {
        foot += &format!(", asked for by {}", span(requested_by));
    }
    foot += &format!("; job {}", span(job));
    if let Some(details) = facts.details.as_deref().and_then(web) {
        foot += &format!(", {}", link("details", Some(details)));
    }
    foot + ".</sub>"
}
