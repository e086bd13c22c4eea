//! Which kernels a pull request is about, by the repository's `kernelbrain.toml`.

use crate::{
    bot::{Bot, CONFIGURATION, CONTRACT, KERNEL, repository},
    mock::{GitHub, PullRequest},
};

/// A pull request from `before` to `after`.
fn pull(
    github: &GitHub,
    configuration: &str,
    before: &[(&str, &str)],
    after: &[(&str, &str)],
) -> PullRequest {
    let kernels = repository(github, configuration, before);
    kernels.commit("change", after);
    kernels.open_pull("mona", "change")
}

/// What the bot says to a command, where it begins nothing.
async fn refusal(github: &GitHub, pull: &PullRequest, command: &str) -> String {
    let mut bot = Bot::at(github).await;
    pull.comment("mona", command);
    bot.settled(github).await;
    github.expect_write("reacts confused");
    let said = github.expect_write("comments on");
    assert!(github.check_runs().is_empty());
    github.finish();
    bot.stop().await;
    said.split_once("-->\n").unwrap().1.to_owned()
}

/// The comment about a search that was begun.
async fn result(github: &GitHub, pull: &PullRequest, command: &str) -> String {
    let mut bot = Bot::at(github).await;
    pull.comment("mona", command);
    bot.settled(github).await;
    github.expect_write("reacts eyes");
    let said = github.expect_write("<!-- kernelbrain:result");
    github.read_all("");
    bot.stop().await;
    said
}

const COMMAND: &str = "/kernelbrain optimize";
const SLOWER: &str = "ops/softmax.py";

#[tokio::test(flavor = "multi_thread")]
async fn without_a_configuration_one_comment_helps() {
    let github = GitHub::start();
    let pull =
        pull(&github, "", &[("README.md", "")], &[(SLOWER, KERNEL), ("setup.py", "x = 1\n")]);
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    let said = github.expect_write("comments on");
    insta::assert_snapshot!(said.split_once("-->\n").unwrap().1, @r#"
    **Nothing to optimise yet: no kernel of this pull request is in the base branch's `kernelbrain.toml`.** Add these lines for each that is to be made faster, and a contract (`test`) that says what it must compute; then ask again.

    In `ops/softmax.py` (`_softmax`):

    ```toml
    [[kernel]]
    name = "softmax"
    source = "ops/softmax.py"
    entry = "ops.softmax:FUNCTION"  # the function that launches it
    test = "contracts/softmax.py"  # its contract
    ```
    "#);
    // Put on again, it has been answered.
    pull.unlabel("optimize-kernel", "mona");
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    github.finish();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_not_there_is_asked_back() {
    let github = GitHub::start();
    let pull = pull(&github, CONFIGURATION, &[(SLOWER, "# empty\n")], &[(SLOWER, KERNEL)]);
    let said = refusal(&github, &pull, "/kernelbrain optimize sofmax").await;
    insta::assert_snapshot!(said, @r#"
    **Not started.** kernelbrain.toml lists no kernel "sofmax", only softmax; did you mean "softmax"? Correct that, then ask again.

    <sub>For `mona`.</sub>
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_cannot_be_read_is_named() {
    let github = GitHub::start();
    let broken = "[[kernel]]\nnome = \"softmax\"\n";
    let pull = pull(&github, broken, &[(SLOWER, "# empty\n")], &[(SLOWER, KERNEL)]);
    let said = refusal(&github, &pull, COMMAND).await;
    insta::assert_snapshot!(said, @r#"
    **Not started.** kernelbrain.toml at the pull request's base branch cannot be read: line 2: unknown field \`nome\`, expected one of \`name\`, \`source\`, \`entry\`, \`test\`, \`depends\`, \`edit\`, \`rules\`, \`tests\`, \`archs\`. Correct that, then ask again.

    <sub>For `mona`.</sub>
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_breaks_the_configuration_is_searched_by_the_base_branchs() {
    let github = GitHub::start();
    let after = [(SLOWER, KERNEL), ("kernelbrain.toml", "[[kernel]\n")];
    let pull = pull(&github, CONFIGURATION, &[(SLOWER, "# empty\n")], &after);
    let said = result(&github, &pull, COMMAND).await;
    assert!(said.contains("softmax is 1.67"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_touches_no_kernel_is_told_which_there_are() {
    let github = GitHub::start();
    let pull =
        pull(&github, CONFIGURATION, &[(SLOWER, KERNEL)], &[("README.md", "Faster soon.\n")]);
    let said = refusal(&github, &pull, COMMAND).await;
    insta::assert_snapshot!(said, @r#"
    **Not started.** This pull request touches none of the kernels that kernelbrain.toml lists (softmax). Name one in the command, or list what it depends on as \`depends\`.

    <sub>For `mona`.</sub>
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_kernel_depends_on_is_part_of_it() {
    let github = GitHub::start();
    let depends = format!("{CONFIGURATION}depends = [\"ops/shared\"]\n");
    let after = [("ops/shared/rounding.py", "TIES = 'even'\n")];
    let pull = pull(&github, &depends, &[(SLOWER, KERNEL)], &after);
    let said = result(&github, &pull, COMMAND).await;
    assert!(said.contains("softmax is 1.67"), "{said}");
    assert!(said.contains("the pull request does not change the kernel's file"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_the_pull_request_adds_is_searched_and_said_to_be() {
    let github = GitHub::start();
    let added = CONFIGURATION.replace("softmax", "rms");
    let both = format!("{CONFIGURATION}\n{added}");
    let after =
        [("ops/rms.py", KERNEL), ("contracts/rms.py", CONTRACT), ("kernelbrain.toml", &both)];
    let pull = pull(&github, CONFIGURATION, &[(SLOWER, KERNEL)], &after);
    let said = result(&github, &pull, COMMAND).await;
    assert!(said.contains("rms is 1.67"), "{said}");
    assert!(said.contains("this pull request adds the kernel to kernelbrain.toml"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_the_pull_request_changes_is_said_to_be() {
    let github = GitHub::start();
    let easier = "CASES = [{\"n\": 1}]\n";
    let after = [(SLOWER, KERNEL), ("contracts/softmax.py", easier)];
    let pull = pull(&github, CONFIGURATION, &[(SLOWER, "# empty\n")], &after);
    let said = result(&github, &pull, COMMAND).await;
    assert!(
        said.contains("this pull request changes the contract (contracts/softmax.py)"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_models_of_a_repository_are_not_asked() {
    let github = GitHub::start();
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let model = format!("{CONFIGURATION}[model]\nname = \"command:touch {}\"\n", ran.display());
    let pull = pull(&github, &model, &[(SLOWER, "# empty\n")], &[(SLOWER, KERNEL)]);
    // The engine that stands in refuses a configuration with models, so it was not shown them.
    let said = result(&github, &pull, COMMAND).await;
    assert!(said.contains("softmax is 1.67"), "{said}");
    assert!(!ran.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_granted_up_to_what_one_search_may_have() {
    let github = GitHub::start();
    let pull = pull(&github, CONFIGURATION, &[(SLOWER, "# empty\n")], &[(SLOWER, KERNEL)]);
    let said = refusal(&github, &pull, "/kernelbrain optimize budget=3h").await;
    insta::assert_snapshot!(said, @r#"
    **Not started.** budget=3h is more than the 2h that one search may have. Ask for less.

    <sub>For `mona`.</sub>
    "#);
}
