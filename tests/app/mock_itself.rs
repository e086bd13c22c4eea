//! The mock GitHub keeps its own word: what other tests rely on is tested here, with the client
//! the product uses.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::HeaderMap;
use jsonwebtoken::EncodingKey;
use octocrab::Octocrab;
use octocrab::service::middleware::retry::RetryConfig;
use serde_json::{Value, json};

use crate::mock::{self, APP_ID, APP_KEY, Fault, GitHub, Permission, PullRequest, Refused, Repo};

const SOFTMAX: &str = "import triton\n\n\ndef softmax(x):\n    return slow(x)\n\n\n# end\n";

fn key() -> EncodingKey {
    EncodingKey::from_rsa_pem(APP_KEY.as_bytes()).unwrap()
}

fn app(github: &GitHub) -> Octocrab {
    Octocrab::builder()
        .base_uri(github.api())
        .unwrap()
        .app(APP_ID.into(), key())
        .add_retry_config(RetryConfig::None)
        .build()
        .unwrap()
}

/// Speaks with a token of the installation.
fn bot(repository: &Repo) -> Octocrab {
    app(&repository.github).installation(repository.installation().into()).unwrap()
}

/// Speaks with a token that has these permissions only.
fn narrowed(repository: &Repo, permissions: &[(&str, &str)]) -> Octocrab {
    Octocrab::builder()
        .base_uri(repository.github.api())
        .unwrap()
        .personal_token(repository.github.mint(repository, permissions))
        .add_retry_config(RetryConfig::None)
        .build()
        .unwrap()
}

/// A repository with a pull request that touches one kernel.
fn kernels(github: &GitHub) -> (Repo, PullRequest) {
    let kernels = github.repository("acme/kernels");
    kernels.set_permission("mona", Permission::Write);
    kernels.commit("main", &[("softmax.py", SOFTMAX), ("README.md", "Kernels.\n")]);
    kernels.commit("faster", &[("softmax.py", &SOFTMAX.replace("slow", "less_slow"))]);
    let pull = kernels.open_pull("mona", "faster");
    (kernels, pull)
}

fn status(answer: Result<Value, octocrab::Error>) -> u16 {
    match answer {
        Ok(_) => 200,
        Err(octocrab::Error::GitHub { source, .. }) => source.status_code.as_u16(),
        Err(_) => 0,
    }
}

async fn post(bot: &Octocrab, path: &str, body: Value) -> Result<Value, octocrab::Error> {
    bot.post(path, Some(&body)).await
}

#[tokio::test]
async fn a_conversation_reads_as_one() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    let bot = bot(&kernels);
    pull.label("optimize-kernel", "mona");
    let asked = pull.comment("mona", "/kernelbrain help");
    let eyes = format!("/repos/acme/kernels/issues/comments/{asked}/reactions");
    post(&bot, &eyes, json!({ "content": "eyes" })).await.unwrap();
    post(&bot, &eyes, json!({ "content": "eyes" })).await.unwrap();
    bot.issues("acme", "kernels").create_comment(1, "Say what?").await.unwrap();
    let check = json!({ "name": "kernelbrain", "head_sha": pull.head_sha(), "status": "queued" });
    let run = post(&bot, "/repos/acme/kernels/check-runs", check).await.unwrap();
    let path = format!("/repos/acme/kernels/check-runs/{}", run["id"]);
    let output = json!({ "title": "1.3x", "summary": "Faster." });
    let done = json!({ "conclusion": "success", "output": output });
    let _: Value = bot.patch(path, Some(&done)).await.unwrap();

    insta::assert_snapshot!(pull.conversation(), @"
    # Change faster #1 (open) optimize-kernel

    ## mona :eyes: by kernelbrain[bot]
    /kernelbrain help

    ## kernelbrain[bot]
    Say what?

    ## check run kernelbrain on <HEAD>
    [queued] 
    [success] 1.3x
    Faster.
    ");
    assert_eq!(github.unread_writes().len(), 4, "a reaction twice is one");
    github.finish();
}

#[tokio::test]
#[should_panic(expected = "writes nobody expected:\ncomments on acme/kernels#1:\nHello")]
async fn a_write_nobody_read_fails_the_test() {
    let github = GitHub::start();
    let (kernels, _) = kernels(&github);
    bot(&kernels).issues("acme", "kernels").create_comment(1, "Hello").await.unwrap();
    github.finish();
}

#[tokio::test]
async fn a_fork_has_its_own_id_and_a_diff_starts_at_the_merge_base() {
    let github = GitHub::start_under("/api/v3");
    let (kernels, _) = kernels(&github);
    let fork = github.fork(&kernels, "outsider");
    fork.commit("tricks", &[("softmax.py", &SOFTMAX.replace("slow", "tricky"))]);
    kernels.commit("main", &[("later.py", "pass\n")]);
    let pull = kernels.open_pull_from(&fork, "outsider", "tricks");
    let bot = bot(&kernels);
    let path = format!("/repos/acme/kernels/pulls/{}", pull.number);
    let shown: Value = bot.get(&path, None::<&()>).await.unwrap();
    assert_ne!(shown["head"]["repo"]["id"], shown["base"]["repo"]["id"]);
    assert_eq!(shown["head"]["sha"], pull.head_sha());
    let files: Value = bot.get(format!("{path}/files?per_page=1"), None::<&()>).await.unwrap();
    insta::assert_snapshot!(files[0]["patch"].as_str().unwrap(), @"
    @@ -2,7 +2,7 @@ import triton
     
     
     def softmax(x):
    -    return slow(x)
    +    return tricky(x)
     
     
     # end
    ");
    let permission: Value = bot
        .get("/repos/acme/kernels/collaborators/outsider/permission", None::<&()>)
        .await
        .unwrap();
    assert_eq!(permission["permission"], "read");
    pull.delete_fork();
    let shown: Value = bot.get(&path, None::<&()>).await.unwrap();
    assert_eq!(shown["head"]["repo"], Value::Null);
}

#[tokio::test]
async fn tokens_are_checked_for_life_reach_and_permission() {
    let github = GitHub::start();
    let (kernels, _) = kernels(&github);
    let other = github.repository("acme/secret");
    other.set_private();
    let comment = "/repos/acme/kernels/issues/1/comments";
    let hello = || json!({ "body": "Hello" });

    let reader = narrowed(&kernels, &[("pull_requests", "read"), ("issues", "write")]);
    assert_eq!(status(post(&reader, comment, hello()).await), 403);
    let writer = narrowed(&kernels, &[("pull_requests", "write")]);
    assert_eq!(status(writer.get("/repos/acme/secret", None::<&()>).await), 404);
    assert_eq!(status(post(&writer, comment, hello()).await), 200);
    github.expire_tokens();
    assert_eq!(status(post(&writer, comment, hello()).await), 401);

    let installation = bot(&kernels);
    assert_eq!(status(post(&installation, comment, hello()).await), 200);
    github.set_clock_ahead(3700);
    let refused = app(&github).installation(kernels.installation().into()).unwrap();
    assert_eq!(status(post(&refused, comment, hello()).await), 401, "its JWT is too old");
    github.set_clock_ahead(0);
    kernels.suspend_app();
    assert_eq!(status(post(&bot(&kernels), comment, hello()).await), 403);
    assert_eq!(github.read_all("Hello").len(), 2);
    github.finish();
}

/// A review of one comment.
fn review(comment: Value) -> Value {
    json!({ "event": "COMMENT", "body": "Try this", "comments": [comment] })
}

#[tokio::test]
async fn one_bad_anchor_rejects_the_whole_review() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let lines: Vec<String> = (1..=60).map(|line| format!("line {line}\n")).collect();
    kernels.commit("main", &[("a.py", &lines.concat())]);
    let changed = lines.concat().replace("line 10\n", "ten\n").replace("line 40\n", "forty\n");
    kernels.commit("faster", &[("a.py", &changed)]);
    let pull = kernels.open_pull("mona", "faster");
    let bot = bot(&kernels);
    let path = "/repos/acme/kernels/pulls/1/reviews";
    let at = |start: Option<u32>, line: u32| {
        let mut comment = json!({ "path": "a.py", "line": line, "side": "RIGHT", "body": "x" });
        if let Some(start) = start {
            comment["start_line"] = start.into();
            comment["start_side"] = "RIGHT".into();
        }
        comment
    };
    for (bad, why) in [
        (at(None, 20), "outside of the diff"),
        (at(Some(10), 40), "two hunks"),
        (at(Some(10), 10), "no range"),
        (at(Some(11), 10), "backwards"),
        (json!({ "path": "b.py", "line": 1, "body": "x" }), "no such file"),
    ] {
        assert_eq!(status(post(&bot, path, review(bad.clone())).await), 422, "{why}");
        let both = json!({ "event": "COMMENT", "body": "", "comments": [at(None, 10), bad] });
        assert_eq!(status(post(&bot, path, both).await), 422, "{why}, beside a good one");
    }
    assert_eq!(pull.reviews().len(), 0);
    assert_eq!(status(post(&bot, path, review(at(Some(8), 12))).await), 200);
    let long = "x".repeat(65_537);
    assert_eq!(status(post(&bot, path, json!({ "event": "COMMENT", "body": long })).await), 422);
    let actions: Vec<Value> = (0..4)
        .map(|at| json!({ "label": "a", "description": "b", "identifier": at.to_string() }))
        .collect();
    let check = json!({ "name": "k", "head_sha": pull.head_sha(), "actions": actions });
    assert_eq!(status(post(&bot, "/repos/acme/kernels/check-runs", check).await), 422);
}

#[tokio::test]
async fn suggestions_are_committed_as_one_batch() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    let bot = bot(&kernels);
    let body = "Faster:\n\n````suggestion\n    # ```\n    return fast(x)\n````\n";
    let comment = json!({ "path": "softmax.py", "line": 5, "side": "RIGHT", "body": body });
    let answer = post(&bot, "/repos/acme/kernels/pulls/1/reviews", review(comment)).await.unwrap();
    let id = answer["id"].as_u64().unwrap();
    let expected = SOFTMAX.replace("    return slow(x)\n", "    # ```\n    return fast(x)\n");
    let files = pull.apply_suggestions(id, "mona").unwrap();
    assert_eq!(files, [("softmax.py".to_owned(), expected.clone())]);
    assert_eq!(kernels.file("faster", "softmax.py").unwrap(), expected);
    let again = pull.apply_suggestions(id, "mona");
    assert_eq!(again, Err(Refused::Outdated { path: "softmax.py".into() }));
}

#[tokio::test]
async fn commits_are_made_without_a_clone_and_history_is_kept() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    let bot = bot(&kernels);
    let git = "/repos/acme/kernels/git";
    let blob = json!({ "content": "fast\n", "encoding": "utf-8" });
    let blob = post(&bot, &format!("{git}/blobs"), blob).await.unwrap();
    let head: Value =
        bot.get(format!("{git}/commits/{}", pull.head_sha()), None::<&()>).await.unwrap();
    let entry =
        json!({ "path": "softmax.py", "mode": "100644", "type": "blob", "sha": blob["sha"] });
    let tree = json!({ "base_tree": head["tree"]["sha"], "tree": [entry] });
    let tree = post(&bot, &format!("{git}/trees"), tree).await.unwrap();
    let commit = |parent: String| {
        let body = json!({ "message": "Faster", "tree": tree["sha"], "parents": [parent] });
        let (bot, path) = (&bot, format!("{git}/commits"));
        async move { post(bot, &path, body).await.unwrap()["sha"].clone() }
    };
    let good = commit(pull.head_sha()).await;
    let aside = commit(pull.base_sha()).await;
    let new = json!({ "ref": "refs/heads/kernelbrain/pr-1", "sha": good });
    assert_eq!(status(post(&bot, &format!("{git}/refs"), new.clone()).await), 200);
    assert_eq!(status(post(&bot, &format!("{git}/refs"), new).await), 422, "it exists");
    let branch = format!("{git}/refs/heads/faster");
    let moved = bot.patch(&branch, Some(&json!({ "sha": aside, "force": false }))).await;
    assert_eq!(status(moved), 422, "not a fast forward");
    let moved = bot.patch(&branch, Some(&json!({ "sha": good, "force": false }))).await;
    assert_eq!(status(moved), 200);
    assert_eq!(pull.head_sha(), good.as_str().unwrap());
    assert_eq!(kernels.file("faster", "README.md").unwrap(), "Kernels.\n");

    kernels.refuse_drafts();
    let draft = json!({ "head": "kernelbrain/pr-1", "base": "main", "title": "t", "draft": true });
    assert_eq!(status(post(&bot, "/repos/acme/kernels/pulls", draft).await), 422);
    let plain = json!({ "head": "kernelbrain/pr-1", "base": "main", "title": "t" });
    assert_eq!(status(post(&bot, "/repos/acme/kernels/pulls", plain).await), 200);
}

#[tokio::test]
async fn faults_happen_as_often_as_asked() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    let bot = bot(&kernels);
    let path = "/repos/acme/kernels/issues/1/comments";
    let hello = |n: u32| json!({ "body": format!("Hello {n}") });
    let pattern = "/repos/*/*/issues/*/comments";
    for (at, (fault, seen, written)) in [
        (Fault::TooMany { retry_after: 7 }, 429, 0),
        (Fault::ErrorBefore, 500, 0),
        (Fault::ErrorAfter, 500, 1),
        (Fault::DropBefore, 0, 1),
        (Fault::DropAfter, 0, 2),
    ]
    .into_iter()
    .enumerate()
    {
        github.fail(1, "POST", pattern, fault);
        assert_eq!(status(post(&bot, path, hello(at as u32)).await), seen, "{fault:?}");
        assert_eq!(pull.bot_comments().len(), written, "{fault:?}");
    }
    github.fail(1, "*", "/repos/**", Fault::Delay(Duration::from_millis(1)));
    assert_eq!(status(post(&bot, path, hello(9)).await), 200);
    let outdated = json!({
        "query": "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { clientMutationId } }",
        "variables": { "id": format!("IC_{}", pull.bot_comments()[0].id) },
    });
    let _: Value = bot.post("/graphql", Some(&outdated)).await.unwrap();
    assert_eq!(pull.bot_comments()[0].minimized.as_deref(), Some("OUTDATED"));
}

#[tokio::test]
async fn what_people_press_and_push_becomes_webhooks_in_order() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    let button = json!([{ "label": "Cancel", "description": "Stop", "identifier": "cancel" }]);
    let check = json!({ "name": "kernelbrain", "head_sha": pull.head_sha(), "actions": button });
    post(&bot(&kernels), "/repos/acme/kernels/check-runs", check).await.unwrap();
    github.take_deliveries();

    pull.click("kernelbrain", "cancel", "mona");
    pull.rerun("kernelbrain", "mona");
    let before = pull.head_sha();
    pull.push("mona", &[("softmax.py", "fast\n")]);
    pull.close("mona");
    let taken = github.take_deliveries();
    let seen: Vec<String> = taken
        .iter()
        .map(|one| format!("{} {}", one.event, one.action.as_deref().unwrap_or("-")))
        .collect();
    let expected = [
        "check_run requested_action",
        "check_run rerequested",
        "push -",
        "pull_request synchronize",
        "pull_request closed",
    ];
    assert_eq!(seen, expected);
    let body = |at: usize| serde_json::from_str::<Value>(&taken[at].body).unwrap();
    assert_eq!(body(0)["requested_action"]["identifier"], "cancel");
    assert_eq!(body(1)["check_run"]["head_sha"], before);
    assert_eq!((&body(3)["before"], &body(3)["after"]), (&json!(before), &json!(pull.head_sha())));
}

/// What a webhook endpoint saw: event, GUID, body; and whether each signature was right.
type Seen = Arc<Mutex<Vec<(String, String, Value)>>>;

async fn endpoint(github: &GitHub) -> (String, Seen) {
    let seen: Seen = Arc::default();
    let (listener, secret) =
        (tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap(), github.webhook_secret());
    let url = format!("http://{}/webhook", listener.local_addr().unwrap());
    let keep = seen.clone();
    let router = axum::Router::new().fallback(async move |headers: HeaderMap, body: String| {
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        assert_eq!(header("x-hub-signature-256"), mock::sign(&secret, &body));
        let body = serde_json::from_str(&body).unwrap();
        keep.lock().unwrap().push((header("x-github-event"), header("x-github-delivery"), body));
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, seen)
}

#[tokio::test]
async fn lost_deliveries_are_listed_and_sent_again_under_their_own_name() {
    let github = GitHub::start();
    let (url, seen) = endpoint(&github).await;
    let (_, pull) = kernels(&github);
    github.deliver_to(&url);
    github.delivered().await;
    let before = seen.lock().unwrap().len();
    github.lose_deliveries(1);
    pull.label("optimize-kernel", "mona");
    github.duplicate_deliveries(1);
    github.delivered().await;
    assert_eq!(seen.lock().unwrap().len(), before);

    let app = app(&github);
    let list: Value = app.get("/app/hook/deliveries", None::<&()>).await.unwrap();
    assert_eq!((&list[0]["action"], &list[0]["status_code"]), (&json!("labeled"), &json!(502)));
    let path = format!("/app/hook/deliveries/{}/attempts", list[0]["id"]);
    let _: Value = app.post(path, None::<&()>).await.unwrap();
    github.delivered().await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), before + 2, "asked for again, and then it came twice");
    for (event, guid, body) in &seen[before..] {
        assert_eq!((event.as_str(), json!(guid)), ("pull_request", list[0]["guid"].clone()));
        assert_eq!(body["label"]["name"], "optimize-kernel");
        assert_eq!(body["sender"]["login"], "mona");
    }
}
