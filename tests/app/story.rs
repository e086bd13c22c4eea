//! A label, a search, a suggestion.

use insta::assert_snapshot;

use crate::{
    bot::{Bot, kernels, named},
    mock::GitHub,
};

/// Without the states of a check run that depend on when it was looked at.
fn without_progress(conversation: &str) -> String {
    let mut shown = true;
    let kept = conversation.lines().filter(|line| {
        if line.starts_with('[') {
            shown = !line.starts_with("[in_progress]");
        }
        shown
    });
    kept.map(|line| format!("{line}\n")).collect()
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

    assert_snapshot!(named(&without_progress(&pull.conversation())));
    github.read_all("");
    github.finish();
    bot.stop().await;
    let _ = kernels;
}
