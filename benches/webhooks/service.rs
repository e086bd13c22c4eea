//! The process under load, and what it left behind.

use std::{
    collections::HashSet,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    str::FromStr as _,
};

use sqlx::{Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};

pub(super) const SECRET: &str = "It's a Secret to Everybody";

/// Made for tests: opens nothing.
const APP_KEY: &str = include_str!("../../tests/mock/app.pem");

/// Nothing of what comes in makes the service speak to GitHub, so none is there.
const CONFIGURATION: &str = r#"
[github]
app_id = 1234
private_key_file = "app.pem"
webhook_secret_file = "secret"
api = "http://127.0.0.1:9"

[server]
listen = "127.0.0.1:0"
database = "service.db"
recover_every = "0s"
"#;

/// `kernelbrain serve`.
pub(super) struct Service {
    process: Child,
    pub(super) address: SocketAddr,
    database: PathBuf,
}

impl Service {
    pub(super) fn start(folder: &Path) -> Self {
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).expect("the configuration can be written");
        };
        write("app.pem", APP_KEY);
        write("secret", SECRET);
        write("server.toml", CONFIGURATION);
        let mut process = Command::new(env!("CARGO_BIN_EXE_kernelbrain"))
            .arg("serve")
            .arg("--config")
            .arg(folder.join("server.toml"))
            .env_remove("DATABASE_URL")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the service can be started");
        let stdout = process.stdout.take().expect("it has been asked for");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("the service speaks");
        let address = line.trim().rsplit('/').next().map(SocketAddr::from_str);
        let address = address.and_then(Result::ok).expect("the service says where it listens");
        Self { process, address, database: folder.join("service.db") }
    }

    /// Of user and system so far.
    pub(super) fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()));
        let stat = stat.expect("the service lives");
        // After the name, which may hold anything: the 12th and 13th fields, in ticks.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).filter_map(|it| it.parse::<u64>().ok()).sum();
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    /// Ends it as a crash would; where its database is.
    pub(super) fn kill(mut self) -> PathBuf {
        self.process.kill().expect("the service lives");
        self.process.wait().expect("it has ended");
        self.database
    }
}

/// What is in a database.
pub(super) struct Kept {
    pub(super) ids: HashSet<String>,
    /// Deliveries that were handled to their end.
    pub(super) handled: usize,
}

pub(super) async fn kept(database: &Path) -> Kept {
    let options = SqliteConnectOptions::new().filename(database);
    let mut connection =
        SqliteConnection::connect_with(&options).await.expect("the database opens");
    let rows = sqlx::query("SELECT id, state FROM deliveries").fetch_all(&mut connection).await;
    let rows = rows.expect("the database reads");
    let handled = rows.iter().filter(|row| row.get::<&str, _>("state") == "done").count();
    Kept { ids: rows.iter().map(|row| row.get("id")).collect(), handled }
}
