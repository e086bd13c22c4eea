//! One suite for every provider, against servers, programs and folders that behave like the real
//! ones: well and badly.

mod any_json;
mod command;
mod every_provider;
mod folder;
mod http;
mod recordings;
mod secrets;
mod servers;
mod specs;

use std::{path::Path, time::Duration};

use super::*;

/// A key in the form of a real one.
const KEY: &str = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz";

/// Limits that make nobody wait.
fn limits() -> Limits {
    Limits {
        time_out: Duration::from_secs(30),
        retries: 2,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(20),
        answer_bytes: 64 * 1024,
        output_tokens: 1000,
        ..Limits::default()
    }
}

/// The provider of that name, with [`KEY`] in every variable for keys.
fn open(spec: &str, limits: &Limits) -> Box<dyn Provider> {
    let environment = |_: &str| Some(KEY.to_owned());
    let setup = Setup { limits, key_file: None, plain_http: false, environment: &environment };
    ProviderSpec::parse(spec).unwrap().open(&setup).unwrap()
}

/// A command that is a line of shell.
fn shell(line: &str, limits: &Limits) -> Box<dyn Provider> {
    open(&format!("command:sh -c {}", shell_words::quote(line)), limits)
}

fn folder(path: &Path, limits: &Limits) -> Box<dyn Provider> {
    open(&format!("folder:{}", path.display()), limits)
}

fn question() -> Conversation {
    Conversation::new("You write Triton kernels.", "Make `softmax_kernel` faster.")
}

async fn answer(provider: &dyn Provider, conversation: &Conversation) -> Answer {
    match provider.ask(conversation).await.unwrap() {
        Reply::Answer(answer) => answer,
        Reply::Awaited => panic!("{provider:?} has no answer"),
    }
}

/// The error that comes instead of an answer: it always begins with who did not answer.
async fn error(provider: &dyn Provider, conversation: &Conversation) -> ProviderError {
    let error = provider.ask(conversation).await.unwrap_err();
    let who = format!("{}:{}: ", provider.name(), provider.model());
    assert!(error.to_string().starts_with(&who), "{error}");
    error
}

#[track_caller]
fn says(error: &dyn std::error::Error, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}
