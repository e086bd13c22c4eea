//! The key is sent to the server and shows nowhere else.

use std::{
    env,
    fmt::Debug,
    fs, io,
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex},
};

use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use wiremock::ResponseTemplate;

use super::{
    servers::{DIALECTS, Rude, ok, requests, rude, server},
    *,
};

/// Everything that anyone could read of what happened.
#[derive(Clone, Default)]
struct Traces(Arc<Mutex<Vec<u8>>>);

impl Traces {
    fn add(&self, value: &(impl Debug + ?Sized)) {
        self.0.lock().unwrap().extend(format!("{value:?}\n{value:#?}\n").bytes());
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Traces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Traces {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_server_that_echoes_the_key_does_not_get_it_shown() {
    // What is logged at a place in the source is decided for all threads at once.
    if !alone("a_server_that_echoes_the_key_does_not_get_it_shown", &[]) {
        return;
    }
    let traces = Traces::default();
    let everything = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(traces.clone())
        .finish();
    let _logged = tracing::subscriber::set_default(everything);
    let place = tempfile::tempdir().unwrap();
    let mut asked = 0;
    for dialect in DIALECTS {
        let echo = format!("Incorrect API key provided: {KEY}.");
        // So long that an excerpt ends within the key.
        let late = format!("{}{KEY}", "x".repeat(280));
        let responses = [
            ResponseTemplate::new(401).set_body_json(dialect.error("authentication_error", &echo)),
            ResponseTemplate::new(403).set_body_json(dialect.error(KEY, &late)),
            ResponseTemplate::new(400).set_body_string(late.clone()),
            ResponseTemplate::new(500).set_body_string(echo.clone()),
            ResponseTemplate::new(429).set_body_json(dialect.error("rate_limit_error", &echo)),
            ResponseTemplate::new(302).insert_header("location", format!("https://x/?key={KEY}")),
            ResponseTemplate::new(200).set_body_string(late.clone()),
            ResponseTemplate::new(200).set_body_string(format!("data: {KEY}")),
            ResponseTemplate::new(200).set_body_json(dialect.error("api_error", &late)),
            ok(&dialect.answer(&echo)),
            ok(&dialect.answer_with(
                "Done.",
                ["/stop_reason", "/choices/0/finish_reason"],
                json!(format!("because {KEY}")),
            )),
        ];
        for response in responses {
            let server = server(dialect, vec![response]).await;
            let path = place.path().join("answers.jsonl");
            let provider = dialect.provider(&server.uri(), &limits());
            traces.add(&*provider);
            let recorder = Recorder::new(provider, &path).unwrap();
            match recorder.ask(&question()).await {
                Ok(reply) => traces.add(&reply),
                Err(error) => {
                    traces.add(&error);
                    traces.add(&error.to_string());
                }
            }
            traces.add(&recorder);
            traces.add(&fs::read_to_string(&path).unwrap());
            asked += requests(&server).await.len();
        }
        let broken = dialect.provider(&rude(Rude::HangsUp).await, &limits());
        traces.add(&broken.ask(&question()).await.unwrap_err());
    }
    // The servers here answer only to those who have the key, so it was sent each time.
    assert!(asked > 2 * 11, "{asked}");
    let text = traces.text();
    for shown in ["[the key]", "Incorrect API key provided", "asking the model again"] {
        assert!(text.contains(shown), "`{shown}` was to be seen");
    }
    // Nor half of it.
    let at = text.find(&KEY[..14]);
    assert!(at.is_none(), "{}", &text[at.unwrap().saturating_sub(300)..at.unwrap() + 20]);
}

#[tokio::test]
async fn whoever_has_no_valid_key_is_told_where_to_put_one() {
    for dialect in DIALECTS {
        let refusal = ResponseTemplate::new(401).set_body_json(dialect.error("", "Who are you?"));
        let server = server(dialect, vec![refusal]).await;
        let error = error(&*dialect.provider(&server.uri(), &limits()), &question()).await;
        says(&error, &["status 401", "put a valid one into KERNELBRAIN_MODEL_KEY"]);
        assert_eq!((error.attempts, requests(&server).await.len()), (1, 1));
    }
}

#[tokio::test]
async fn a_key_file_is_read_only_if_nobody_else_can() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("key");
    fs::write(&path, format!("{KEY}\n")).unwrap();
    let (limits, nothing) = (limits(), |_: &str| None);
    let setup =
        Setup { limits: &limits, key_file: Some(&path), plain_http: false, environment: &nothing };
    let open = || ProviderSpec::parse("anthropic:claude-test").unwrap().open(&setup);
    for mode in [0o644, 0o640, 0o604, 0o660, 0o601] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = open().unwrap_err().to_string();
        assert!(error.contains(&format!("chmod 600 {}", path.display())), "{error}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    open().unwrap();

    for text in ["", "  \n", "two words", "caf\u{e9}-0123456789", "\"quoted-0123456789\""] {
        fs::write(&path, text).unwrap();
        let error = open().unwrap_err().to_string();
        assert!(error.contains("is not a key"), "{error}");
        assert!(text.trim().is_empty() || !error.contains(text), "{error}");
    }
    fs::remove_file(&path).unwrap();
    let error = open().unwrap_err().to_string();
    assert!(error.contains("cannot read the key file"), "{error}");
}

#[tokio::test]
async fn a_key_from_a_file_is_sent() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("key");
    fs::write(&path, format!("  {KEY}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let (limits, nothing) = (limits(), |_: &str| None);
    let setup =
        Setup { limits: &limits, key_file: Some(&path), plain_http: false, environment: &nothing };
    for dialect in DIALECTS {
        let server = server(dialect, vec![ok(&dialect.answer("Done."))]).await;
        let kind = if dialect == servers::Dialect::Anthropic { "anthropic" } else { "openai" };
        let spec = ProviderSpec::parse(&format!("{kind}:m@{}/v1", server.uri())).unwrap();
        let provider = spec.open(&setup).unwrap();
        assert_eq!(answer(&*provider, &question()).await.text, "Done.");
    }
}

#[test]
fn the_key_of_a_service_is_not_sent_to_another_server() {
    let asked = Mutex::new(Vec::new());
    let environment = |name: &str| {
        asked.lock().unwrap().push(name.to_owned());
        None
    };
    let limits = limits();
    let setup =
        Setup { limits: &limits, key_file: None, plain_http: false, environment: &environment };
    let open = |spec: &str| ProviderSpec::parse(spec).unwrap().open(&setup);
    open("openai:gpt-5@https://gateway.example/v1").unwrap();
    open("anthropic:claude@https://gateway.example").unwrap();
    assert_eq!(*asked.lock().unwrap(), ["KERNELBRAIN_MODEL_KEY", "KERNELBRAIN_MODEL_KEY"]);
    for (spec, variable) in
        [("openai:gpt-5", "OPENAI_API_KEY"), ("anthropic:claude", "ANTHROPIC_API_KEY")]
    {
        let error = open(spec).unwrap_err().to_string();
        assert!(error.contains(variable) && error.contains("chmod 600"), "{error}");
    }
}

#[tokio::test]
async fn a_program_gets_the_environment_without_our_keys() {
    let ours =
        ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "KERNELBRAIN_MODEL_KEY", "KERNELBRAIN_ANYTHING"];
    if !alone("a_program_gets_the_environment_without_our_keys", &ours) {
        return;
    }
    let text = answer(&*open("command:env", &limits()), &question()).await.text;
    assert!(text.contains(&format!("{ALONE}={KEY}")), "the rest is passed on");
    for name in ours {
        assert!(!text.contains(name), "{name} is passed on");
    }
}

/// Set in a process that runs one test of this file and nothing else.
const ALONE: &str = "A_TEST_ALONE";

/// Whether this process runs nothing but the test of that name, with [`KEY`] in the variables. If
/// it does not, one that does is started, and has passed when this returns.
fn alone(test: &str, variables: &[&str]) -> bool {
    if env::var_os(ALONE).is_some() {
        return true;
    }
    let module = module_path!().split_once("::").unwrap().1;
    let mut itself = std::process::Command::new(env::current_exe().unwrap());
    itself.args([&format!("{module}::{test}"), "--exact"]).env(ALONE, KEY);
    for variable in variables {
        itself.env(variable, KEY);
    }
    let output = itself.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}
