//! `kernelbrain serve` and `kernelbrain runner`: the GitHub App.

use std::path::PathBuf;

use metrics_exporter_prometheus::PrometheusBuilder;

use super::{CommandResult, common::block_on, stopping};
use crate::{
    engine::EngineError,
    search::Stop,
    service::{
        config::{Environment, ServerConfig},
        open::{self, OpenError},
    },
};

#[derive(Debug, clap::Args)]
pub(super) struct ServeOptions {
    /// The configuration [default: the environment alone]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where jobs are worked off: in this process, or by `kernelbrain runner` elsewhere
    #[arg(long, value_enum, default_value_t = RunnerPlace::Local, value_name = "WHERE")]
    runner: RunnerPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RunnerPlace {
    Local,
    None,
}

#[derive(Debug, clap::Args)]
pub(super) struct RunnerOptions {
    /// The configuration [default: the environment alone]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) fn serve(options: ServeOptions) -> CommandResult {
    let environment = Environment::of_process();
    let config = ServerConfig::read(options.config.as_deref(), &environment).map_err(usage)?;
    let metrics = PrometheusBuilder::new().install_recorder();
    let metrics = metrics.map_err(|error| EngineError::Environment(error.to_string()))?;
    block_on(async {
        let (switch, stop) = Stop::new();
        stopping::on_signal(switch);
        let local = options.runner == RunnerPlace::Local;
        let serving = open::serve(&config, &environment, local, Some(metrics), stop).await;
        let serving = serving.map_err(refused)?;
        outln!("listening on http://{}", serving.address);
        serving.end().await.map_err(refused)
    })?;
    Ok(0)
}

pub(super) fn runner(options: RunnerOptions) -> CommandResult {
    let environment = Environment::of_process();
    let config = ServerConfig::read(options.config.as_deref(), &environment).map_err(usage)?;
    block_on(async {
        let (switch, stop) = Stop::new();
        stopping::on_signal(switch);
        open::run_runner(&config, &environment, stop).await.map_err(refused)
    })?;
    Ok(0)
}

fn usage(error: impl std::fmt::Display) -> EngineError {
    EngineError::Usage(error.to_string())
}

fn refused(error: OpenError) -> EngineError {
    match error {
        OpenError::Config(_) | OpenError::NeedsPostgres | OpenError::NeedsService => usage(error),
        other => EngineError::Environment(other.to_string()),
    }
}
