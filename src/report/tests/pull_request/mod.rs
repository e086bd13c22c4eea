//! What a maintainer reads.

use super::{patch::unified, samples::*, *};
use crate::report::pull_request::*;

mod hostility;
mod replies;
mod sizes;

fn facts() -> PullRequestFacts {
    PullRequestFacts {
        repository: "octo/kernels".into(),
        number: 12,
        head_sha: "4b825dc642cb6eb9a060e54bf8d69288fbee4904".into(),
        job: "7f3a9c21d0e4".into(),
        requested_by: "mona".into(),
        details: Some("https://kernelbrain.example/jobs/7f3a9c21d0e4".into()),
        fork: false,
    }
}

fn result(report: Report) -> KernelResult {
    KernelResult {
        name: report.target.name.clone(),
        source: report.target.source.clone(),
        report: Some(report),
        ..KernelResult::default()
    }
}

fn tested(report: Report) -> KernelResult {
    let tests = TestsPassed { command: "python -m pytest tests".into(), seconds: Some(41.3) };
    KernelResult { tests: Some(tests), ..result(report) }
}

fn suggestion() -> Delivered {
    let url = "https://github.com/octo/kernels/pull/12#pullrequestreview-99";
    Delivered::Suggestion { url: Some(url.into()) }
}

fn patch_of(report: &Report) -> Delivered {
    let best = report.best_source.as_deref().unwrap();
    Delivered::Patch(unified(&report.target.source, &report.baseline_source, best))
}

/// A run that broke down before it had anything to report.
fn broken() -> KernelResult {
    KernelResult {
        name: "matvec".into(),
        source: "kernels/matvec.py".into(),
        failure: Some("the checkout has no file contracts/matvec.py: add it or mend `test`".into()),
        ..KernelResult::default()
    }
}

#[test]
fn a_suggestion_is_told_with_its_verdict_first() {
    let comment = result_comment(&facts(), &[(tested(improved()), suggestion())]);
    insta::assert_snapshot!("comment_suggestion", comment);
}

#[test]
fn a_branch_is_told_with_its_pull_request() {
    let delivered = Delivered::Branch {
        branch: "kernelbrain/pr-12-4b825dc6".into(),
        pull: Some(13),
        url: Some("https://github.com/octo/kernels/pull/13".into()),
    };
    let mut kernel = tested(reviewed());
    kernel.notes = vec![
        "The contract is the one of the base branch.".into(),
        "The change cannot be a suggestion: it needs lines that the pull request's diff does not show (line 12).".into(),
    ];
    insta::assert_snapshot!("comment_branch", result_comment(&facts(), &[(kernel, delivered)]));
}

#[test]
fn a_fork_gets_a_patch_to_copy() {
    let report = improved();
    let delivered = patch_of(&report);
    let comment = result_comment(
        &PullRequestFacts { fork: true, ..facts() },
        &[(result(report), delivered.clone())],
    );
    let Delivered::Patch(patch) = delivered else { unreachable!() };
    assert!(comment.contains(&format!("```diff\n{patch}```\n")), "byte for byte: {comment}");
    insta::assert_snapshot!("comment_patch", comment);
}

#[test]
fn what_did_not_get_faster_is_said_as_plainly() {
    let none = result_comment(&facts(), &[(result(no_improvement()), Delivered::Nothing)]);
    assert!(none.contains("Triton's interpreter on the CPU and not a GPU's"));
    insta::assert_snapshot!("comment_no_improvement", none);
    insta::assert_snapshot!(
        "comment_failed",
        result_comment(&facts(), &[(result(failed()), Delivered::Nothing)])
    );
}

#[test]
fn several_kernels_have_a_line_each_and_the_good_news_first() {
    let results = [
        (broken(), Delivered::Nothing),
        (result(no_improvement()), Delivered::Nothing),
        (tested(improved()), suggestion()),
    ];
    let comment = result_comment(&facts(), &results);
    let at = |text: &str| comment.find(text).unwrap_or_else(|| panic!("{text}: {comment}"));
    assert!(at("softmax is 1.72× faster") < at("No improvement: rmsnorm"));
    assert!(at("No improvement: rmsnorm") < at("Failed: matvec was not optimised"));
    insta::assert_snapshot!("comment_several", comment);
}

#[test]
fn a_speedup_in_the_interpreter_is_never_one_of_a_gpu() {
    let mut report = improved();
    (report.device.kind, report.device.name) = ("cpu".into(), "Triton interpreter".into());
    let comment = result_comment(&facts(), &[(result(report), suggestion())]);
    let verdict = comment.lines().nth(1).unwrap();
    assert!(
        verdict.starts_with("**softmax is 1.72× faster in Triton's interpreter**"),
        "{verdict}"
    );
    assert!(verdict.contains("on the cpu device"), "{verdict}");
    assert!(comment.contains("> [!NOTE]\n> Times are those of Triton's interpreter"));
}

#[test]
fn more_than_six_cases_are_folded() {
    let mut report = improved();
    let case = report.cases[0].clone();
    report.cases.extend((0..5).map(|n| CaseRow { name: format!("extra{n}"), ..case.clone() }));
    let comment = result_comment(&facts(), &[(result(report), suggestion())]);
    let (above, below) = comment.split_once("<details>").unwrap();
    assert!(comment.contains("8 cases verified"));
    assert!(above.contains("extra2") && !above.contains("extra3"));
    assert!(above.contains("2 more cases below.") && below.contains("`extra4`"));
}

#[test]
fn the_check_run_ends_as_the_job_did() {
    let faster = (tested(improved()), suggestion());
    let unchanged = (result(no_improvement()), Delivered::Nothing);
    let broken = (broken(), Delivered::Nothing);
    let ends = |results: &[(KernelResult, Delivered)]| {
        let (conclusion, text) = check_conclusion(&facts(), results);
        (conclusion.name(), text.title)
    };
    assert_eq!(ends(std::slice::from_ref(&faster)), ("success", "softmax is 1.72× faster".into()));
    let title = "No improvement: rmsnorm stays as it was".into();
    assert_eq!(ends(std::slice::from_ref(&unchanged)), ("neutral", title));
    let title = "Failed: matvec was not optimised".into();
    assert_eq!(ends(std::slice::from_ref(&broken)), ("failure", title));
    let title = "2 kernels: 1 faster, 1 without improvement".into();
    assert_eq!(ends(&[faster.clone(), unchanged]), ("success", title));
    let title = "2 kernels: 1 faster, 1 failed".into();
    assert_eq!(ends(&[faster, broken]), ("failure", title));
    assert_eq!(ends(&[]), ("neutral", "No kernel to optimise".into()));
}

#[test]
fn without_a_comment_the_check_run_tells_it_all() {
    let (_, text) = check_conclusion(&facts(), &[(result(no_improvement()), Delivered::Nothing)]);
    for wanted in ["flowchart LR", "rung 1: 3 entered", "To repeat it:", "wall clock 44 s of 60 s"]
    {
        assert!(text.summary.contains(wanted), "{wanted}: {}", text.summary);
    }
    assert!(!text.summary.contains("<!--"), "a check run needs no marker");
}

#[test]
fn progress_is_told_rung_by_rung() {
    let rung = |index, entered, rejected, measured, promoted| RungProgress {
        index,
        entered,
        rejected,
        measured,
        promoted,
    };
    let progress = Progress {
        device: Some("NVIDIA H200".into()),
        interpreter: false,
        kernels: vec![
            KernelProgress {
                name: "softmax".into(),
                phase: Phase::Searching,
                rungs: vec![rung(0, 96, 14, 80, 30), rung(1, 30, 1, 22, 8), rung(2, 2, 0, 1, 0)],
                candidates: 96,
                best_speedup: Some(1.48),
                budget_left_seconds: Some(540.0),
                budget_seconds: Some(1200.0),
            },
            KernelProgress { name: "rmsnorm".into(), ..KernelProgress::default() },
        ],
    };
    let text = check_output(&progress);
    insta::assert_snapshot!("check_progress", format!("{}\n\n{}", text.title, text.summary));

    // It travels as JSON, also to a version that knows less or more.
    let json = serde_json::to_string(&progress).unwrap();
    assert_eq!(serde_json::from_str::<Progress>(&json).unwrap(), progress);
    let other: Progress =
        serde_json::from_str(r#"{"kernels":[{"name":"x","phase":"dreaming","new":1}]}"#).unwrap();
    assert_eq!(other.kernels[0].phase, Phase::Unknown);
    assert_eq!(check_output(&other).title, "At work x");
    assert_eq!(check_output(&Progress::default()).title, "Waiting");
}

#[test]
fn results_are_kept_as_json() {
    let results = vec![(tested(improved()), suggestion()), (broken(), Delivered::Nothing)];
    let json = serde_json::to_string(&results).unwrap();
    let again: Vec<(KernelResult, Delivered)> = serde_json::from_str(&json).unwrap();
    assert_eq!(again[1], results[1]);
    assert_eq!(again[0].0.tests, results[0].0.tests);
    assert_eq!(result_comment(&facts(), &again[1..]), result_comment(&facts(), &results[1..]));
}
