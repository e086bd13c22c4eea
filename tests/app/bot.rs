//! The bot at work on a GitHub: the real service in this process, the scripted engine as a child.
#![allow(unreachable_pub, reason = "shared by several binaries")]

use std::{path::PathBuf, sync::OnceLock};

use kernelbrain::{
    search::{Stop, StopSwitch},
    service::{
        config::{Environment, ServerConfig},
        open::{Serving, serve},
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

/// The service, and the folder in which it keeps everything.
pub struct Bot {
    pub folder: tempfile::TempDir,
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
        static LOG: OnceLock<()> = OnceLock::new();
        LOG.get_or_init(|| {
            let filter = tracing_subscriber::EnvFilter::try_from_env("KERNELBRAIN_LOG");
            let filter = filter.unwrap_or_else(|_| "off".into());
            tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
        });
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("app.pem", APP_KEY);
        write("secret", &github.webhook_secret());
        write("server.toml", &configuration(&github.api(), &github.site(), more));
        let mut bot = Self { folder, switch: None, serving: None };
        bot.start(github).await;
        bot
    }

    /// Starts it, again.
    pub async fn start(&mut self, github: &GitHub) {
        let environment = Environment::of([]);
        let file = self.folder.path().join("server.toml");
        let config = ServerConfig::read(Some(&file), &environment).unwrap();
        let (switch, stop) = Stop::new();
        let serving = serve(&config, &environment, true, None, stop).await.unwrap();
        github.deliver_to(&format!("http://{}/webhook", serving.address));
        (self.switch, self.serving) = (Some(switch), Some(serving));
    }

    /// Tells it to stop, and waits until it has.
    pub async fn stop(&mut self) {
        if let (Some(switch), Some(serving)) = (self.switch.take(), self.serving.take()) {
            switch.stop();
            serving.end().await.unwrap();
        }
    }
}

/// A repository with a configured kernel, and a pull request that makes it slower to read.
pub fn kernels(github: &GitHub) -> (Repo, PullRequest) {
    let kernels = github.repository("acme/kernels");
    kernels.set_permission("mona", Permission::Write);
    kernels.commit(
        "main",
        &[
            ("kernelbrain.toml", CONFIGURATION),
            ("ops/softmax.py", &KERNEL.replace("BLOCK = 128", "BLOCK = 64")),
            ("contracts/softmax.py", CONTRACT),
        ],
    );
    kernels.commit("wider", &[("ops/softmax.py", KERNEL)]);
    let pull = kernels.open_pull("mona", "wider");
    (kernels, pull)
}
