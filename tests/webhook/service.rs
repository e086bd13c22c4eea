//! A service in this process, and the one who delivers to it.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use hmac::{Hmac, Mac as _};
use kernelbrain::{
    search::{Stop, StopSwitch},
    service::{
        config::{Environment, ServerConfig},
        open::{self, Serving},
    },
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use sha2::Sha256;
use sqlx::{Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use crate::mock::{APP_ID, APP_KEY, GitHub};

pub(crate) const SECRET: &str = "It's a Secret to Everybody";
/// Known too: the one that is to go.
pub(crate) const OTHER_SECRET: &str = "the one before";

/// What a delivery may take until it is handled, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// `kernelbrain serve` without a runner.
pub(crate) struct Service {
    pub(crate) github: GitHub,
    folder: TempDir,
    running: Option<(Serving, StopSwitch)>,
    pub(crate) client: reqwest::Client,
}

impl Service {
    pub(crate) async fn start() -> Self {
        let (github, folder) = (GitHub::start(), tempfile::tempdir().unwrap());
        let configuration = format!(
            r#"
            [github]
            app_id = {APP_ID}
            api = "{}"
            [server]
            listen = "127.0.0.1:0"
            database = "service.db"
            recover_every = "0s"
            look_every = "20ms"
            write_interval = "0s"
            "#,
            github.api(),
        );
        std::fs::write(folder.path().join("server.toml"), configuration).unwrap();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut service = Self { github, folder, running: None, client };
        service.go_on().await;
        service
    }

    /// Starts it on what it left.
    pub(crate) async fn go_on(&mut self) {
        let environment = Environment::of([
            ("KERNELBRAIN_PRIVATE_KEY".to_owned(), APP_KEY.to_owned()),
            ("KERNELBRAIN_WEBHOOK_SECRET".to_owned(), format!("{SECRET}\n{OTHER_SECRET}\n")),
        ]);
        let path = self.folder.path().join("server.toml");
        let config = ServerConfig::read(Some(&path), &environment).unwrap();
        let (switch, stop) = Stop::new();
        let serving = open::serve(&config, &environment, false, Some(metrics()), stop).await;
        self.running = Some((serving.unwrap(), switch));
    }

    /// Asks it to stop and waits until it has.
    pub(crate) async fn stop(&mut self) {
        let (serving, switch) = self.running.take().unwrap();
        switch.stop();
        serving.end().await.unwrap();
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.as_ref().unwrap().0.address)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        answer(self.client.get(self.url(path))).await
    }

    /// Delivers as GitHub does.
    pub(crate) async fn deliver(&self, event: &str, id: &str, body: &[u8]) -> (u16, String) {
        self.deliver_signed(event, id, body, Some(&sign(SECRET, body))).await
    }

    pub(crate) async fn deliver_signed(
        &self,
        event: &str,
        id: &str,
        body: &[u8],
        signature: Option<&str>,
    ) -> (u16, String) {
        answer(delivery(&self.client, &self.url("/webhook"), event, id, body, signature)).await
    }

    async fn database(&self) -> SqliteConnection {
        let path = self.folder.path().join("service.db");
        SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(path)).await.unwrap()
    }

    /// Rows of this delivery.
    pub(crate) async fn rows(&self, id: &str) -> i64 {
        let found = sqlx::query("SELECT count(*) AS rows FROM deliveries WHERE id = $1").bind(id);
        found.fetch_one(&mut self.database().await).await.unwrap().get("rows")
    }

    /// `done`, or why the delivery was given up, once it is either.
    pub(crate) async fn outcome(&self, id: &str) -> String {
        let begun = Instant::now();
        let mut database = self.database().await;
        loop {
            let found = sqlx::query("SELECT state, error FROM deliveries WHERE id = $1").bind(id);
            let row = found.fetch_one(&mut database).await.unwrap();
            let error: Option<String> = row.get("error");
            match row.get("state") {
                "done" => return "done".to_owned(),
                "failed" => return error.unwrap(),
                _ if begun.elapsed() > PATIENCE => panic!("delivery {id} is stuck: {error:?}"),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Jobs that anybody was given.
    pub(crate) async fn jobs(&self) -> i64 {
        let found = sqlx::query("SELECT count(*) AS jobs FROM jobs");
        found.fetch_one(&mut self.database().await).await.unwrap().get("jobs")
    }
}

pub(crate) fn delivery(
    client: &reqwest::Client,
    url: &str,
    event: &str,
    id: &str,
    body: &[u8],
    signature: Option<&str>,
) -> reqwest::RequestBuilder {
    let mut request = client.post(url).body(body.to_vec());
    for (name, value) in
        [("x-github-event", event), ("x-github-delivery", id)].iter().filter(|it| !it.1.is_empty())
    {
        request = request.header(*name, *value);
    }
    match signature {
        Some(signature) => request.header("x-hub-signature-256", signature),
        None => request,
    }
}

pub(crate) async fn answer(request: reqwest::RequestBuilder) -> (u16, String) {
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

pub(crate) fn sign(secret: &str, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap().chain_update(body);
    let bytes = mac.finalize().into_bytes();
    format!("sha256={}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// One recorder a process.
pub(crate) fn metrics() -> PrometheusHandle {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    RECORDER.get_or_init(|| PrometheusBuilder::new().install_recorder().unwrap()).clone()
}
