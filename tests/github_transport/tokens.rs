//! Who asks: JWTs, installation tokens, and what a 401 means.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use kernelbrain::github::{GitHubError, WallClock as _};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use wiremock::Request;

use crate::{
    common::{INSTALLATION, REPOSITORY},
    fake::{Fake, TOKEN, comment, header, ok, pull, refusal, status},
};

const PULL: &str = "/repos/octo/kernels/pulls/7";
const MINT: &str = "/app/installations/55/access_tokens";
const MINUTE: Duration = Duration::from_secs(60);

fn claims(request: &Request) -> Value {
    let authorization = header(request, "authorization");
    let jwt = authorization.strip_prefix("Bearer ").unwrap();
    let key = DecodingKey::from_rsa_pem(include_bytes!("../github/app-key.pub.pem")).unwrap();
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    jsonwebtoken::decode(jwt, &key, &validation).unwrap().claims
}

fn seconds(moment: SystemTime) -> i64 {
    i64::try_from(moment.duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

#[tokio::test]
async fn the_app_signs_for_a_token_and_the_token_asks() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, ok(pull(7))).await;

    assert_eq!(fake.repository().pull(7).await.unwrap().number, 7);

    let [mint, get] = &fake.requests().await[..] else { panic!("two requests") };
    let now = seconds(fake.clock.now());
    assert_eq!(claims(mint), json!({"iat": now - 60, "exp": now + 9 * 60, "iss": "4711"}));
    assert_eq!(header(get, "authorization"), format!("Bearer {TOKEN}"));
    for request in [mint, get] {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(header(request, "user-agent"), format!("kernelbrain/{version}"));
        assert_eq!(request.headers.get_all("user-agent").iter().count(), 1);
        assert_eq!(header(request, "accept"), "application/vnd.github+json");
    }
}

#[tokio::test]
async fn a_token_is_good_for_one_repository_and_for_what_is_needed() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, ok(pull(7))).await;

    fake.repository().pull(7).await.unwrap();
    let frugal = fake.github.clone().without_pushing();
    frugal.repository(INSTALLATION, REPOSITORY, "octo/kernels").pull(7).await.unwrap();
    fake.github.read_token(INSTALLATION, REPOSITORY).await.unwrap();

    let bodies: Vec<Value> =
        fake.mints().await.iter().map(|mint| mint.body_json().unwrap()).collect();
    let only =
        |permissions: Value| json!({"repository_ids": [REPOSITORY], "permissions": permissions});
    assert_eq!(
        bodies,
        [
            only(json!({
                "metadata": "read", "contents": "write", "checks": "write",
                "pull_requests": "write", "issues": "write"
            })),
            only(json!({
                "metadata": "read", "contents": "read", "checks": "write",
                "pull_requests": "write", "issues": "write"
            })),
            only(json!({"metadata": "read", "contents": "read"})),
        ]
    );
}

#[tokio::test]
async fn a_token_is_kept_for_fifty_minutes() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, ok(pull(7))).await;
    let repository = fake.repository();

    repository.pull(7).await.unwrap();
    fake.clock.pass(49 * MINUTE);
    repository.pull(7).await.unwrap();
    assert_eq!(fake.mints().await.len(), 1);
    fake.clock.pass(MINUTE);
    repository.pull(7).await.unwrap();
    assert_eq!(fake.mints().await.len(), 2);
    let last = fake.requests().await.pop().unwrap();
    assert!(header(&last, "authorization").ends_with("signature_2"));
}

#[tokio::test]
async fn each_repository_has_a_token_of_its_own() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, ok(pull(7))).await;
    fake.answer("GET", "/repos/octo/other/pulls/7", ok(pull(7))).await;

    fake.repository().pull(7).await.unwrap();
    let other = fake.github.repository(INSTALLATION, REPOSITORY + 1, "octo/other");
    other.pull(7).await.unwrap();

    let ids: Vec<Value> = fake
        .mints()
        .await
        .iter()
        .map(|mint| mint.body_json::<Value>().unwrap()["repository_ids"].clone())
        .collect();
    assert_eq!(ids, [json!([REPOSITORY]), json!([REPOSITORY + 1])]);
}

#[tokio::test]
async fn many_who_need_a_token_mint_one() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, ok(pull(7))).await;
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let repository = fake.repository();
        let github = fake.github.clone();
        asking.spawn(async move {
            // Everything can be asked from any task.
            drop((github.app(), github.read_token(1, 1), repository.comments(7)));
            repository.pull(7).await
        });
    }
    for asked in asking.join_all().await {
        asked.unwrap();
    }
    assert_eq!(fake.mints().await.len(), 1);
}

#[tokio::test]
async fn every_read_token_is_new() {
    let fake = Fake::minting().await;
    let first = fake.github.read_token(INSTALLATION, REPOSITORY).await.unwrap();
    let second = fake.github.read_token(INSTALLATION, REPOSITORY).await.unwrap();
    assert_ne!(first.expose_secret(), second.expose_secret());
}

#[tokio::test]
async fn a_clock_that_is_off_is_corrected_by_githubs() {
    let fake = Fake::silent().await;
    let theirs = fake.clock.now() + 60 * MINUTE;
    let complaint = "'Issued at' claim ('iat') must be an Integer representing the time that the \
                     assertion was issued";
    let refused = refusal(401, complaint).insert_header("date", httpdate::fmt_http_date(theirs));
    fake.answer_times(1, "POST", MINT, refused).await;
    fake.mint_at("").await;
    fake.answer("GET", PULL, ok(pull(7))).await;

    fake.repository().pull(7).await.unwrap();

    let mints = fake.mints().await;
    let issued: Vec<i64> = mints.iter().map(|mint| claims(mint)["iat"].as_i64().unwrap()).collect();
    assert_eq!(issued, [seconds(fake.clock.now()) - 60, seconds(theirs) - 60]);
}

#[tokio::test]
async fn a_key_that_github_does_not_know_is_said_once() {
    let fake = Fake::silent().await;
    fake.answer("POST", MINT, refusal(401, "A JSON web token could not be decoded")).await;

    let error = fake.repository().pull(7).await.unwrap_err();

    assert_eq!(error, GitHubError::Unauthorized);
    assert!(error.to_string().contains("private key"), "{error}");
    assert_eq!(fake.mints().await.len(), 1);
}

#[tokio::test]
async fn a_token_that_is_not_known_everywhere_yet_is_waited_for() {
    let fake = Fake::minting().await;
    let comments = "/repos/octo/kernels/issues/7/comments";
    fake.answer_times(2, "POST", comments, refusal(401, "Bad credentials")).await;
    fake.answer("POST", comments, status(201).set_body_json(comment(1, "hi"))).await;

    fake.repository().create_comment(7, "hi").await.unwrap();

    assert_eq!(fake.clock.slept(), [Duration::from_secs(1), Duration::from_secs(2)]);
    assert_eq!(fake.mints().await.len(), 1);
    assert_eq!(fake.asked().await.len(), 3);
    assert_eq!(fake.last_body().await, json!({"body": "hi"}));
}

#[tokio::test]
async fn a_token_that_stays_unknown_is_given_up() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, refusal(401, "Bad credentials")).await;

    assert_eq!(fake.repository().pull(7).await.unwrap_err(), GitHubError::Unauthorized);

    assert_eq!(fake.asked().await.len(), 3);
    assert_eq!(fake.mints().await.len(), 1);
}

#[tokio::test]
async fn a_token_that_was_revoked_is_replaced_once() {
    let fake = Fake::minting().await;
    fake.answer_times(1, "GET", PULL, ok(pull(7))).await;
    fake.answer_times(1, "GET", PULL, refusal(401, "Bad credentials")).await;
    fake.answer_times(1, "GET", PULL, ok(pull(7))).await;
    let repository = fake.repository();

    repository.pull(7).await.unwrap();
    fake.clock.pass(10 * MINUTE);
    repository.pull(7).await.unwrap();

    let tokens: Vec<String> = fake
        .requests()
        .await
        .iter()
        .filter(|request| request.method == "GET")
        .map(|request| header(request, "authorization").chars().last().unwrap().to_string())
        .collect();
    assert_eq!(tokens, ["1", "1", "2"]);
    assert!(fake.clock.slept().is_empty());
}

#[tokio::test]
async fn a_permission_that_the_installation_lacks_is_called_that() {
    let fake = Fake::silent().await;
    let why = "The permissions requested are not granted to this installation.";
    fake.answer("POST", MINT, refusal(422, why)).await;

    let error = fake.repository().pull(7).await.unwrap_err();

    assert!(matches!(&error, GitHubError::Forbidden(said) if said.contains(why)), "{error}");
    assert_eq!(error.retry_at(1, fake.clock.now()), None);
}

#[tokio::test]
async fn who_the_app_is_is_asked_once() {
    let fake = Fake::silent().await;
    let app = json!({"id": 4711, "slug": "kernelbrain", "name": "kernelbrain", "owner": {}});
    fake.answer("GET", "/app", ok(app)).await;
    for _ in 0..2 {
        let app = fake.github.clone().app().await.unwrap();
        assert_eq!((app.id, app.login().as_str()), (4711, "kernelbrain[bot]"));
    }
    assert_eq!(fake.asked().await, ["GET /app"]);
}
