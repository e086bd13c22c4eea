//! The same flows with GitHub's own description of its API between the bot and the mock: it judges every
//! request of the bot and every answer of the mock. `make test-contract` names what starts it.

use std::process::Command;

use crate::{
    bot::{Bot, configuration, kernels, kernels_as, long_kernel},
    mock::GitHub,
};

const VARIABLE: &str = "GITHUB_CONTRACT_START";

/// What stands between; it ends with this.
struct Judge {
    start: String,
    folder: String,
    api: String,
}

impl Judge {
    /// In front of `github`; `None` where nobody named what starts it.
    fn before(github: &GitHub) -> Option<Self> {
        let Ok(start) = std::env::var(VARIABLE) else {
            println!("NOT RUN: {VARIABLE} is not set; `make test-contract` names what judges");
            return None;
        };
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/github-contract").to_owned();
        let mut judge = Self { start, folder, api: String::new() };
        judge.api = judge.run(&["--proxy", &github.api()]).trim().to_owned();
        Some(judge)
    }

    fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("bash");
        command.arg(&self.start).args(["--dir", &self.folder]).args(arguments);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (said, wrong) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {said}{wrong}");
        said
    }

    fn port(&self) -> &str {
        self.api.rsplit(':').next().unwrap().split('/').next().unwrap()
    }

    async fn bot(&self, github: &GitHub) -> Bot {
        Bot::configured(github, &configuration(&self.api, &github.site(), ""), true).await
    }

    /// Nothing was refused, and something was asked.
    fn finish(self) {
        self.run(&["--violations", "--port", self.port()]);
        let log = format!("{}/mock-{}.log", self.folder, self.port());
        let log = String::from_utf8_lossy(&std::fs::read(log).unwrap()).into_owned();
        let seen = log.matches("Request received").count();
        assert!(seen > 10, "{seen} requests were judged");
        println!("judged by GitHub's description: {seen} requests of a conversation");
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        if !self.api.is_empty() {
            let arguments = ["--stop", "--dir", &self.folder, "--port", self.port()];
            Command::new("bash").arg(&self.start).args(arguments).output().ok();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suggestion_and_what_people_say_of_it() {
    let github = GitHub::start();
    let Some(judge) = Judge::before(&github) else { return };
    let (_, pull) = kernels(&github);
    let mut bot = judge.bot(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    assert_eq!(pull.reviews().len(), 1, "{}", pull.conversation());
    for said in ["status", "help", "cancel", "optimise nothing_like_it", "commit"] {
        pull.comment("mona", &format!("/kernelbrain {said}"));
        bot.settled(&github).await;
    }
    pull.push("mona", &[("README.md", "More.\n")]);
    bot.settled(&github).await;
    github.read_all("");
    bot.stop().await;
    judge.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_with_a_draft_and_a_patch_for_a_fork() {
    let github = GitHub::start();
    let Some(judge) = Judge::before(&github) else { return };
    let (kernels, pull) = kernels_as(&github, &long_kernel(), &(long_kernel() + "# longer\n"));
    let mut bot = judge.bot(&github).await;
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    assert_eq!(kernels.pulls().len(), 2, "{}", pull.conversation());
    let fork = github.fork(&kernels, "eve");
    fork.commit("theirs", &[("ops/softmax.py", &(long_kernel() + "# theirs\n"))]);
    let foreign = kernels.open_pull_from(&fork, "eve", "theirs");
    foreign.comment("mona", &format!("/kernelbrain optimize {}", foreign.head_sha()));
    bot.settled(&github).await;
    assert!(foreign.conversation().contains("```diff"), "{}", foreign.conversation());
    github.read_all("");
    bot.stop().await;
    judge.finish();
}
