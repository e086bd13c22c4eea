//! How a verified kernel reaches the pull request: suggestion, branch or patch; and `commit`.

use kernelbrain::store::service::JobState;

use crate::{
    bot::{Bot, KERNEL, kernels, kernels_as, long_kernel, repository},
    mock::{Fault, GitHub, PullRequest, Repo},
};

/// A pull request that changes the file far from what is worth changing.
fn far_from_the_diff(github: &GitHub) -> (Repo, PullRequest) {
    kernels_as(github, &long_kernel(), &(long_kernel() + "# longer\n"))
}

fn faster(kernel: &str) -> String {
    kernel.replace("BLOCK = 128", "BLOCK = 256")
}

/// The line of the comment that says why it is no suggestion.
fn instead(comment: &str) -> String {
    let line = comment.lines().find(|line| line.contains("and not a suggestion, because"));
    line.unwrap_or_else(|| panic!("{comment}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_suggested_comes_as_a_draft_into_the_branch() {
    let github = GitHub::start();
    let (kernels, pull) = far_from_the_diff(&github);
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;

    let branch = format!("kernelbrain/pr-1-{}", &pull.head_sha()[..8]);
    github.expect_write(&format!("creates branch {branch}"));
    let opened = github.expect_write("opens draft pull request acme/kernels#2");
    assert!(opened.contains("into wider: Faster softmax for #1"), "{opened}");
    let comment = github.expect_write("comments on acme/kernels#1");
    insta::assert_snapshot!(instead(&comment), @"- A branch and not a suggestion, because it needs lines that the pull request's diff does not show (line 14).");
    assert!(comment.contains("/acme/kernels/pull/2"), "{comment}");
    let expected = faster(&(long_kernel() + "# longer\n"));
    assert_eq!(kernels.file(&branch, "ops/softmax.py").as_deref(), Some(expected.as_str()));
    assert_eq!(kernels.branch("wider").unwrap().to_string(), pull.head_sha());

    // Run again: the same branch, the same pull request.
    github.read_all("check run");
    pull.click("kernelbrain", "again", "mona");
    bot.settled(&github).await;
    github.expect_write("edits comment");
    assert_eq!(kernels.pulls().len(), 2);
    github.read_all("check run");
    github.expect_write("reacts eyes");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_drafts_gets_an_ordinary_pull_request() {
    let github = GitHub::start();
    let (kernels, pull) = far_from_the_diff(&github);
    kernels.refuse_drafts();
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    github.expect_write("creates branch");
    github.expect_write("opens pull request acme/kernels#2");
    github.expect_write("comments on acme/kernels#1");
    github.read_all("check run");
    github.expect_write("reacts eyes");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_branches_there_is_a_patch_and_no_commit() {
    let github = GitHub::start();
    let (_, pull) = far_from_the_diff(&github);
    let mut bot = Bot::with(&github, "[policy]\nbranches = false\n").await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    let comment = github.expect_write("comments on acme/kernels#1");
    insta::assert_snapshot!(instead(&comment), @"- A patch and not a suggestion, because it needs lines that the pull request's diff does not show (line 14); this installation pushes no branches.");
    assert!(comment.contains("-    BLOCK = 128\n+    BLOCK = 256\n"), "{comment}");

    pull.comment("mona", "/kernelbrain commit");
    bot.settled(&github).await;
    let said = github.expect_write("comments on acme/kernels#1");
    assert!(said.contains("GitHub did not take the commit"), "{said}");
    github.read_all("check run");
    github.read_all("reacts eyes");
    github.finish();
    bot.stop().await;
}

const TWO_IN_ONE: &str = "\
[[kernel]]
name = \"softmax\"
source = \"ops/softmax.py\"
entry = \"ops.softmax:softmax\"
test = \"contracts/softmax.py\"

[[kernel]]
name = \"log_softmax\"
source = \"ops/softmax.py\"
entry = \"ops.softmax:log_softmax\"
test = \"contracts/softmax.py\"
";

#[tokio::test(flavor = "multi_thread")]
async fn of_two_kernels_in_one_file_one_is_suggested() {
    let github = GitHub::start();
    let before = KERNEL.replace("= 128", "= 64");
    let kernels = repository(&github, TWO_IN_ONE, &[("ops/softmax.py", &before)]);
    kernels.commit("wider", &[("ops/softmax.py", KERNEL)]);
    let pull = kernels.open_pull("mona", "wider");
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    let comment = github.expect_write("comments on acme/kernels#1");
    assert!(instead(&comment).contains("another kernel's result changes the same file"));
    let review = pull.reviews().remove(0);
    assert_eq!(pull.review_comments(review.id).len(), 1);
    github.expect_write("reviews acme/kernels#1");
    github.read_all("check run");
    github.expect_write("reacts eyes");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_files_each_is_delivered_as_it_can_be() {
    let github = GitHub::start();
    let rms = TWO_IN_ONE.replace(
        "name = \"log_softmax\"\nsource = \"ops/softmax.py\"",
        "name = \"rms\"\nsource = \"ops/rms.py\"",
    );
    let before = KERNEL.replace("= 128", "= 64");
    let files = [("ops/softmax.py", before.as_str()), ("ops/rms.py", &long_kernel())];
    let kernels = repository(&github, &rms, &files);
    let longer = long_kernel() + "# longer\n";
    kernels.commit("wider", &[("ops/softmax.py", KERNEL), ("ops/rms.py", &longer)]);
    let pull = kernels.open_pull("mona", "wider");
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;

    let review = pull.reviews().remove(0);
    let paths: Vec<String> =
        pull.review_comments(review.id).into_iter().map(|comment| comment.path).collect();
    assert_eq!(paths, ["ops/softmax.py"]);
    github.expect_write("reviews acme/kernels#1");
    let branch = github.expect_write("creates branch");
    let branch = branch.split(' ').nth(2).unwrap();
    assert_eq!(kernels.file(branch, "ops/rms.py"), Some(faster(&longer)));
    assert_eq!(kernels.file(branch, "ops/softmax.py").as_deref(), Some(KERNEL));
    github.expect_write("opens draft pull request");
    github.expect_write("comments on acme/kernels#1");
    github.read_all("check run");
    github.expect_write("reacts eyes");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_that_is_refused_is_tried_once_more_and_then_a_branch() {
    let reviews = "/repos/acme/kernels/pulls/1/reviews";
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    github.fail(1, "POST", reviews, Fault::Status(422));
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    github.expect_write("reviews acme/kernels#1");
    github.expect_write("comments on acme/kernels#1");

    github.read_all("check run");
    github.fail(2, "POST", reviews, Fault::Status(422));
    pull.push("mona", &[("ops/softmax.py", &KERNEL.replace("= 128", "= 512"))]);
    bot.settled(&github).await;
    github.expect_write("minimizes comment");
    github.expect_write("removes label");
    pull.comment("mona", "/kernelbrain optimize");
    bot.settled(&github).await;
    github.expect_write("creates branch");
    github.expect_write("opens draft pull request");
    let comment = github.expect_write("comments on acme/kernels#1");
    assert!(instead(&comment).contains("GitHub did not take the suggestions"), "{comment}");
    github.read_all("check run");
    github.read_all("reacts eyes");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_posted_for_a_head_that_moved_meanwhile() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    // Nobody tells the bot of the push: it has to look before it posts.
    let reviews = "/repos/acme/kernels/pulls/1/reviews";
    pull.label("optimize-kernel", "mona");
    github.await_write("[in_progress]").await;
    github.lose_deliveries(usize::MAX);
    pull.push("mona", &[("ops/softmax.py", &KERNEL.replace("= 128", "= 512"))]);
    bot.settled(&github).await;
    assert_eq!(bot.jobs_in(JobState::Superseded).await.len(), 1);
    let posted = |method: &str, path: &str| {
        github.requests().iter().any(|one| one.method == method && one.path.starts_with(path))
    };
    assert!(!posted("POST", reviews) && pull.bot_comments().is_empty());
    let last = github.check_runs().remove(0).history.pop().unwrap();
    assert!(last.starts_with("[cancelled] A newer commit came"), "{last}");
    github.read_all("check run");
    github.expect_write("reacts eyes");
    github.finish();
    bot.stop().await;
}

/// A pull request with a result, and nothing left to read.
async fn with_result(github: &GitHub) -> (Bot, Repo, PullRequest) {
    let (kernels, pull) = kernels(github);
    let bot = Bot::at(github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(github).await;
    github.expect_write("comments on acme/kernels#1");
    github.read_all("");
    (bot, kernels, pull)
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_puts_the_kernel_on_the_branch_once() {
    let github = GitHub::start();
    let (mut bot, kernels, pull) = with_result(&github).await;
    let before = pull.head_sha();
    pull.comment("mona", "/kernelbrain commit");
    bot.settled(&github).await;
    github.expect_write("reacts eyes");
    github.expect_write("moves branch wider");
    let said = github.expect_write("comments on acme/kernels#1");
    assert!(said.contains(&pull.head_sha()), "{said}");
    assert_eq!(kernels.file("wider", "ops/softmax.py"), Some(faster(KERNEL)));
    let git = kernels.git();
    let commit = git.find_commit(pull.now().head_sha).unwrap();
    assert_eq!(commit.parent_id(0).unwrap().to_string(), before);
    let message = commit.message().unwrap();
    assert!(message.starts_with("Make softmax faster\n") && message.contains("Asked for by mona"));
    // The bot's own push makes its result one of an older commit.
    github.expect_write("minimizes comment");
    github.expect_write("removes label");

    pull.comment("mona", "/kernelbrain commit");
    bot.settled(&github).await;
    github.expect_write("reacts eyes");
    let said = github.expect_write("comments on acme/kernels#1");
    assert!(said.contains("on this pull request's branch already"), "{said}");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_is_not_for_a_file_that_changed_since() {
    let github = GitHub::start();
    let (mut bot, kernels, pull) = with_result(&github).await;
    pull.push("mona", &[("ops/softmax.py", &format!("{KERNEL}# and more\n"))]);
    bot.settled(&github).await;
    github.read_all("");
    let head = pull.head_sha();
    pull.comment("mona", "/kernelbrain commit");
    bot.settled(&github).await;
    github.expect_write("reacts eyes");
    let said = github.expect_write("comments on acme/kernels#1");
    assert!(said.contains("has changed since it was measured"), "{said}");
    assert_eq!(kernels.branch("wider").unwrap().to_string(), head);
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_says_so_where_the_branch_is_protected() {
    let github = GitHub::start();
    let (mut bot, _, pull) = with_result(&github).await;
    for status in [422, 403] {
        let branch = "/repos/acme/kernels/git/refs/heads/wider";
        github.fail(1, "PATCH", branch, Fault::Status(status));
        pull.comment("mona", "/kernelbrain commit");
        bot.settled(&github).await;
        github.expect_write("reacts eyes");
        let said = github.expect_write("comments on acme/kernels#1");
        assert!(said.contains("Is the branch protected"), "{said}");
    }
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_needs_a_result_and_no_fork() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    pull.comment("mona", "/kernelbrain commit");
    bot.settled(&github).await;
    github.expect_write("reacts confused");
    let said = github.expect_write("comments on acme/kernels#1");
    assert!(said.contains("No verified kernel is there to commit"), "{said}");

    let fork = github.fork(&kernels, "ada");
    fork.commit("theirs", &[("ops/softmax.py", KERNEL)]);
    let theirs = kernels.open_pull_from(&fork, "ada", "theirs");
    theirs.comment("mona", &format!("/kernelbrain optimize {}", theirs.head_sha()));
    bot.settled(&github).await;
    github.expect_write("comments on acme/kernels#2");
    theirs.comment("mona", "/kernelbrain commit");
    bot.settled(&github).await;
    let said = github.expect_write("comments on acme/kernels#2");
    assert!(said.contains("comes from another repository"), "{said}");
    // Within the diff, a fork is given a suggestion like anybody else.
    github.expect_write("reviews acme/kernels#2");
    github.read_all("check run");
    github.read_all("reacts");
    github.finish();
    bot.stop().await;
}
