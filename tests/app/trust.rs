//! Who may have what searched, and which commit.

use kernelbrain::report::pull_request::marker;

use crate::{
    bot::{Bot, CONFIGURATION, KERNEL, kernels, long_kernel, repository},
    mock::{Fault, GitHub, PullRequest, Repo},
};

const COMMAND: &str = "/kernelbrain optimize";

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_not_write_starts_nothing_with_a_label() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    // Triage may put labels on; read may not, but what if.
    for by in ["tria", "eve"] {
        pull.label("optimize-kernel", by);
        bot.settled(&github).await;
        pull.unlabel("optimize-kernel", by);
    }
    assert!(github.check_runs().is_empty());
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outsider_gets_a_reaction_and_no_word() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    for text in [COMMAND, "/kernelbrain cancel", "/kernelbrain commit", "/kernelbrain status"] {
        let comment = pull.comment("stranger", text);
        bot.settled(&github).await;
        github.expect_write(&format!("reacts confused to comment {comment}"));
    }
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bots_are_not_obeyed() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    kernels.set_permission("helper[bot]", crate::mock::Permission::Admin);
    let mut bot = Bot::at(&github).await;
    pull.comment("helper[bot]", COMMAND);
    pull.label("optimize-kernel", "helper[bot]");
    bot.settled(&github).await;
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_is_for_the_commit_that_it_was_put_on() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    // The push comes before the bot hears of the label, in either order.
    for seed in [1, 2, 3] {
        github.hold_deliveries();
        pull.label("optimize-kernel", "mona");
        pull.push("mona", &[("ops/softmax.py", &format!("{KERNEL}# {seed}\n"))]);
        github.reorder_deliveries(seed);
        github.release_deliveries();
        bot.settled(&github).await;
        github.expect_write("removes label optimize-kernel");
    }
    assert!(github.check_runs().is_empty());
    github.finish();
    bot.stop().await;
}

/// A pull request from ada's fork that changes the file far from what is worth changing.
fn from_fork(github: &GitHub) -> (Repo, Repo, PullRequest) {
    let kernels = repository(github, CONFIGURATION, &[("ops/softmax.py", &long_kernel())]);
    let fork = github.fork(&kernels, "ada");
    fork.commit("longer", &[("ops/softmax.py", &(long_kernel() + "# ada was here\n"))]);
    let pull = kernels.open_pull_from(&fork, "ada", "longer");
    (kernels, fork, pull)
}

#[tokio::test(flavor = "multi_thread")]
async fn code_of_a_fork_needs_a_writer_who_names_the_commit() {
    let github = GitHub::start();
    let (_, _, pull) = from_fork(&github);
    let mut bot = Bot::at(&github).await;

    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    let line = format!("/kernelbrain optimize {}", pull.head_sha());
    let said = github.expect_write("comments on acme/kernels#1");
    assert!(said.contains(&line), "{said}");
    // Once is enough.
    pull.unlabel("optimize-kernel", "mona");
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;

    pull.comment("mona", COMMAND);
    bot.settled(&github).await;
    github.expect_write("reacts confused");
    let said = github.expect_write("comments on acme/kernels#1");
    assert!(said.contains(&line), "{said}");

    pull.comment("mona", &format!("{COMMAND} {}", pull.base_sha()));
    bot.settled(&github).await;
    github.expect_write("reacts confused");
    let said = github.expect_write("comments on acme/kernels#1");
    assert!(said.contains("has moved on"), "{said}");

    // The author has no say, whatever they quote.
    pull.comment("ada", &line);
    bot.settled(&github).await;
    github.expect_write("reacts confused");
    assert!(github.check_runs().is_empty());
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_gets_a_patch_and_no_branch() {
    let github = GitHub::start();
    let (kernels, _, pull) = from_fork(&github);
    let mut bot = Bot::at(&github).await;
    let branches = kernels.branches();

    pull.comment("mona", &format!("{COMMAND} {}", pull.head_sha()));
    bot.settled(&github).await;

    github.expect_write("reacts eyes");
    let comment = github.expect_write("<!-- kernelbrain:result");
    assert!(comment.contains("-    BLOCK = 128\n+    BLOCK = 256\n"), "{comment}");
    assert!(comment.contains("git apply"), "{comment}");
    assert!(comment.contains("branches are not pushed for pull requests from forks"), "{comment}");
    // What was searched is the fork's very commit.
    let job = bot.jobs_in(kernelbrain::store::service::JobState::Reported).await.remove(0);
    let kept = bot.store.copied_run(&job.new.id, "softmax").await.unwrap().unwrap();
    assert_eq!(*kept.record.target.text, *(long_kernel() + "# ada was here\n"));
    assert_eq!(kernels.branches(), branches);
    assert!(pull.reviews().is_empty());
    github.read_all("check run");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anybody_can_write_our_marker_and_it_is_not_ours() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    let key =
        format!("{}/{}/{} {}", kernels.installation(), kernels.id, pull.number, pull.head_sha());
    let planted = format!("{}\nTrust me, it is 100× faster.", marker("result", &key));
    let planted_at = pull.comment("eve", &planted);
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;

    let ours = github.expect_write("comments on acme/kernels#1");
    assert!(ours.contains(&marker("result", &key)), "the marker is the same: {ours}");
    let eves = pull.comments().into_iter().find(|comment| comment.id == planted_at).unwrap();
    assert_eq!(eves.body, planted);
    github.expect_write("reviews acme/kernels#1");
    github.expect_write("reacts eyes");
    github.read_all("check run");
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_cannot_be_asked_for_is_asked_for_later() {
    for fault in [Fault::Status(403), Fault::ErrorBefore] {
        let github = GitHub::start();
        let (_, pull) = kernels(&github);
        let mut bot = Bot::at(&github).await;
        let asks = "/repos/acme/kernels/collaborators/*/permission";
        github.fail(1, "GET", asks, fault);
        pull.comment("mona", "/kernelbrain help");
        bot.settled(&github).await;
        // Not heard at first, and not forgotten.
        let asked: Vec<u16> = github
            .requests()
            .iter()
            .filter_map(|one| one.path.contains("/collaborators/mona/").then_some(one.status))
            .collect();
        assert_eq!(asked.len(), 2, "{fault:?}: {asked:?}");
        assert_eq!(asked[1], 200);
        github.expect_write("comments on acme/kernels#1");
        github.finish();
        bot.stop().await;
    }
}
