//! Every operation of the client once against a mock that judges requests by GitHub's own description
//! of its API. `make test-contract` starts it and names it in `GITHUB_CONTRACT_URL`.

use std::time::SystemTime;

use kernelbrain::github::{
    CheckAction, CheckConclusion, CheckStatus, GitHubError, NewCheckRun, NewPull, NewReview,
    Permission, Reaction, Repository, ReviewComment,
};

use crate::common::{INSTALLATION, REPOSITORY, TestClock, github_at};

const VARIABLE: &str = "GITHUB_CONTRACT_URL";
const SHA: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

#[tokio::test]
async fn githubs_description_has_nothing_to_object_to() {
    let Ok(api) = std::env::var(VARIABLE) else {
        println!("NOT RUN: {VARIABLE} is not set; `make test-contract` starts what judges");
        return;
    };
    let github = github_at(&api, &TestClock::new());
    assert!(!github.app().await.unwrap().slug.is_empty());
    judged(github.failed_deliveries(SystemTime::UNIX_EPOCH).await);
    github.redeliver(12345678).await.unwrap();
    github.read_token(INSTALLATION, REPOSITORY).await.unwrap();
    for github in [github.clone(), github.without_pushing()] {
        let repository = github.repository(INSTALLATION, REPOSITORY, "octocat/Hello-World");
        assert_eq!(repository.pull(1347).await.unwrap().number, 1347);
        reads(&repository).await;
    }
    let github = github_at(&api, &TestClock::new());
    let repository = github.repository(INSTALLATION, REPOSITORY, "octocat/Hello-World");
    speaks(&repository).await;
    checks(&repository).await;
    pushes(&repository).await;
    println!("judged by GitHub's description: every operation");
}

/// The first page was accepted and read. The mock's examples say that the next is at api.github.com,
/// where the client does not follow.
fn judged<T: std::fmt::Debug>(list: Result<Vec<T>, GitHubError>) {
    if let Err(error) = list {
        let elsewhere = matches!(&error, GitHubError::Invalid(why) if why.contains("points away"));
        assert!(elsewhere, "{error}");
    }
}

async fn reads(repository: &Repository) {
    judged(repository.pull_files(1347).await);
    judged(repository.pulls_with_head("kernelbrain/pr-1347-6dcb09b5").await);
    judged(repository.pulls_with_commit(SHA).await);
    assert_eq!(repository.permission("octocat").await.unwrap(), Permission::Admin);
    let content = repository.content("kernels/softmax.py", SHA).await.unwrap();
    // The mock quotes even what is raw.
    assert!(String::from_utf8(content.unwrap()).unwrap().contains("import triton"));
    assert!(!repository.merge_base("main", SHA).await.unwrap().is_empty());
    judged(repository.comments(1347).await);
    judged(repository.reviews(1347).await);
    judged(repository.review_comments(1347).await);
    judged(repository.check_runs(SHA, "kernelbrain").await);
}

async fn speaks(repository: &Repository) {
    let comment = repository.create_comment(1347, "<!-- kernelbrain:result 1 -->").await.unwrap();
    repository.update_comment(comment.id, "changed").await.unwrap();
    repository.delete_comment(comment.id).await.unwrap();
    repository.minimize_comment(&comment.node_id).await.unwrap();
    for reaction in [Reaction::Eyes, Reaction::Rocket, Reaction::Confused, Reaction::ThumbsUp] {
        repository.react_to_comment(comment.id, reaction).await.unwrap();
        repository.react_to_issue(1347, reaction).await.unwrap();
    }
    repository.remove_label(1347, "optimize-kernel").await.unwrap();
    let line = |line, start_line| ReviewComment {
        path: "kernels/softmax.py".to_owned(),
        body: "```suggestion\nBLOCK = 128\n```".to_owned(),
        line,
        start_line,
    };
    let review = NewReview {
        commit_id: SHA.to_owned(),
        body: "Apply as one batch".to_owned(),
        comments: vec![line(12, Some(10)), line(3, None)],
    };
    repository.create_review(1347, &review).await.unwrap();
}

async fn checks(repository: &Repository) {
    let action = CheckAction {
        label: "Run again".to_owned(),
        description: "Search this commit again".to_owned(),
        identifier: "again".to_owned(),
    };
    let mut run = NewCheckRun {
        name: "kernelbrain".to_owned(),
        head_sha: SHA.to_owned(),
        external_id: "check:1".to_owned(),
        status: CheckStatus::Queued,
        conclusion: None,
        title: "Queued".to_owned(),
        summary: "Waiting for a GPU".to_owned(),
        text: None,
        details_url: Some("https://kernelbrain.example/jobs/1".to_owned()),
        actions: vec![action.clone(), action.clone(), action],
    };
    let id = repository.create_check_run(&run).await.unwrap().id;
    run.status = CheckStatus::InProgress;
    run.text = Some("rung 0".to_owned());
    repository.update_check_run(id, &run).await.unwrap();
    run.status = CheckStatus::Completed;
    for conclusion in [
        CheckConclusion::Success,
        CheckConclusion::Failure,
        CheckConclusion::Neutral,
        CheckConclusion::Cancelled,
        CheckConclusion::TimedOut,
        CheckConclusion::ActionRequired,
        CheckConclusion::Skipped,
    ] {
        run.conclusion = Some(conclusion);
        repository.update_check_run(id, &run).await.unwrap();
    }
    repository.create_check_run(&run).await.unwrap();
}

async fn pushes(repository: &Repository) {
    let tree = repository.commit_tree(SHA).await.unwrap();
    let blob = repository.create_blob(b"import triton\n").await.unwrap();
    let files = [("kernel.py".to_owned(), blob)];
    let tree = repository.create_tree(&tree, &files).await.unwrap();
    let commit = repository.create_commit("Faster", &tree, &[SHA.to_owned()]).await.unwrap();
    assert!(repository.get_ref("heads/kernelbrain/pr-1347-6dcb09b5").await.unwrap().is_some());
    repository.create_ref("heads/kernelbrain/pr-1347-6dcb09b5", &commit).await.unwrap();
    repository.update_ref("heads/kernelbrain/pr-1347-6dcb09b5", &commit).await.unwrap();
    let pull = NewPull {
        title: "Faster".to_owned(),
        head: "kernelbrain/pr-1347-6dcb09b5".to_owned(),
        base: "new-topic".to_owned(),
        body: "<!-- kernelbrain:publish 1 -->".to_owned(),
        draft: true,
    };
    repository.create_pull(&pull).await.unwrap();
}
