//! The bot at work on a GitHub: the real service in this process, the scripted engine as a child.
#![allow(unreachable_pub, reason = "shared by several binaries")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use kernelbrain::{
    search::{Stop, StopSwitch},
    service::{
        clock::{Clock, SystemClock},
        config::{Environment, ServerConfig},
        open::{Serving, serve},
    },
    store::{
        PostgresStore, SqliteStore,
        service::{Job, JobState, ServiceStore},
    },
};

use crate::mock::{APP_ID, APP_KEY, GitHub, Permission, PullRequest, Repo};

/// A kernel for which the scripted engine finds `BLOCK = 256` the fastest.
pub const KERNEL: &str = "\
import torch
import triton
import triton.language as tl

# best: 256


@triton.jit
def _softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pass


def softmax(x):
    BLOCK = 128
    y = torch.empty_like(x)
    _softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK)
    return y
";

/// What a repository says of its kernels.
pub const CONFIGURATION: &str = "\
[[kernel]]
name = \"softmax\"
source = \"ops/softmax.py\"
entry = \"ops.softmax:softmax\"
test = \"contracts/softmax.py\"
";

/// A contract that nobody runs here.
pub const CONTRACT: &str = "CASES = [{\"n\": 8}]\n";

/// [`KERNEL`] with so much at its end that a change there is far from what is worth changing.
pub fn long_kernel() -> String {
    format!("{KERNEL}{}", "\n\n# so much for softmax\n".repeat(4))
}

/// The service, and the folder in which it keeps everything.
pub struct Bot {
    pub folder: tempfile::TempDir,
    /// What the service keeps, for looking.
    pub store: Arc<dyn ServiceStore>,
    with_runner: bool,
    switch: Option<StopSwitch>,
    serving: Option<Serving>,
}

/// The binary that stands in for the engine, built with the tests.
pub fn scripted_engine() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let profile = own.parent().and_then(|deps| deps.parent()).unwrap();
    let engine = profile.join("examples").join("scripted_engine");
    assert!(engine.is_file(), "{} is missing: `cargo build --examples` makes it", engine.display());
    engine
}

/// A configuration as a test needs it: nobody waits for long.
pub fn configuration(github_api: &str, git: &str, more: &str) -> String {
    format!(
        "[github]\napp_id = {APP_ID}\napi = \"{github_api}\"\ngit = \"{git}\"\n\
         private_key_file = \"app.pem\"\nwebhook_secret_file = \"secret\"\n\
         [server]\nlisten = \"127.0.0.1:0\"\nwrite_interval = \"0s\"\nrecover_every = \"0s\"\n\
         look_every = \"20ms\"\n\
         [runner]\nname = \"gpu-1\"\nengine = [\"{}\"]\nlease = \"2s\"\nheartbeat = \"50ms\"\n\
         {more}\n",
        scripted_engine().display()
    )
}

impl Bot {
    /// Starts it for `github`, which delivers to it from now on.
    pub async fn at(github: &GitHub) -> Self {
        Self::with(github, "").await
    }

    /// As [`Bot::at`], with more at the end of its configuration.
    pub async fn with(github: &GitHub, more: &str) -> Self {
        Self::configured(github, &configuration(&github.api(), &github.site(), more), true).await
    }

    /// Starts it with a configuration of the test's own.
    pub async fn configured(github: &GitHub, configuration: &str, with_runner: bool) -> Self {
        static LOG: OnceLock<()> = OnceLock::new();
        LOG.get_or_init(|| {
            let filter = tracing_subscriber::EnvFilter::try_from_env("KERNELBRAIN_LOG");
            let filter = filter.unwrap_or_else(|_| "off".into());
            tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
        });
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("app.pem", APP_KEY);
        write("secret", &github.webhook_secret());
        write("runner-secret", "0123456789abcdef0123456789abcdef");
        write("server.toml", configuration);
        let store = store_of(&folder.path().join("server.toml")).await;
        let mut bot = Self { folder, store, with_runner, switch: None, serving: None };
        bot.start(github).await;
        bot
    }

    /// Whether another service could go on in its place at this moment.
    pub async fn has_handed_over(&self) -> bool {
        let now = SystemClock.now();
        self.store.lead("backstage", "another service", now, now).await.unwrap()
    }

    /// Starts it, again.
    pub async fn start(&mut self, github: &GitHub) {
        let environment = Environment::of([]);
        let config = ServerConfig::read(Some(&self.file()), &environment).unwrap();
        let (switch, stop) = Stop::new();
        let serving = serve(&config, &environment, self.with_runner, None, stop).await.unwrap();
        github.deliver_to(&format!("http://{}/webhook", serving.address));
        (self.switch, self.serving) = (Some(switch), Some(serving));
    }

    /// Its configuration.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("server.toml")
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("http://{}", self.serving.as_ref().unwrap().address)
    }

    /// Waits until there is nothing that it would do next: no delivery, job or effect waits.
    pub async fn settled(&self, github: &GitHub) {
        let begun = Instant::now();
        loop {
            github.delivered().await;
            let jobs = self.open_jobs().await;
            let deliveries = self.store.deliveries_due(i64::MAX, 1).await.unwrap().len();
            let owed = self.store.owed().await.unwrap();
            if (jobs.len(), deliveries, owed) == (0, 0, 0) {
                return;
            }
            if begun.elapsed() > Duration::from_secs(60) {
                let writes = github.writes().join("\n\n");
                panic!(
                    "{deliveries} deliveries, {owed} effects, jobs {jobs:#?}; writes:\n{writes}"
                );
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Jobs that something is still to be done for.
    pub async fn open_jobs(&self) -> Vec<Job> {
        let open = [JobState::Queued, JobState::Leased, JobState::Running, JobState::Measured];
        self.store.jobs_in(&open, 100).await.unwrap()
    }

    /// Jobs in that state.
    pub async fn jobs_in(&self, state: JobState) -> Vec<Job> {
        self.store.jobs_in(&[state], 100).await.unwrap()
    }

    /// Waits until the process that searches for it is there, or gone.
    pub async fn engine_is(&self, running: bool, within: Duration) {
        let begun = Instant::now();
        while engine_runs(self.folder.path()) != running {
            assert!(begun.elapsed() < within, "in vain until running is {running}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Tells it to stop, and waits until it has.
    pub async fn stop(&mut self) {
        if let (Some(switch), Some(serving)) = (self.switch.take(), self.serving.take()) {
            switch.stop();
            serving.end().await.unwrap();
        }
    }
}

/// A second connection to the database that a configuration names.
async fn store_of(configuration: &Path) -> Arc<dyn ServiceStore> {
    use kernelbrain::service::config::Database;
    use secrecy::ExposeSecret;
    let config = ServerConfig::read(Some(configuration), &Environment::of([])).unwrap();
    match config.database() {
        Database::Sqlite(path) => Arc::new(SqliteStore::open(&path).await.unwrap()),
        Database::Postgres(url) => {
            Arc::new(PostgresStore::connect(url.expose_secret()).await.unwrap())
        }
    }
}

/// Whether a process lives that was told to search below `folder`.
pub fn engine_runs(folder: &Path) -> bool {
    let folder = folder.to_string_lossy();
    let told = |process: &Path| {
        let command = fs::read(process.join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command);
        command.contains("scripted_engine") && command.contains(&*folder)
    };
    fs::read_dir("/proc").unwrap().flatten().any(|entry| told(&entry.path()))
}

/// A repository with a configured kernel, and a pull request that makes it slower to read.
pub fn kernels(github: &GitHub) -> (Repo, PullRequest) {
    kernels_as(github, &KERNEL.replace("BLOCK = 128", "BLOCK = 64"), KERNEL)
}

/// The same with that kernel before and after.
pub fn kernels_as(github: &GitHub, before: &str, after: &str) -> (Repo, PullRequest) {
    let kernels = repository(github, CONFIGURATION, &[("ops/softmax.py", before)]);
    kernels.commit("wider", &[("ops/softmax.py", after)]);
    let pull = kernels.open_pull("mona", "wider");
    (kernels, pull)
}

/// A repository, with a contract, in which mona may write and eve may not.
pub fn repository(github: &GitHub, configuration: &str, files: &[(&str, &str)]) -> Repo {
    let kernels = github.repository("acme/kernels");
    kernels.set_permission("mona", Permission::Write);
    kernels.set_permission("tria", Permission::Triage);
    kernels.set_permission("eve", Permission::Read);
    let mut all = vec![("contracts/softmax.py", CONTRACT)];
    if !configuration.is_empty() {
        all.push(("kernelbrain.toml", configuration));
    }
    all.extend(files);
    kernels.commit("main", &all);
    kernels
}

/// Ids and times that differ from run to run, by name.
pub fn named(text: &str) -> String {
    let job = regex::Regex::new("job `[0-9a-f]{12}`").unwrap();
    let text = job.replace_all(text, "job `<JOB>`");
    let run = regex::Regex::new("scripted-[0-9]+-[0-9]+").unwrap();
    let text = run.replace_all(&text, "<RUN>");
    let seconds = regex::Regex::new(r"[0-9.]+ (ms|s)\b").unwrap();
    let text = seconds.replace_all(&text, "<TIME>");
    let moment = regex::Regex::new("20[0-9]{2}-[0-9-]+T[0-9:]+Z").unwrap();
    let text = moment.replace_all(&text, "<MOMENT>");
    let review = regex::Regex::new("pullrequestreview-[0-9]+").unwrap();
    let text = review.replace_all(&text, "pullrequestreview-<ID>");
    let publish = regex::Regex::new("kernelbrain:publish [0-9a-f]{12}").unwrap();
    publish.replace_all(&text, "kernelbrain:publish <JOB>").into_owned()
}
