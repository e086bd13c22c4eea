//! The processes under siege.

use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    bot::configuration,
    mock::{APP_KEY, GitHub},
};

/// All processes of one installation, and the folder with everything of theirs.
pub(crate) struct Fleet {
    folder: Option<tempfile::TempDir>,
    port: u16,
    pub(crate) processes: Vec<Process>,
}

/// One of them: started, killed, started again.
pub(crate) struct Process {
    pub(crate) name: String,
    arguments: Vec<String>,
    folder: PathBuf,
    child: Option<Child>,
    pub(crate) started: Instant,
}

impl Fleet {
    /// `kernelbrain serve` on SQLite.
    pub(crate) fn with_runner_inside(github: &GitHub) -> Self {
        let mut fleet = Self::new(github);
        fleet.configure(github, "server", "", "name = \"inside\"");
        fleet.add("service", &["serve", "--config", "server.toml"]);
        fleet
    }

    /// `kernelbrain serve --runner none` and two of `kernelbrain runner`, on Postgres.
    pub(crate) fn with_runners_apart(github: &GitHub, database: &str) -> Self {
        let mut fleet = Self::new(github);
        let database = format!("database = \"{database}\"\n");
        let secret = "secret_file = \"runner-secret\"";
        fleet.configure(github, "server", &database, secret);
        fleet.add("service", &["serve", "--runner", "none", "--config", "server.toml"]);
        for name in ["first", "second"] {
            let runner = format!(
                "{secret}\nname = \"{name}\"\nfolder = \"{name}\"\n\
                 service = \"http://127.0.0.1:{}\"",
                fleet.port
            );
            fleet.configure(github, name, &database, &runner);
            fleet.add(name, &["runner", "--config", &format!("{name}.toml")]);
        }
        fleet
    }

    fn new(github: &GitHub) -> Self {
        let folder = tempfile::Builder::new().prefix("kb-chaos-").tempdir().unwrap();
        let port = free_port();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("app.pem", APP_KEY);
        write("secret", &github.webhook_secret());
        write("runner-secret", "what runners and the service share");
        github.deliver_to(&format!("http://127.0.0.1:{port}/webhook"));
        Self { folder: Some(folder), port, processes: Vec::new() }
    }

    /// As other tests have it, with short patience and no limits that twenty pull requests could meet.
    fn configure(&self, github: &GitHub, name: &str, server: &str, runner: &str) {
        let policy = "[policy]\nattempts = 1000\nper_user_and_day = \"1000h\"\nper_day = \"1000h\"\n\
                      progress_every = \"200ms\"";
        let text = configuration(&github.api(), &github.site(), policy)
            .replace("127.0.0.1:0", &format!("127.0.0.1:{}", self.port))
            .replace("recover_every = \"0s\"\n", &format!("recover_every = \"300ms\"\n{server}"))
            .replace("name = \"gpu-1\"", runner)
            .replace("lease = \"2s\"", "lease = \"1s\"")
            .replace("heartbeat = \"50ms\"", "heartbeat = \"100ms\"");
        fs::write(self.folder().join(format!("{name}.toml")), text).unwrap();
    }

    fn add(&mut self, name: &str, arguments: &[&str]) {
        let process = Process {
            name: name.to_owned(),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            folder: self.folder().to_owned(),
            child: None,
            started: Instant::now(),
        };
        self.processes.push(process);
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    /// Whether the service takes connections.
    pub(crate) fn listens(&self) -> bool {
        std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }

    /// Kills all of them, and sees that nothing of theirs is left.
    pub(crate) async fn end(&mut self) {
        for process in &mut self.processes {
            process.kill();
        }
        let begun = Instant::now();
        while let Some(orphan) = process_of(self.folder()).into_iter().next() {
            let patient = begun.elapsed() < Duration::from_secs(5);
            assert!(patient, "left over five seconds after the last kill: {orphan}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Searches that are under way.
    pub(crate) fn searches(&self) -> Vec<String> {
        let all = process_of(self.folder()).into_iter();
        all.filter(|line| line.contains("scripted_engine")).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for process in &mut self.processes {
            process.kill();
        }
        if std::env::var_os("CHAOS_KEEP").is_some()
            && let Some(folder) = self.folder.take()
        {
            eprintln!("kept: {}", folder.keep().display());
        }
    }
}

impl Process {
    pub(crate) fn start(&mut self) {
        let log = self.folder.join(format!("{}.log", self.name));
        let log = File::options().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernelbrain"));
        for variable in ["DATABASE_URL", "GITHUB_API_URL", "KERNELBRAIN_SERVICE"] {
            command.env_remove(variable);
        }
        let child = command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env("NO_PROXY", "127.0.0.1")
            .env("KERNELBRAIN_LOG", "info")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.child = Some(child.unwrap());
        self.started = Instant::now();
    }

    /// `kill -9`. Whoever ended before by itself has failed.
    pub(crate) fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Ok(Some(status)) = child.try_wait() {
            let log = fs::read_to_string(self.folder.join(format!("{}.log", self.name)));
            let log = log.unwrap_or_default();
            let from = log.len().saturating_sub(4000);
            let tail = log.get(from..).unwrap_or_default();
            assert!(std::thread::panicking(), "{} ended by itself: {status}\n{tail}", self.name);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Command lines in which the folder stands.
fn process_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy();
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let id = entry.file_name().to_string_lossy().into_owned();
        if id == own || !id.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let Ok(line) = fs::read(entry.path().join("cmdline")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&*folder) {
            found.push(format!("{id}: {line}"));
        }
    }
    found
}

/// Below those that the system gives to outgoing connections, so that nothing takes it while the service
/// is dead.
fn free_port() -> u16 {
    let offset = std::process::id() % 9000;
    let mut ports = (0..9000).map(|step| 20_000 + ((offset + step) % 9000) as u16);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}
