//! Answers to what people ask or forgot.

use super::*;

const MONA: Asked<'_> = Asked { key: "comment:4711", by: "mona" };

#[test]
fn a_pull_request_without_configuration_is_told_which_lines_to_add() {
    let found = [
        FoundKernel {
            source: "tinynorm/kernels/rms_norm.py".into(),
            kernel_names: vec!["_rms_norm_kernel".into(), "_rms_norm_bwd_kernel".into()],
        },
        FoundKernel { source: "soft \"max\".py".into(), kernel_names: vec!["softmax".into()] },
    ];
    let comment = no_configuration("4b825dc6", &found);
    insta::assert_snapshot!("reply_no_configuration", comment);
    // It is TOML, with the four keys that every kernel needs, whatever the file is called.
    let blocks = comment.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines: toml::Table = toml::from_str(&blocks.collect::<String>()).unwrap();
    let kernels = lines["kernel"].as_array().unwrap();
    for kernel in kernels {
        let keys: Vec<&String> = kernel.as_table().unwrap().keys().collect();
        assert_eq!(keys, ["entry", "name", "source", "test"]);
    }
    assert_eq!(kernels[1]["source"].as_str(), Some("soft \"max\".py"));
    assert_eq!(kernels[0]["entry"].as_str(), Some("tinynorm.kernels.rms_norm:FUNCTION"));
}

#[test]
fn help_is_a_table_and_a_mistake_is_named() {
    let commands = [
        CommandHelp {
            usage: "/kernelbrain optimize [kernel…] [budget=20m] [sha]",
            what: "Searches faster versions of the kernels that the pull request touches.",
        },
        CommandHelp { usage: "/kernelbrain cancel", what: "Stops the search." },
    ];
    let problem = "There is no command `optimise`: did you mean `optimize`?";
    let text = help(MONA, Some(problem), &commands) + "---\n" + &help(MONA, None, &commands);
    insta::assert_snapshot!("reply_help", text);
}

#[test]
fn a_refusal_says_what_would_help() {
    let text = refusal(
        MONA,
        "mona may not write to octo/kernels.",
        "Ask somebody who may to write /kernelbrain optimize.",
    );
    insta::assert_snapshot!("reply_refusal", text);
}

#[test]
fn status_tells_every_job() {
    let jobs = [
        JobStatus {
            job: "7f3a9c21d0e4".into(),
            head_sha: "4b825dc642cb6eb9a060e54bf8d69288fbee4904".into(),
            state: "queued".into(),
            requested_by: "mona".into(),
            ahead: Some(2),
            ..JobStatus::default()
        },
        JobStatus {
            job: "1c0ffee1c0ff".into(),
            head_sha: "90a060e54bf8d69288fbee49044b825dc642cb6e".into(),
            state: "superseded".into(),
            requested_by: "hubot".into(),
            reason: "a newer commit came".into(),
            ..JobStatus::default()
        },
    ];
    insta::assert_snapshot!("reply_status", status(MONA, &jobs) + "---\n" + &status(MONA, &[]));
}

#[test]
fn a_review_says_that_its_parts_belong_together() {
    let kernel = tested(improved());
    let body =
        |suggestions| review_body(&facts(), &[ReviewedKernel { result: &kernel, suggestions }]);
    assert!(is_marked(&body(1), "review", "7f3a9c21d0e4"));
    insta::assert_snapshot!("review_body", body(1) + "---\n" + &body(3));
    assert_eq!(
        suggestion_prose("softmax", 1, 3),
        "Part 1 of 3 of `softmax`: apply all of them as one batch.\n\n"
    );
    assert_eq!(suggestion_prose("softmax", 1, 1), "");
}
