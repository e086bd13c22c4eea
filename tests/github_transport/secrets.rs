//! Keys and tokens are in no error, no log, no `{:?}`.

use std::{
    io,
    sync::{Arc, Mutex},
};

use kernelbrain::github::{GitHub, GitHubError};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    common::{PRIVATE_KEY, TestClock, credentials},
    fake::{Fake, TOKEN, ok, pull, refusal, status},
};

const PULL: &str = "/repos/octo/kernels/pulls/7";
const MINT: &str = "/app/installations/55/access_tokens";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_log_of_everything_holds_no_token() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // Of the whole process, so of the other tests as well.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let fake = Fake::minting().await;
    fake.answer_times(1, "GET", PULL, ok(pull(7))).await;
    fake.answer("GET", PULL, refusal(404, "Not Found")).await;

    fake.repository().pull(7).await.unwrap();
    fake.repository().pull(7).await.unwrap_err();

    let jwts: Vec<String> = fake
        .mints()
        .await
        .iter()
        .map(|mint| mint.headers["authorization"].to_str().unwrap().replace("Bearer ", ""))
        .collect();
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains(PULL), "nothing was logged");
    assert!(!log.contains(TOKEN));
    assert!(jwts.iter().all(|jwt| !log.contains(jwt.as_str())));
}

#[tokio::test]
async fn nothing_shows_them() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, ok(pull(7))).await;
    let repository = fake.repository();
    repository.pull(7).await.unwrap();
    let shown = format!("{:?} {:?} {:?}", credentials(), fake.github, repository);
    assert!(shown.contains("octo/kernels"));
    let key_line = PRIVATE_KEY.lines().nth(1).unwrap();
    assert!(!shown.contains(TOKEN) && !shown.contains(key_line), "{shown}");
}

#[tokio::test]
async fn a_refusal_that_repeats_the_token_is_not_repeated() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, refusal(422, &format!("what is {TOKEN}?"))).await;
    let error = fake.repository().pull(7).await.unwrap_err();
    assert!(matches!(error, GitHubError::Unprocessable(_)), "{error}");
    assert!(!format!("{error} {error:?}").contains("ghs_"), "{error}");
}

#[tokio::test]
async fn a_mint_that_cannot_be_read_is_not_quoted() {
    let fake = Fake::silent().await;
    let minted = json!({"token": TOKEN, "expires_at": TOKEN});
    fake.answer("POST", MINT, status(201).set_body_json(minted)).await;
    let error = fake.repository().pull(7).await.unwrap_err();
    assert!(matches!(error, GitHubError::Invalid(_)), "{error}");
    assert!(!format!("{error} {error:?}").contains("ghs_"), "{error}");
}

#[tokio::test]
async fn a_key_that_is_none_is_said_to_be_none() {
    let mut credentials = credentials();
    credentials.private_key = "-----BEGIN RSA PRIVATE KEY-----\nhunter2".into();
    let error = GitHub::new("https://api.github.com", credentials, Arc::new(TestClock::new()));
    let error = error.unwrap_err().to_string();
    assert!(error.contains(".pem") && !error.contains("hunter2"), "{error}");
}
