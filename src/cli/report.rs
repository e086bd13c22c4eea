//! `kernelbrain report RUN`: from what the database holds.

use std::{fmt::Display, path::PathBuf};

use super::{
    CommandResult,
    common::{block_on, terminal_style},
};
use crate::{
    engine::{EngineError, exit, rebuild_report, rewrite_report},
    report,
};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The run, as `kernelbrain runs` lists it
    run: String,
    /// Write the files here instead of the run's own output folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one format and write nothing
    #[arg(long, value_name = "FORMAT")]
    print: Option<Format>,
    /// Database of runs [default: in the user's data folder]
    #[arg(long, value_name = "FILE", env = "KERNELBRAIN_DB")]
    db: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Terminal,
    Markdown,
    Html,
    Json,
    Patch,
}

pub(super) fn run(options: Options) -> CommandResult {
    let (rebuilt, folder) = block_on(rebuild_report(&options.run, options.db))?;
    match options.print {
        Some(Format::Terminal) => {
            out!("{}", report::terminal::render(&rebuilt, terminal_style()));
        }
        Some(Format::Markdown) => out!("{}", rendered(report::markdown::render(&rebuilt))?),
        Some(Format::Html) => out!("{}", rendered(report::html::render(&rebuilt))?),
        Some(Format::Json) => out!("{}", rendered(report::json::render(&rebuilt))?),
        Some(Format::Patch) => {
            let best = rebuilt.best_source.as_ref().unwrap_or(&rebuilt.baseline_source);
            let source = &rebuilt.target.source;
            out!("{}", report::patch::unified(source, &rebuilt.baseline_source, best));
        }
        None => {
            let html = rewrite_report(&rebuilt, &options.out.unwrap_or(folder))?;
            out!("{}", report::terminal::render(&rebuilt, terminal_style()));
            outln!("report: {}", html.display());
        }
    }
    Ok(exit::FINISHED)
}

fn rendered(text: Result<String, impl Display>) -> Result<String, EngineError> {
    text.map_err(|error| {
        EngineError::Environment(format!("the report cannot be rendered: {error}"))
    })
}
