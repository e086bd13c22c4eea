//! The service dies at each change it makes, one after the other: after the deed at GitHub and before the
//! record of it, and again after the record.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use kernelbrain::{
    github::{AppCredentials, GitHub as Client, SystemWallClock},
    search::Stop,
    service::{
        clock::SystemClock,
        config::{Environment, ServerConfig},
        dispatch::Dispatcher,
        intake::Intake,
        runner::{Grants, LocalGrants, Runner, RunnerOptions},
    },
    store::{
        SqliteStore,
        service::{JobState, Receipt, ServiceStore},
    },
};

use crate::{
    bot,
    flaky_store::FlakyStore,
    mock::{APP_KEY, GitHub, PullRequest},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_any_change_of_a_jobs_chain_leaves_one_of_everything() {
    let mut deaths = 0;
    for keeps in [false, true] {
        let mut change = 1;
        while Chain::new(change, keeps).await.runs_to_its_end().await {
            (deaths, change) = (deaths + 1, change + 1);
        }
    }
    // Delivery, check run, eyes, delivered kernel, comment and conclusion at the least, either way.
    assert!(deaths >= 12, "{deaths} deaths");
}

/// One pull request from its label to its result, with one death on the way.
pub(crate) struct Chain {
    pub(crate) github: GitHub,
    pull: PullRequest,
    folder: tempfile::TempDir,
    config: ServerConfig,
    pub(crate) store: Arc<dyn ServiceStore>,
    flaky: Arc<FlakyStore>,
}

/// What a process consists of.
pub(crate) struct Service {
    pub(crate) intake: Intake,
    pub(crate) dispatcher: Dispatcher,
}

impl Chain {
    pub(crate) async fn new(change: i64, keeps: bool) -> Self {
        let github = GitHub::start();
        let (_, pull) = bot::kernels(&github);
        github.take_deliveries();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server.toml");
        std::fs::write(&file, bot::configuration(&github.api(), &github.site(), "")).unwrap();
        let config = ServerConfig::read(Some(&file), &Environment::of([])).unwrap();
        let database = folder.path().join("service.db");
        let store: Arc<dyn ServiceStore> = Arc::new(SqliteStore::open(&database).await.unwrap());
        let flaky = Arc::new(FlakyStore::failing_at(Arc::clone(&store), change, keeps));
        Self { github, pull, folder, config, store, flaky }
    }

    pub(crate) fn client(&self) -> Client {
        let credentials =
            AppCredentials { app_id: crate::mock::APP_ID, private_key: APP_KEY.into() };
        let client = Client::new(&self.github.api(), credentials, Arc::new(SystemWallClock));
        client.unwrap().with_git_base(&self.github.site()).with_write_interval(Duration::ZERO)
    }

    /// A process that knows nothing but what is in the database.
    pub(crate) fn service(&self) -> Service {
        let store: Arc<dyn ServiceStore> = self.flaky.clone();
        let (client, clock) = (self.client(), Arc::new(SystemClock));
        Service {
            intake: Intake::new(
                Arc::clone(&store),
                client.clone(),
                clock.clone(),
                self.config.policy(),
            ),
            dispatcher: Dispatcher::new(store, client, clock, self.config.dispatch()),
        }
    }

    pub(crate) fn runner(&self, grants: Arc<dyn Grants>) -> Runner {
        let options = RunnerOptions {
            name: "gpu-1".to_owned(),
            labels: Vec::new(),
            folder: self.folder.path().join("runner"),
            engine: self.config.engine().unwrap(),
            lease: Duration::from_secs(60),
            heartbeat: Duration::from_millis(20),
            look: Duration::from_millis(10),
            attempts: 5,
            fetch_bytes: 1 << 20,
            checkout_bytes: 1 << 20,
        };
        Runner::new(Arc::clone(&self.store), grants, Arc::new(SystemClock), options)
    }

    /// Somebody puts the label on; its deliveries, kept.
    pub(crate) async fn label(&self) -> Vec<String> {
        self.pull.label("optimize-kernel", "mona");
        let delivered = self.github.take_deliveries().into_iter();
        let receipts: Vec<Receipt> = delivered
            .map(|it| Receipt {
                id: it.guid,
                event: it.event,
                body: it.body.into_bytes(),
                received: 0,
            })
            .collect();
        self.store.receive(&receipts).await.unwrap();
        receipts.into_iter().map(|receipt| receipt.id).collect()
    }

    /// Whether it died on the way; all must be well either way.
    async fn runs_to_its_end(self) -> bool {
        self.label().await;
        let (switch, stop) = Stop::new();
        let runner = self.runner(Arc::new(LocalGrants(self.client())));
        let running = tokio::spawn(async move { runner.run(stop).await });
        let (mut service, begun) = (self.service(), Instant::now());
        while !self.is_over().await {
            let (intake, dispatcher) = (&service.intake, &service.dispatcher);
            if intake.step().await.is_err() || dispatcher.step().await.is_err() {
                service = self.service();
            }
            let page = || self.pull.conversation();
            assert!(begun.elapsed() < Duration::from_secs(60), "not over:\n{}", page());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        switch.stop();
        running.await.unwrap();
        self.one_of_everything();
        self.flaky.has_failed()
    }

    async fn is_over(&self) -> bool {
        let jobs = self.store.jobs_in(&[JobState::Reported], 10).await.unwrap();
        jobs.len() == 1 && self.store.owed().await.unwrap() == 0
    }

    fn one_of_everything(&self) {
        let page = self.pull.conversation();
        assert_eq!(self.pull.bot_comments().len(), 1, "{page}");
        assert_eq!(self.pull.reviews().len(), 1, "{page}");
        let runs = self.github.check_runs();
        let conclusions: Vec<_> = runs.iter().map(|run| run.conclusion.as_deref()).collect();
        assert_eq!(conclusions, [Some("success")], "{page}");
        assert_eq!(self.pull.now().reactions.len(), 1, "{page}");
    }
}
