//! A job from asking to its end, whatever ends it.

use std::time::Duration;

use kernelbrain::store::service::JobState;

use crate::{
    bot::{Bot, KERNEL, kernels, kernels_as, named},
    mock::{GitHub, PullRequest},
};

/// How long a search may live on that nobody wants any more.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_secs(30);

/// A search that takes longer than any test.
fn slow() -> String {
    format!("{KERNEL}# takes: 60s\n")
}

/// A pull request whose search is under way.
async fn searching(github: &GitHub) -> (Bot, PullRequest) {
    let (_, pull) = kernels_as(github, &KERNEL.replace("= 128", "= 64"), &slow());
    let bot = Bot::at(github).await;
    pull.label("optimize-kernel", "mona");
    github.await_write("reacts eyes").await;
    github.await_write("[in_progress]").await;
    bot.engine_is(true, SOON).await;
    (bot, pull)
}

/// The states of the one check run there is, by their titles.
fn titles(github: &GitHub) -> Vec<String> {
    let runs = github.check_runs();
    let [run] = runs.as_slice() else { panic!("{runs:#?}") };
    run.history.iter().map(|state| state.lines().next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_ends_the_search_of_what_was_there_before() {
    let github = GitHub::start();
    let (mut bot, pull) = searching(&github).await;
    pull.push("mona", &[("ops/softmax.py", KERNEL)]);
    bot.engine_is(false, GONE_WITHIN).await;
    bot.settled(&github).await;
    assert_eq!(titles(&github).pop().unwrap(), "[cancelled] A newer commit came (Run again)");
    github.expect_write("removes label optimize-kernel");
    assert_eq!(bot.jobs_in(JobState::Superseded).await.len(), 1);
    github.read_all("check run");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_the_search() {
    let github = GitHub::start();
    let (mut bot, pull) = searching(&github).await;
    pull.close("mona");
    bot.engine_is(false, GONE_WITHIN).await;
    bot.settled(&github).await;
    let run = github.check_runs().remove(0);
    assert_eq!(
        run.history.last().unwrap(),
        "[cancelled] Cancelled (Run again)\nthe pull request was closed"
    );
    github.read_all("check run");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_ends_the_search_by_word_and_by_button() {
    let github = GitHub::start();
    let (mut bot, pull) = searching(&github).await;
    // Not by anybody.
    pull.click("kernelbrain", "cancel", "eve");
    let eves = pull.comment("eve", "/kernelbrain cancel");
    github.await_write(&format!("reacts confused to comment {eves}")).await;
    assert_eq!(bot.jobs_in(JobState::Running).await.len(), 1);

    pull.comment("mona", "Enough of that.\n\n/kernelbrain cancel");
    bot.engine_is(false, GONE_WITHIN).await;
    bot.settled(&github).await;
    github.expect_write("reacts rocket");
    assert_eq!(titles(&github).pop().unwrap(), "[cancelled] Cancelled (Run again)");

    pull.comment("mona", "/kernelbrain cancel");
    bot.settled(&github).await;
    github.expect_write("reacts confused");
    let said = github.expect_write("comments on");
    assert!(said.contains("No search of this pull request is queued or under way."), "{said}");

    pull.click("kernelbrain", "again", "mona");
    bot.engine_is(true, SOON).await;
    pull.click("kernelbrain", "cancel", "mona");
    bot.engine_is(false, GONE_WITHIN).await;
    bot.settled(&github).await;
    assert_eq!(titles(&github).pop().unwrap(), "[cancelled] Cancelled (Run again)");
    assert_eq!(bot.jobs_in(JobState::Cancelled).await.len(), 2);
    github.read_all("check run");
    github.read_all("reacts eyes");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn run_again_says_it_in_the_same_places() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    github.expect_write("creates check run");
    github.expect_write("comments on acme/kernels#1");
    github.expect_write("reviews acme/kernels#1");
    github.expect_write("reacts eyes");

    pull.click("kernelbrain", "again", "mona");
    bot.settled(&github).await;
    github.expect_write("edits comment");
    // GitHub's own button is the same.
    pull.rerun("kernelbrain", "mona");
    bot.settled(&github).await;
    github.expect_write("edits comment");

    assert_eq!(bot.jobs_in(JobState::Reported).await.len(), 3);
    assert_eq!((pull.bot_comments().len(), github.check_runs().len()), (1, 1));
    assert_eq!(pull.reviews().len(), 1, "the same suggestion is made once");
    github.read_all("updates check run");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_older_commits_are_folded_away() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    github.read_all("");
    pull.push("mona", &[("README.md", "Kernels.\n")]);
    bot.settled(&github).await;
    let [comment] = &pull.bot_comments()[..] else { panic!() };
    assert_eq!(comment.minimized.as_deref(), Some("OUTDATED"));
    github.expect_write("minimizes comment");
    github.expect_write("removes label optimize-kernel");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_says_who_is_next() {
    let github = GitHub::start();
    let (mut bot, first) = searching(&github).await;
    let kernels = &first.repository;
    let mut waiting = Vec::new();
    for branch in ["second", "third"] {
        kernels.commit(branch, &[("ops/softmax.py", &format!("{}# {branch}\n", slow()))]);
        let pull = kernels.open_pull("mona", branch);
        pull.label("optimize-kernel", "mona");
        github.await_write("reacts eyes").await;
        github.await_write("creates check run").await;
        waiting.push(pull);
    }
    let mut said = Vec::new();
    for pull in [&first, &waiting[0], &waiting[1]] {
        pull.comment("mona", "/kernelbrain status");
        let answer = github.await_write(&format!("comments on acme/kernels#{}", pull.number)).await;
        github.await_write("reacts eyes").await;
        let row = answer.lines().find(|line| line.starts_with("| `")).unwrap();
        said.push(row.split(" | ").skip(2).collect::<Vec<_>>().join(" | "));
    }
    insta::assert_snapshot!(said.join("\n"), @r"
    running | `mona` |  |
    queued | `mona` | next |
    queued | `mona` | 1 job before it |
    ");
    bot.stop().await;
    github.read_all("check run");
    github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn help_is_given_and_a_slip_of_the_pen_understood() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    pull.comment("mona", "/kernelbrain");
    pull.comment("mona", "/kernelbrain optimise budgt=5m");
    pull.comment("mona", "/kernelbrain optimze");
    // Neither is a command.
    pull.comment("mona", "> /kernelbrain optimize\n\nShould we?");
    pull.comment("mona", "```\n/kernelbrain optimize\n```");
    bot.settled(&github).await;
    let firsts: Vec<String> = pull
        .bot_comments()
        .iter()
        .map(|comment| comment.body.lines().nth(1).unwrap().to_owned())
        .collect();
    insta::assert_snapshot!(firsts.join("\n"), @r#"
    What you can write in a comment, on a line of its own:
    **Not understood.** there is no option "budgt="; did you mean "budget"?
    **Not understood.** there is no command "optimze"; did you mean "optimize"?
    "#);
    for _ in 0..3 {
        github.expect_write("comments on");
    }
    github.read_all("reacts confused");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_cannot_be_searched_is_a_failure_told_to_whoever_asked() {
    let github = GitHub::start();
    let broken = format!("{KERNEL}# fails: contracts/softmax.py: CASES is empty\n");
    let (_, pull) = kernels_as(&github, KERNEL, &broken);
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    github.expect_write("reacts eyes");
    let last = github.check_runs().remove(0).history.pop().unwrap();
    assert!(last.starts_with("[failure]") && last.contains("CASES is empty"), "{last}");
    github.read_all("check run");
    assert!(pull.bot_comments().is_empty(), "a label is answered by the check run");

    pull.comment("mona", "/kernelbrain optimize");
    bot.settled(&github).await;
    github.expect_write("reacts eyes");
    let said = github.expect_write("comments on");
    assert!(said.contains("CASES is empty"), "{said}");
    github.read_all("check run");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_faster_is_said_to_whoever_asked_by_a_command() {
    let github = GitHub::start();
    let best = KERNEL.replace("best: 256", "best: 128");
    let (_, pull) = kernels_as(&github, &KERNEL.replace("= 128", "= 64"), &best);
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    github.expect_write("reacts eyes");
    assert!(titles(&github).pop().unwrap().starts_with("[neutral]"));
    github.read_all("check run");

    pull.comment("mona", "/kernelbrain optimize");
    bot.settled(&github).await;
    github.expect_write("reacts eyes");
    let said = github.expect_write("comments on");
    insta::assert_snapshot!(
        named(said.lines().nth(2).unwrap()),
        @"**No improvement: softmax stays as it was.** No candidate was faster than the baseline beyond noise: the best on rung 0 was 0.594x its speed. 5 candidates tried on Scripted GPU, 2 cases."
    );
    github.read_all("check run");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_shown_no_more_often_than_it_may_be() {
    let github = GitHub::start();
    let kernel = format!("{KERNEL}# takes: 100ms\n");
    let (_, pull) = kernels_as(&github, &KERNEL.replace("= 128", "= 64"), &kernel);
    let mut bot = Bot::with(&github, "[policy]\nprogress_every = \"1h\"\n").await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    let seldom = titles(&github).iter().filter(|it| it.starts_with("[in_progress]")).count();
    assert!((1..=2).contains(&seldom), "{:?}", titles(&github));
    bot.stop().await;
    github.read_all("");

    let github = GitHub::start();
    let (_, pull) = kernels_as(&github, &KERNEL.replace("= 128", "= 64"), &kernel);
    let mut bot = Bot::with(&github, "[policy]\nprogress_every = \"0s\"\n").await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    let often = titles(&github).iter().filter(|it| it.starts_with("[in_progress]")).count();
    assert!(often > 2, "{:?}", titles(&github));
    bot.stop().await;
    github.read_all("");
    github.finish();
}
