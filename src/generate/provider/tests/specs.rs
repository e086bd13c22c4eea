//! Naming a provider.

use super::*;

fn refused(text: &str) -> String {
    ProviderSpec::parse(text).unwrap_err().to_string()
}

#[test]
fn every_form_is_understood() {
    let same = [
        "anthropic:claude-sonnet-4-5",
        "openai:gpt-5",
        "openai:qwen3-coder:30b@http://localhost:11434/v1",
        "openai:meta/llama@v2@https://gateway.example/openai/v1",
        "folder:prompts/here",
        "replay:answers.jsonl",
    ];
    for text in same {
        assert_eq!(ProviderSpec::parse(text).unwrap().to_string(), text);
    }
    let base = ProviderSpec::parse("openai:qwen3:30b@http://localhost:11434/v1").unwrap();
    let ProviderSpec::OpenAi { model, base: Some(base) } = base else { panic!("{base:?}") };
    assert_eq!((model.as_str(), base.as_str()), ("qwen3:30b", "http://localhost:11434/v1"));
    let command = ProviderSpec::parse("command: claude -p 'be brief'").unwrap();
    let arguments = ["-p", "be brief"].map(str::to_owned).to_vec();
    assert_eq!(command, ProviderSpec::Command { program: "claude".into(), arguments });
    assert_eq!(command, "command:claude -p 'be brief'".parse().unwrap());
}

#[test]
fn a_name_that_says_nothing_is_answered_with_what_is_possible() {
    for text in ["", "gpt-5", "claude:opus", "https://api.openai.com/v1", "Anthropic:x"] {
        let error = refused(text);
        assert!(error.starts_with("no provider is called `"), "{error}");
        for kind in ["anthropic:", "openai:", "command:", "folder:", "replay:"] {
            assert!(error.contains(kind), "{text}: {error}");
        }
    }
}

#[test]
fn what_is_missing_is_named_with_an_example() {
    for (text, missing) in [
        ("anthropic:", "a model behind the colon, as in anthropic:claude"),
        ("openai:@https://host/v1", "a model behind the colon, as in openai:gpt"),
        ("command: ", "a program behind the colon, as in command:'claude -p'"),
        ("command:''", "a program"),
        ("folder:", "a path behind the colon, as in folder:prompts"),
        ("replay:", "the file of a recording"),
        ("command:claude 'unclosed", "check its quotes"),
        ("openai:x@https://", "the base URL cannot be used"),
        ("openai:x@http://gpu-box:8000/v1?key=1", "must not contain `?`"),
    ] {
        let error = refused(text);
        assert!(error.contains(missing), "{text}: {error}");
    }
}

#[test]
fn secrets_in_the_wrong_place_are_not_repeated() {
    for text in [
        "openai:x@https://me:sk-secret@host/v1",
        "openai:x@https://host/v1?key=sk-secret",
        "command:claude --key 'sk-secret",
        "sk-secret",
    ] {
        assert!(!refused(text).contains("sk-secret"), "{}", refused(text));
    }
    let spec = ProviderSpec::parse("command:/usr/bin/claude --key sk-secret").unwrap();
    assert_eq!(format!("{spec} {spec:?}"), "command:claude … ProviderSpec(command:claude …)");
}

#[test]
fn plain_http_to_another_machine_has_to_be_allowed() {
    let (limits, environment) = (limits(), |_: &str| None);
    let mut setup =
        Setup { limits: &limits, key_file: None, plain_http: false, environment: &environment };
    let spec = ProviderSpec::parse("openai:x@http://gpu-box:8000/v1").unwrap();
    let error = spec.open(&setup).unwrap_err().to_string();
    assert!(error.contains("plain text") && error.contains("SSH tunnel"), "{error}");
    setup.plain_http = true;
    spec.open(&setup).unwrap();
}
