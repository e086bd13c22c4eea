//! A label, a search, a suggestion.

use insta::assert_snapshot;

use crate::{
    bot::{Bot, kernels},
    mock::GitHub,
};

/// Ids and times that differ from run to run, by name.
fn named(text: &str) -> String {
    let job = regex::Regex::new("job `[0-9a-f]{12}`").unwrap();
    let text = job.replace_all(text, "job `<JOB>`");
    let run = regex::Regex::new("scripted-[0-9]+-[0-9]+").unwrap();
    let text = run.replace_all(&text, "<RUN>");
    let seconds = regex::Regex::new(r"[0-9.]+ (ms|s)\b").unwrap();
    let text = seconds.replace_all(&text, "<TIME>");
    let moment = regex::Regex::new("20[0-9]{2}-[0-9-]+T[0-9:]+Z").unwrap();
    moment.replace_all(&text, "<MOMENT>").into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_becomes_a_verified_suggestion() {
    let github = GitHub::start();
    let (kernels, pull) = kernels(&github);
    let mut bot = Bot::at(&github).await;
    pull.label("optimize-kernel", "mona");

    let comment = github.await_write("<!-- kernelbrain:result").await;
    assert!(comment.contains("softmax is 1.67"), "{comment}");
    github.await_write("[success]").await;
    let review = pull.reviews().pop().unwrap();
    let applied = pull.apply_suggestions(review.id, "mona").unwrap();
    let verified = crate::bot::KERNEL.replace("BLOCK = 128", "BLOCK = 256");
    assert_eq!(applied, [("ops/softmax.py".to_owned(), verified)]);

    assert_snapshot!(named(&pull.conversation()));
    github.read_all("");
    github.finish();
    bot.stop().await;
    let _ = kernels;
}
