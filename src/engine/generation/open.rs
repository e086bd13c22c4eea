//! From a choice of model to a generator for one run.

use std::sync::Arc;

use super::{
    Exchange,
    briefing::Briefing,
    interview::House,
    model::{ModelGenerator, Parts},
    purse::Purse,
    tariff::Tariff,
};
use crate::{
    engine::{
        error::EngineError,
        model::{Answerer, ModelChoice},
    },
    evaluate::Plane,
    generate::{
        prompt::Prompter,
        recipe::Context,
        task::{Experience, Library},
    },
    kernel::{Bound, Target},
    search::State,
    store::{ExchangeStore, SqliteStore},
};

/// What a run has for its model.
pub(in crate::engine) struct ModelRoom<'r> {
    pub(in crate::engine) run: &'r str,
    pub(in crate::engine) store: &'r SqliteStore,
    pub(in crate::engine) plane: &'r Plane,
    pub(in crate::engine) target: &'r Target,
    pub(in crate::engine) context: &'r Context,
    pub(in crate::engine) bounds: &'r [Option<Bound>],
    /// From other runs, and the fingerprint of the operator by which it is found.
    pub(in crate::engine) experience: &'r Experience,
    pub(in crate::engine) operator: &'r str,
    pub(in crate::engine) seed: u64,
    pub(in crate::engine) state: &'r State,
}

/// The generator of rewrites for a run, which goes on from what was said in it so far.
pub(in crate::engine) async fn open_model(
    choice: &ModelChoice,
    answerer: Answerer,
    room: ModelRoom<'_>,
) -> Result<ModelGenerator, EngineError> {
    let settings = &choice.settings;
    let plan = room.state.plan();
    let (provider, price, recording) = match answerer {
        Answerer::Provider(provider, price) => (Some(provider), price, None),
        Answerer::Recording(recording) => (None, None, Some(recording)),
    };
    let briefing = Briefing::new(room.plane, room.target, room.context.clone(), room.bounds)
        .with_experience(room.experience, room.operator);
    let prompter = match &settings.templates {
        Some(folder) => Prompter::with_folder(folder),
        None => Prompter::new(),
    };
    let mut library = Library::embedded().map_err(|error| EngineError::Usage(error.to_string()))?;
    if let Some(folder) = &settings.tasks {
        library.add_folder(folder).map_err(|error| EngineError::Usage(error.to_string()))?;
    }
    let house = House {
        provider,
        prompter: prompter.map_err(|error| EngineError::Usage(error.to_string()))?,
        store: Arc::new(room.store.clone()),
        run: room.run.to_owned(),
        purse: Purse::new(plan.limits, room.state.spend()),
        tariff: Tariff::new(price, settings.limits.clone()),
        finishing: choice.finish,
        repairs: plan.generation.rewrites.map_or(0, |rewrites| rewrites.repairs),
        file: briefing.file().to_owned(),
        context: room.context.clone(),
    };
    let earlier = exchanges(room.store, room.run).await?;
    let parts = Parts {
        briefing,
        library,
        experience: room.experience.clone(),
        operator: room.operator.to_owned(),
        seed: room.seed,
        prompt_tokens: settings.prompt_tokens,
        recording,
    };
    let mut generator = ModelGenerator::new(parts, Arc::new(house), earlier);
    if let Some(evaluation) = room.state.baseline_evaluation() {
        generator.know_baseline(room.state.baseline(), evaluation);
    }
    Ok(generator)
}

/// What was said in a run, in order.
pub(in crate::engine) async fn exchanges(
    store: &dyn ExchangeStore,
    run: &str,
) -> Result<Vec<Exchange>, EngineError> {
    let kept = store.exchanges(run).await?;
    let read = kept.into_iter().map(Exchange::read).collect::<Result<_, _>>();
    read.map_err(|error| {
        EngineError::Environment(format!("what was said in run {run} cannot be read: {error}"))
    })
}
