//! From a configuration to a running service or runner.

use std::{net::SocketAddr, os::fd::AsFd, sync::Arc, time::Duration};

use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::{ExposeSecret, SecretString};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

use super::{
    clock::{Clock, SystemClock},
    config::{ConfigError, Database, Environment, ServerConfig},
    dispatch::Dispatcher,
    intake::Intake,
    runner::{GrantError, Grants, LocalGrants, RemoteGrants, Runner, RunnerOptions},
    server::{Backstage, BackstageOptions, ServiceState, router, spawn_receiver},
    upkeep::Upkeep,
};
use crate::{
    github::{AppCredentials, GitHub, GitHubError, SystemWallClock},
    search::Stop,
    store::{PostgresStore, SqliteOptions, SqliteStore, StoreError, service::ServiceStore},
};

/// How long what is under way has to end when the service stops.
const GRACE: Duration = Duration::from_secs(10);

/// Why a service does not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    GitHub(#[from] GitHubError),
    #[error(transparent)]
    Grant(#[from] GrantError),
    #[error("cannot listen on {address}: {source}; choose another with [server] listen")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("the server stopped: {0}")]
    Serve(std::io::Error),
    #[error(
        "a runner apart from the service shares a Postgres database with it: give its address as \
         [server] database or DATABASE_URL"
    )]
    NeedsPostgres,
    #[error(
        "a runner needs the service's address ([runner] service or KERNELBRAIN_SERVICE) and secret \
         (KERNELBRAIN_RUNNER_SECRET)"
    )]
    NeedsService,
}

/// A service that listens.
#[derive(Debug)]
pub struct Serving {
    pub address: SocketAddr,
    server: JoinHandle<std::io::Result<()>>,
}

impl Serving {
    /// Ends when the service was told to stop and has.
    pub async fn end(self) -> Result<(), OpenError> {
        match self.server.await {
            Ok(Ok(())) | Err(_) => Ok(()),
            Ok(Err(error)) => Err(OpenError::Serve(error)),
        }
    }
}

/// Starts the service, with a runner inside where `with_runner` says so.
pub async fn serve(
    config: &ServerConfig,
    environment: &Environment,
    with_runner: bool,
    metrics: Option<PrometheusHandle>,
    stop: Stop,
) -> Result<Serving, OpenError> {
    // Whatever is missing is said before anything is opened.
    let secrets = config.webhook_secrets(environment)?;
    let runner_secret = config.runner_secret(environment)?;
    let github = github(config, environment)?;
    if with_runner {
        config.check_that_secrets_are_out_of_reach()?;
    } else if !matches!(config.database(), Database::Postgres(_)) {
        tracing::warn!("no runner can join this service: that takes a Postgres database");
    }
    let runner_options = with_runner.then(|| runner_options(config)).transpose()?;
    let store = open_store(config).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let arrivals = Arc::new(Notify::new());
    let bell = Arc::new(Notify::new());
    let grants: Arc<dyn Grants> = Arc::new(LocalGrants(github.clone()));

    let address = config.server.listen;
    let listen = |source| OpenError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    // Nobody else has the address, and with it the name of this service, until the work is over.
    let held = listener.as_fd().try_clone_to_owned().map_err(listen)?;

    let state = Arc::new(ServiceState {
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        secrets,
        receiver: spawn_receiver(Arc::clone(&store), Arc::clone(&arrivals)),
        bell: Arc::clone(&bell),
        grants: Arc::clone(&grants),
        runner_secret,
        metrics,
    });
    let policy = config.policy();
    let backstage = Backstage {
        intake: Intake::new(Arc::clone(&store), github.clone(), Arc::clone(&clock), policy.clone()),
        dispatcher: Dispatcher::new(
            Arc::clone(&store),
            github.clone(),
            Arc::clone(&clock),
            config.dispatch(),
        ),
        upkeep: Upkeep::new(Arc::clone(&store), Arc::clone(&clock), policy),
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        github,
        arrivals,
        bell,
        options: BackstageOptions {
            owner: place_of(address),
            look_every: config.server.look_every,
            recover_every: config.server.recover_every,
            remember: config.server.remember,
        },
    };
    let mut workers = vec![tokio::spawn(backstage.run(stop.clone()))];
    if let Some(options) = runner_options {
        let runner = Runner::new(store, grants, clock, options);
        let stop = stop.clone();
        workers.push(tokio::spawn(async move { runner.run(stop).await }));
    }
    let mut asked = stop;
    let kept = Arc::clone(&state.store);
    let server = tokio::spawn(async move {
        let stopped = async move { asked.wait().await };
        let served = axum::serve(listener, router(state)).with_graceful_shutdown(stopped).await;
        let all = async {
            for worker in workers {
                worker.await.ok();
            }
        };
        if tokio::time::timeout(GRACE, all).await.is_ok() {
            kept.close().await;
        }
        drop(held);
        served
    });
    Ok(Serving { address, server })
}

/// Works off jobs of a service on another host, until told to stop.
pub async fn run_runner(
    config: &ServerConfig,
    environment: &Environment,
    stop: Stop,
) -> Result<(), OpenError> {
    let Database::Postgres(_) = config.database() else { return Err(OpenError::NeedsPostgres) };
    let secret = config.runner_secret(environment)?;
    let (Some(service), Some(secret)) = (&config.runner.service, secret) else {
        return Err(OpenError::NeedsService);
    };
    let grants: Arc<dyn Grants> = Arc::new(RemoteGrants::new(service, secret)?);
    let options = runner_options(config)?;
    let store = open_store(config).await?;
    Runner::new(Arc::clone(&store), grants, Arc::new(SystemClock), options).run(stop).await;
    store.close().await;
    Ok(())
}

async fn open_store(config: &ServerConfig) -> Result<Arc<dyn ServiceStore>, StoreError> {
    Ok(match config.database() {
        Database::Sqlite(path) => {
            // A delivery that was answered with 202 survives the loss of power.
            let options = SqliteOptions::service();
            Arc::new(SqliteStore::open_with(&path, options).await?)
        }
        Database::Postgres(url) => Arc::new(PostgresStore::connect(url.expose_secret()).await?),
    })
}

fn github(config: &ServerConfig, environment: &Environment) -> Result<GitHub, OpenError> {
    let private_key: SecretString = config.private_key(environment)?;
    let credentials = AppCredentials { app_id: config.app_id()?, private_key };
    let github = GitHub::new(&config.github.api, credentials, Arc::new(SystemWallClock))?;
    let github = github.with_write_interval(config.server.write_interval);
    let github = if config.policy.branches { github } else { github.without_pushing() };
    Ok(match &config.github.git {
        Some(base) => github.with_git_base(base),
        None => github,
    })
}

fn runner_options(config: &ServerConfig) -> Result<RunnerOptions, ConfigError> {
    let runner = &config.runner;
    Ok(RunnerOptions {
        name: runner.name.clone().unwrap_or_else(host_name),
        labels: runner.labels.clone(),
        folder: config.runner_folder()?,
        engine: config.engine()?,
        lease: runner.lease,
        heartbeat: runner.heartbeat,
        attempts: config.policy.attempts,
        look: config.server.look_every,
        fetch_bytes: runner.fetch_bytes,
        checkout_bytes: runner.checkout_bytes,
    })
}

/// What no two services that live at the same time have in common: of a host's network, one has the
/// address. So a service that was killed is followed by the one that is started in its place at once, and
/// not when the dead one's right runs out.
fn place_of(address: SocketAddr) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let boot = read("/proc/sys/kernel/random/boot_id");
    let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {} {} {address}", host_name(), boot.trim(), network.display())
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
