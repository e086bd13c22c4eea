//! What holds for every provider.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use wiremock::{MockServer, ResponseTemplate};

use super::{
    servers::{DIALECTS, Dialect, Rude, requests, rude, server},
    *,
};
use crate::generate::conversation::Usage;

/// A provider, and what it lives on.
struct Stage {
    provider: Box<dyn Provider>,
    folder: TempDir,
    server: Option<MockServer>,
}

impl Stage {
    fn of(provider: Box<dyn Provider>, folder: TempDir) -> Self {
        Self { provider, folder, server: None }
    }
}

/// Every provider, with `bytes` as its answer to `conversation`.
async fn stages(conversation: &Conversation, bytes: &[u8]) -> Vec<Stage> {
    let mut stages = Vec::new();
    for dialect in DIALECTS {
        let body = match std::str::from_utf8(bytes) {
            Ok(text) => dialect.answer(text).to_string().into_bytes(),
            // The text within an answer that is otherwise as it should be.
            Err(_) => {
                let answer = dialect.answer("MARK").to_string();
                let (before, after) = answer.split_once("MARK").unwrap();
                [before.as_bytes(), bytes, after.as_bytes()].concat()
            }
        };
        let response = ResponseTemplate::new(200).set_body_raw(body, "application/json");
        let server = server(dialect, vec![response]).await;
        let provider = dialect.provider(&server.uri(), &limits());
        let folder = tempfile::tempdir().unwrap();
        stages.push(Stage { provider, folder, server: Some(server) });
    }
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("answer"), bytes).unwrap();
    let line = format!("cat > {0}/prompt; cat {0}/answer", place.path().display());
    stages.push(Stage::of(shell(&line, &limits()), place));

    let place = tempfile::tempdir().unwrap();
    fs::write(answer_file(place.path(), conversation), bytes).unwrap();
    stages.push(Stage::of(folder(place.path(), &limits()), place));
    stages
}

fn answer_file(folder: &Path, conversation: &Conversation) -> PathBuf {
    folder.join(format!("{}.answer.md", conversation.id()))
}

#[tokio::test]
async fn an_answer_arrives_as_it_was_given() {
    let text = "Use `tl.dot`.\r\n\r\n```python\nx = \"\\u00e9 é 🚀\"\n```\n";
    for Stage { provider, folder, server } in stages(&question(), text.as_bytes()).await {
        let first = answer(&*provider, &question()).await;
        assert_eq!(first.text, text, "{provider:?}");
        assert_eq!(first.stop, Stop::Finished);
        if server.is_some() {
            assert_eq!(first.counted, Counted::ByProvider);
            assert_eq!(first.usage, Usage { input: 40, cached_input: 30, output: 7 });
        } else {
            assert_eq!(first.counted, Counted::Estimated);
            assert_eq!(first.usage.output, price::estimate_tokens(text));
            assert_eq!(first.usage.input, price::estimate_prompt(&question()));
        }

        // The same answer comes from its recording, without the provider.
        let recording = folder.path().join("answers.jsonl");
        let recorder = Recorder::new(provider, &recording).unwrap();
        assert_eq!(answer(&recorder, &question()).await, first);
        let replay = open(&format!("replay:{}", recording.display()), &limits());
        assert_eq!(answer(&*replay, &question()).await, first);
    }
}

#[tokio::test]
async fn everything_that_was_said_is_sent() {
    let mut talk = question();
    talk.go_on("Here it is: ```1```", "It does not compile: line 3.");
    for Stage { provider, folder, server } in stages(&talk, b"Better.").await {
        answer(&*provider, &talk).await;
        let sent = match server {
            Some(server) => requests(&server).await[0].to_string(),
            None if provider.name() == "command" => {
                fs::read_to_string(folder.path().join("prompt")).unwrap()
            }
            None => {
                let name = format!("{}.prompt.md", talk.id());
                fs::read_to_string(folder.path().join(name)).unwrap()
            }
        };
        let order = [&talk.system, &talk.messages[0].text, &talk.messages[1].text];
        for text in order.into_iter().chain([&talk.messages[2].text]) {
            assert!(sent.contains(text.as_str()), "{provider:?} did not send `{text}`: {sent}");
        }
    }
}

#[tokio::test]
async fn an_answer_without_text_is_an_error() {
    for blank in ["", " \n\t\n"] {
        for Stage { provider, .. } in stages(&question(), blank.as_bytes()).await {
            if provider.name() == "folder" {
                // Whoever made the file may not be done.
                assert_eq!(provider.ask(&question()).await.unwrap(), Reply::Awaited);
                continue;
            }
            let error = error(&*provider, &question()).await;
            assert!(matches!(error.fault, Fault::Empty { .. }), "{error}");
            assert_eq!(error.attempts, 1);
            // What it cost is not forgotten.
            let charges = ["anthropic", "openai"].contains(&provider.name());
            assert_eq!(error.usage.is_some(), charges);
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_not_utf8_is_an_error() {
    for Stage { provider, .. } in stages(&question(), b"def \xff\xfe kernel").await {
        says(&error(&*provider, &question()).await, &["is not UTF-8 (byte "]);
    }
}

#[tokio::test]
async fn an_answer_is_cut_off_at_the_limit_and_not_kept() {
    let long = "x".repeat(limits().answer_bytes + 1);
    for Stage { provider, .. } in stages(&question(), long.as_bytes()).await {
        says(&error(&*provider, &question()).await, &["longer than 65536 bytes"]);
    }
    // What fits exactly is an answer, where nothing is packed around it.
    let exact = "x".repeat(limits().answer_bytes);
    for Stage { provider, server, .. } in stages(&question(), exact.as_bytes()).await {
        if server.is_none() {
            assert_eq!(answer(&*provider, &question()).await.text.len(), exact.len());
        }
    }
}

#[tokio::test]
async fn what_never_ends_is_ended() {
    let endless = rude(Rude::Endless).await;
    let providers = [
        Dialect::Anthropic.provider(&endless, &limits()),
        Dialect::OpenAi.provider(&endless, &limits()),
        shell("yes", &limits()),
    ];
    for provider in providers {
        says(&error(&*provider, &question()).await, &["longer than 65536 bytes"]);
    }
}

#[tokio::test]
async fn what_never_comes_is_given_up() {
    let impatient = Limits { time_out: Duration::from_millis(200), ..limits() };
    let (silent, stalls) = (rude(Rude::Silent).await, rude(Rude::Stalls).await);
    let mut providers =
        vec![shell("sleep 600", &impatient), shell("echo part; sleep 600", &impatient)];
    for dialect in DIALECTS {
        providers.push(dialect.provider(&silent, &impatient));
        providers.push(dialect.provider(&stalls, &impatient));
    }
    for provider in providers {
        let error = error(&*provider, &question()).await;
        says(&error, &["no complete answer within 200ms", "allow more time"]);
        assert_eq!(error.attempts, 1, "it may have been paid for");
    }
}

#[tokio::test]
async fn a_talk_that_does_not_end_with_the_user_is_not_asked() {
    let mut talk = question();
    talk.go_on("Here.", "Again.");
    talk.messages.pop();
    let nothing = Conversation { messages: Vec::new(), ..question() };
    for talk in [talk, nothing] {
        for Stage { provider, server, .. } in stages(&question(), b"Done.").await {
            says(&error(&*provider, &talk).await, &["begin and end with the user's turn"]);
            if let Some(server) = server {
                assert!(requests(&server).await.is_empty());
            }
        }
    }
}

#[tokio::test]
async fn an_answer_may_look_like_anything() {
    let texts =
        ["{\"error\": {\"message\": \"no\"}}", "data: {}\n\n", "<html>", "null", "\u{feff}x\0y"];
    for text in texts {
        for Stage { provider, .. } in stages(&question(), text.as_bytes()).await {
            assert_eq!(answer(&*provider, &question()).await.text, text);
        }
    }
}
