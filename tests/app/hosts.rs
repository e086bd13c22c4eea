//! Service and runners on different hosts: Postgres between them, the key of the App on one side only.

use std::time::{Duration, Instant};

use kernelbrain::{
    kernel::Event,
    search::Stop,
    service::{
        config::{Environment, ServerConfig},
        open::run_runner,
    },
    store::service::{Job, JobState},
};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::{
    bot::{Bot, KERNEL, configuration, engine_runs, kernels, kernels_as},
    mock::GitHub,
    postgres::{Database, fresh_database},
};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A service without a runner, its configuration, and the database that it shares.
async fn service(github: &GitHub) -> (Bot, String, Database) {
    let database = fresh_database().await;
    let shared = configuration(&github.api(), &github.site(), "secret_file = \"runner-secret\"\n")
        .replace("[server]\n", &format!("[server]\ndatabase = \"{}\"\n", database.url));
    let bot = Bot::configured(github, &shared, false).await;
    (bot, shared, database)
}

/// A host with a GPU: a folder of its own, and the address of the service.
struct Host {
    folder: tempfile::TempDir,
    at_work: JoinHandle<()>,
}

impl Host {
    fn new(name: &str, shared: &str, service: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let told = shared
            .replace("name = \"gpu-1\"", &format!("name = \"{name}\"\nservice = \"{service}\""))
            // It has neither.
            .replace("private_key_file = \"app.pem\"\nwebhook_secret_file = \"secret\"\n", "");
        std::fs::write(folder.path().join("server.toml"), told).unwrap();
        std::fs::write(folder.path().join("runner-secret"), SECRET).unwrap();
        let environment = Environment::of([]);
        let file = folder.path().join("server.toml");
        let config = ServerConfig::read(Some(&file), &environment).unwrap();
        let at_work = tokio::spawn(async move {
            run_runner(&config, &environment, Stop::never()).await.unwrap();
        });
        Self { folder, at_work }
    }

    /// It is gone, without a word.
    async fn dies(self) {
        self.at_work.abort();
        self.at_work.await.ok();
        let begun = Instant::now();
        while engine_runs(self.folder.path()) {
            assert!(begun.elapsed() < Duration::from_secs(5), "its search lives on");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The journal of the job's one kernel, as far as it was copied.
async fn copied(bot: &Bot, job: &Job) -> Vec<Event> {
    let kept = bot.store.copied_run(&job.new.id, "softmax").await.unwrap();
    kept.map_or_else(Vec::new, |kept| kept.events)
}

fn evaluations(events: &[Event]) -> Vec<String> {
    let evaluated = events.iter().filter_map(|event| match event {
        Event::Evaluated { evaluation, .. } => {
            Some(format!("{} on rung {}", evaluation.candidate, evaluation.rung))
        }
        _ => None,
    });
    evaluated.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_elsewhere_searches_with_a_token_that_only_reads() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let (mut bot, shared, _database) = service(&github).await;
    let host = Host::new("gpu-2", &shared, &bot.address());
    pull.label("optimize-kernel", "mona");
    bot.settled(&github).await;
    github.expect_write("<!-- kernelbrain:result");
    let minted: Vec<String> = github
        .requests()
        .into_iter()
        .filter(|one| one.path.ends_with("/access_tokens"))
        .map(|one| one.body)
        .collect();
    let read_only =
        |body: &&String| !body.contains("\"write\"") && body.contains("\"contents\":\"read\"");
    assert_eq!(minted.iter().filter(read_only).count(), 1, "{minted:?}");
    host.dies().await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_host_goes_on_where_one_died() {
    let github = GitHub::start();
    let kernel = format!("{KERNEL}# takes: 300ms\n");
    let (_, pull) = kernels_as(&github, &KERNEL.replace("= 128", "= 64"), &kernel);
    let (mut bot, shared, _database) = service(&github).await;
    let first = Host::new("gpu-2", &shared, &bot.address());
    pull.label("optimize-kernel", "mona");
    github.await_write("[in_progress]").await;
    let job = bot.jobs_in(JobState::Running).await.remove(0);
    let begun = Instant::now();
    while evaluations(&copied(&bot, &job).await).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing is copied");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    first.dies().await;
    let before = copied(&bot, &job).await;
    assert_eq!(bot.jobs_in(JobState::Running).await.len(), 1, "it died in the middle");

    let second = Host::new("gpu-3", &shared, &bot.address());
    bot.settled(&github).await;
    let after = copied(&bot, &job).await;
    assert_eq!(after[..before.len()], before[..], "what was measured stands");
    let mut all = evaluations(&after);
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count, "nothing is measured twice");
    let job = bot.jobs_in(JobState::Reported).await.remove(0);
    assert_eq!((job.attempts, job.lease.unwrap().runner.as_str()), (2, "gpu-3"));
    assert_eq!((pull.bot_comments().len(), github.check_runs().len()), (1, 1));
    second.dies().await;
    bot.stop().await;
}

/// Asks the service for a token as a runner does.
async fn ask(bot: &Bot, secret: &str, job: &str, fence: u64) -> u16 {
    let asked = reqwest::Client::new()
        .post(format!("{}/runner/grant", bot.address()))
        .header("authorization", format!("Bearer {secret}"))
        .body(json!({"job": job, "fence": fence}).to_string());
    asked.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_for_whoever_has_the_secret_and_the_lease() {
    let github = GitHub::start();
    let (_, pull) = kernels(&github);
    let (mut bot, _, _database) = service(&github).await;
    pull.label("optimize-kernel", "mona");
    github.await_write("creates check run").await;
    let now = 1_000 * std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
    let job = bot.store.lease("gpu-9", &[], now, now + 60_000).await.unwrap().unwrap();
    let (id, fence) = (job.new.id.to_string(), job.lease.unwrap().fence);
    assert_eq!(ask(&bot, SECRET, &id, fence).await, 200);
    assert_eq!(ask(&bot, "guessed", &id, fence).await, 401);
    assert_eq!(ask(&bot, "", &id, fence).await, 401);
    assert_eq!(ask(&bot, SECRET, &id, fence + 1).await, 409);
    assert_eq!(ask(&bot, SECRET, "no-such-job", fence).await, 409);

    pull.comment("mona", "/kernelbrain cancel");
    bot.settled(&github).await;
    assert_eq!(ask(&bot, SECRET, &id, fence).await, 409, "the lease is lost");
    bot.stop().await;
    github.read_all("");
    github.finish();
}
