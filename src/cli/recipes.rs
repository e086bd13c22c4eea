//! `kernelbrain recipes input_kernel.py`: the verbs, places and values that apply.

use std::path::PathBuf;

use super::CommandResult;
use crate::{
    engine::{EngineError, exit, read_source},
    generate::recipe::{Context, DeviceKind, Recipe, listing, render_listing},
    kernel::syntax::Source,
};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The kernel's source file
    source: PathBuf,
    /// Print the source after this recipe instead, for example `tile BLOCK=512; warps 8`
    #[arg(long, value_name = "RECIPE")]
    apply: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "apply")]
    json: bool,
}

pub(super) fn run(options: Options) -> CommandResult {
    let text = read_source(&options.source)?;
    // What a GPU would be offered; nothing is known of the cases here.
    let context = Context::new(DeviceKind::Cuda);
    let usage = |text: String| EngineError::Usage(text);
    if let Some(recipe) = &options.apply {
        let recipe = Recipe::parse(recipe).map_err(|error| usage(error.to_string()))?;
        let edited = recipe.apply(&text, &context).map_err(|error| usage(error.to_string()))?;
        out!("{edited}");
        return Ok(exit::FINISHED);
    }
    let source = Source::parse(text).map_err(|error| usage(error.to_string()))?;
    let listed = listing(&source, &context);
    if options.json {
        let json =
            serde_json::to_string_pretty(&listed).map_err(|error| usage(error.to_string()))?;
        outln!("{json}");
    } else {
        out!("{}", render_listing(&listed));
    }
    Ok(exit::FINISHED)
}
