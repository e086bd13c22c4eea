//! Bad weather: lost webhooks, limits, errors, dead tokens, restarts. Whatever happens, people see one
//! comment, one review and one check run, and the search ends.

use crate::{
    bot::{Bot, KERNEL, configuration, kernels, kernels_as},
    mock::{Fault, GitHub, PullRequest},
};

const BEFORE: &str = "ops/softmax.py";

/// What people see of a search that went well, once.
fn is_told_once(github: &GitHub, pull: &PullRequest) {
    let runs = github.check_runs();
    let [run] = runs.as_slice() else { panic!("{runs:#?}") };
    assert_eq!(run.conclusion.as_deref(), Some("success"), "{:#?}", run.history);
    assert_eq!(pull.bot_comments().len(), 1, "{:#?}", pull.bot_comments());
    assert_eq!(pull.reviews().len(), 1, "{:#?}", pull.reviews());
    let deleted: Vec<String> =
        github.writes().into_iter().filter(|write| write.starts_with("deletes")).collect();
    assert!(deleted.is_empty(), "nothing was said twice and taken back: {deleted:?}");
}

/// Whether a request makes something that people see.
fn makes(method: &str, path: &str) -> bool {
    let made = ["/issues/1/comments", "/pulls/1/reviews", "/check-runs"];
    method == "POST" && made.iter().any(|end| path.ends_with(end))
}

/// A search in which each of the three is met by `fault` the first time.
async fn under(fault: Fault) {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    for end in ["/issues/1/comments", "/pulls/1/reviews", "/check-runs"] {
        github.fail_where(1, fault, move |method, path| makes(method, path) && path.ends_with(end));
    }
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    is_told_once(&github, &pull);
    let requests = github.requests();
    let failed = requests.iter().filter(|one| one.status == 0 || one.status >= 400);
    assert!(failed.count() >= 3);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_waited_for() {
    under(Fault::TooMany { retry_after: 1 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secondary_limit_is_waited_for() {
    under(Fault::Secondary { retry_after: 1 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_before_the_write_is_followed_by_the_write() {
    under(Fault::ErrorBefore).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_after_the_write_is_not_followed_by_another() {
    under(Fault::ErrorAfter).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_not_followed_by_another_write() {
    under(Fault::DropAfter).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_holds_after_a_restart() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    github.fail(1, "POST", "/repos/acme/kernels/check-runs", Fault::TooMany { retry_after: 3600 });
    pull.label("optimize-kernel", "mona");
    let installation = kernels.installation();
    let begun = std::time::Instant::now();
    // It is over once the effect that met it was put off.
    while bot
        .store
        .effects_due(installation, i64::MAX, 9)
        .await
        .unwrap()
        .iter()
        .all(|it| it.attempts == 0)
    {
        assert!(begun.elapsed().as_secs() < 30, "nothing met the limit");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    github.expect_write("reacts eyes");
    let asked = |github: &GitHub| {
        let writes = |one: &&crate::mock::state::Logged| {
            one.method != "GET" && one.path.starts_with("/repos/")
        };
        github.requests().iter().filter(writes).count()
    };
    let before = asked(&github);
    bot.stop().await;
    bot.start(&github).await;
    let help = pull.comment("mona", "/kernelbrain help");
    let begun = std::time::Instant::now();
    while bot.store.effect(&format!("reply {help}")).await.unwrap().is_none() {
        assert!(begun.elapsed().as_secs() < 30, "the answer is not owed");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    // Everything that is owed by now has been looked at again.
    bot.stop().await;
    assert_eq!(asked(&github), before);
    github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_die_are_replaced() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    for path in ["/pulls/1/reviews", "/issues/1/comments"] {
        github.fail_where(1, Fault::ExpireTokens, move |method, it| {
            method == "GET" && it.contains(path)
        });
    }
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    is_told_once(&github, &pull);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_was_lost_is_asked_for() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let often = configuration(&github.api(), &github.site(), "")
        .replace("recover_every = \"0s\"", "recover_every = \"50ms\"");
    github.take_deliveries();
    github.lose_deliveries(1);
    pull.label("optimize-kernel", "mona");
    let mut bot = Bot::configured(&github, &often, true).await;
    github.await_write("<!-- kernelbrain:result").await;
    bot.settled(&github).await;
    is_told_once(&github, &pull);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_comes_twice_is_one() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    github.duplicate_deliveries(usize::MAX);
    pull.label("optimize-kernel", "mona");
    pull.comment("mona", "/kernelbrain status");
    bot.settled(&github).await;
    // And once more, later.
    for delivery in github.deliveries() {
        github.redeliver(delivery.id);
    }
    bot.settled(&github).await;
    let (answers, results): (Vec<_>, Vec<_>) = pull
        .bot_comments()
        .into_iter()
        .partition(|comment| comment.body.starts_with("<!-- kernelbrain:reply"));
    assert_eq!((answers.len(), results.len()), (1, 1));
    assert_eq!((pull.reviews().len(), github.check_runs().len()), (1, 1));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_in_any_order_come_to_the_same() {
    for seed in 1..=4 {
        let github = GitHub::start();
        let (_, pull) = kernels(&github);
        let mut bot = Bot::at(&github).await;
        github.hold_deliveries();
        pull.label("optimize-kernel", "mona");
        pull.push("mona", &[(BEFORE, &KERNEL.replace("= 128", "= 512"))]);
        pull.close("mona");
        pull.reopen("mona");
        pull.unlabel("optimize-kernel", "mona");
        pull.comment("mona", "/kernelbrain optimize");
        github.reorder_deliveries(seed);
        github.release_deliveries();
        bot.settled(&github).await;
        is_told_once(&github, &pull);
        assert_eq!(github.check_runs()[0].head_sha, pull.head_sha());
        bot.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_at_any_point_loses_and_doubles_nothing() {
    let points = [
        "creates check run",
        "[in_progress]",
        "reviews acme/kernels#1",
        "comments on acme/kernels#1",
    ];
    let github = GitHub::start();
    let kernel = format!("{KERNEL}# takes: 100ms\n");
    let (_, pull) = kernels_as(&github, &KERNEL.replace("= 128", "= 64"), &kernel);
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    for (at, point) in points.iter().enumerate() {
        // A moment may pass unseen: what a check run shows is replaced by what it is to show next.
        let reached = |write: &String| points[at..].iter().any(|point| write.contains(point));
        let there = |github: &GitHub| github.writes().iter().any(reached);
        github.until(point, there).await;
        bot.stop().await;
        bot.engine_is(false, std::time::Duration::from_secs(5)).await;
        bot.start(&github).await;
    }
    bot.settled(&github).await;
    is_told_once(&github, &pull);
    assert!(!bot.has_handed_over().await, "it works");
    bot.stop().await;
    assert!(bot.has_handed_over().await, "nobody has to wait until its right runs out");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_is_suspended_owes_nothing_any_more() {
    let github = GitHub::start();
    let (kernels, pull) =
        kernels_as(&github, &KERNEL.replace("= 128", "= 64"), &format!("{KERNEL}# takes: 60s\n"));
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");
    github.await_write("[in_progress]").await;
    bot.engine_is(true, std::time::Duration::from_secs(30)).await;
    kernels.suspend_app();
    github.send_webhook("ping", &serde_json::json!({"zen": "Keep it logically awesome."}));
    bot.engine_is(false, std::time::Duration::from_secs(30)).await;
    bot.settled(&github).await;
    github.read_all("");
    bot.stop().await;
}
