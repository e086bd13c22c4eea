//! Recording answers and replaying them.

use std::fs;

use super::*;

fn replay(path: &Path) -> Box<dyn Provider> {
    open(&format!("replay:{}", path.display()), &limits())
}

fn replay_error(path: &Path) -> String {
    let (limits, environment) = (limits(), |_: &str| None);
    let setup =
        Setup { limits: &limits, key_file: None, plain_http: false, environment: &environment };
    ProviderSpec::Replay { path: path.to_owned() }.open(&setup).unwrap_err().to_string()
}

/// Records what a program answers to each of the questions.
async fn record(path: &Path, line: &str, questions: &[&str]) {
    let recorder = Recorder::new(shell(line, &limits()), path).unwrap();
    for question in questions {
        answer(&recorder, &Conversation::new("", *question)).await;
    }
}

#[tokio::test]
async fn a_recording_is_added_to_and_the_last_answer_counts() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("answers.jsonl");
    record(&path, "cat", &["one", "two", "one"]).await;
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2, "the same only once");
    record(&path, "sed s/$/!/", &["two", "three"]).await;
    let replay = replay(&path);
    for (question, text) in [("one", "one\n"), ("two", "two!\n"), ("three", "three!\n")] {
        assert_eq!(answer(&*replay, &Conversation::new("", question)).await.text, text);
    }
    let error = error(&*replay, &Conversation::new("", "four")).await;
    let id = Conversation::new("", "four").id();
    says(&error, &[&path.display().to_string(), id.as_str(), "record it again"]);
}

#[tokio::test]
async fn a_line_can_be_read_by_itself() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("answers.jsonl");
    record(&path, "echo Done.", &["one"]).await;
    let text = fs::read_to_string(&path).unwrap();
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        line,
        serde_json::json!({
            "id": Conversation::new("", "one").id(),
            "provider": "command",
            "model": "sh",
            "conversation": {"system": "", "messages": [{"role": "user", "text": "one"}]},
            "answer": {
                "text": "Done.\n",
                "usage": {"input": 17, "cached_input": 0, "output": 3},
                "counted": "estimated",
                "stop": "finished",
            },
        })
    );
}

#[tokio::test]
async fn a_line_that_was_torn_by_a_crash_is_left_out() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("answers.jsonl");
    record(&path, "cat", &["one", "two"]).await;
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    let torn = replay(&path);
    assert_eq!(answer(&*torn, &Conversation::new("", "one")).await.text, "one\n");
    says(&error(&*torn, &Conversation::new("", "two")).await, &["has no answer"]);
    record(&path, "cat", &["two"]).await;
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[tokio::test]
async fn a_recording_that_is_none_is_refused_with_its_line() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("answers.jsonl");
    assert!(replay_error(&path).contains(&format!("cannot read the recording {}", path.display())));
    record(&path, "cat", &["one"]).await;
    let good = fs::read_to_string(&path).unwrap();
    let forged = good.replace("\"text\":\"one\"", "\"text\":\"another question\"");
    for (bad, reason) in [("garbage\n", "expected value"), (&forged, "its id is not that of")] {
        fs::write(&path, format!("{good}{bad}")).unwrap();
        let error = replay_error(&path);
        assert!(error.contains("answers.jsonl:2 ") && error.contains(reason), "{error}");
        let error = Recorder::new(shell("cat", &limits()), &path).unwrap_err().to_string();
        assert!(error.contains("answers.jsonl:2 "), "{error}");
    }
}

#[tokio::test]
async fn two_do_not_record_in_one_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("answers.jsonl");
    let first = Recorder::new(shell("cat", &limits()), &path).unwrap();
    let error = Recorder::new(shell("cat", &limits()), &path).unwrap_err().to_string();
    assert!(error.contains("another process records in"), "{error}");
    drop(first);
    Recorder::new(shell("cat", &limits()), &path).unwrap();
}

#[tokio::test]
async fn what_is_awaited_is_not_recorded() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("answers.jsonl");
    let recorder = Recorder::new(folder(place.path(), &limits()), &path).unwrap();
    assert_eq!(recorder.ask(&question()).await.unwrap(), Reply::Awaited);
    assert_eq!(fs::read(&path).unwrap(), b"");
}
