use std::time::Duration;

use proptest::prelude::*;

use super::{Command, CommandError, Wish, parse};

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

fn command(comment: &str) -> Command {
    parse(comment).unwrap().unwrap()
}

fn complaint(comment: &str) -> String {
    parse(comment).unwrap().unwrap_err().to_string()
}

#[test]
fn a_line_of_a_comment_is_a_command() {
    assert_eq!(command("/kernelbrain optimize"), Command::Optimize(Wish::default()));
    assert_eq!(command("Nice work!\n\n/kernelbrain status\n\nThanks"), Command::Status);
    assert_eq!(command("/KernelBrain Cancel"), Command::Cancel);
    assert_eq!(command("  /kernelbrain   commit  "), Command::Commit);
    assert_eq!(command("/kernelbrain"), Command::Help);
    assert_eq!(command("- /kernelbrain help"), Command::Help);
    let wish = Wish {
        kernels: vec!["rmsnorm".to_owned(), "ops/softmax.py:forward".to_owned()],
        budget: Some(Duration::from_secs(1200)),
        sha: Some(SHA.to_owned()),
    };
    let line = format!("/kernelbrain optimize rmsnorm budget=20m ops/softmax.py:forward {SHA}");
    assert_eq!(command(&line), Command::Optimize(wish));
}

#[test]
fn what_is_quoted_or_code_is_no_command() {
    for comment in [
        "> /kernelbrain optimize",
        "> - /kernelbrain optimize",
        "```\n/kernelbrain optimize\n```",
        "~~~sh\n/kernelbrain optimize\n~~~",
        "    /kernelbrain optimize",
        "`/kernelbrain optimize`",
        "[/kernelbrain optimize](https://example.com)",
        "<pre>\n/kernelbrain optimize\n</pre>",
        "<!--\n/kernelbrain optimize\n-->",
        "~~/kernelbrain optimize~~",
        "# /kernelbrain optimize",
        "please run /kernelbrain optimize",
        "/kernelbrains optimize",
        "/kernelbrain-optimize",
        "",
    ] {
        assert_eq!(parse(comment), None, "{comment:?}");
    }
}

#[test]
fn a_quote_beside_a_command_does_not_hide_it() {
    let comment = "> /kernelbrain cancel\n\n/kernelbrain status";
    assert_eq!(command(comment), Command::Status);
}

#[test]
fn a_mistake_is_named_and_the_nearest_command_offered() {
    assert_eq!(
        complaint("/kernelbrain optimzie"),
        "there is no command \"optimzie\"; did you mean \"optimize\"?"
    );
    assert_eq!(complaint("/kernelbrain frobnicate"), "there is no command \"frobnicate\"");
    assert_eq!(
        complaint("/kernelbrain optimize bugdet=20m"),
        "there is no option \"bugdet=\"; did you mean \"budget\"?"
    );
    assert_eq!(
        complaint("/kernelbrain optimize budget=soon"),
        "budget=\"soon\" is no time: write for example budget=20m"
    );
    assert_eq!(
        complaint("/kernelbrain cancel now"),
        "`cancel` takes no arguments, and \"now\" is one"
    );
    assert!(complaint("/kernelbrain optimize $(rm)").contains("neither the name of a kernel"));
    assert_eq!(
        parse("/kernelbrain status\n/kernelbrain cancel"),
        Some(Err(CommandError::Several { count: 2 }))
    );
}

#[test]
fn a_part_of_a_sha_approves_nothing() {
    let Command::Optimize(wish) = command("/kernelbrain optimize 0123456") else { panic!() };
    assert_eq!(wish.sha, None);
    assert!(complaint("/kernelbrain optimize sha=0123456").contains("full SHA"));
}

proptest! {
    #[test]
    fn no_comment_is_too_strange(comment in "(/kernelbrain ?|[a-z=0-9>`~\\[\\]()<!\\- ]|\\PC|\\n){0,80}") {
        if let Some(Err(error)) = parse(&comment) {
            prop_assert!(error.to_string().len() < 400);
        }
    }
}
