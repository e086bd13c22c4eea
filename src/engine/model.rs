//! The language model that a person chooses for a run, and the one that reads its winner.

use std::{path::PathBuf, sync::Arc};

use super::{
    error::EngineError,
    generation::{Recording, exchanges},
};
use crate::{
    generate::provider::{self, Provider, ProviderSpec, Setup, price::PriceTable},
    store::{RunStore, SqliteStore},
};

/// Who is asked, and on what terms.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    /// Who makes rewrites; nobody, where there is only a reviewer.
    pub spec: Option<ProviderSpec>,
    /// Who reads the winner.
    pub reviewer: Option<ProviderSpec>,
    pub settings: ModelSettings,
}

/// The terms.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    pub limits: provider::Limits,
    pub prices: PriceTable,
    /// A file with the key, where the environment has none.
    pub key_file: Option<PathBuf>,
    /// Whether source and key may go to other machines over `http://`.
    pub plain_http: bool,
    /// A folder of expert tasks besides those that come with the program.
    pub tasks: Option<PathBuf>,
    /// A folder of templates in the place of those that come with the program.
    pub templates: Option<PathBuf>,
    /// Tokens that a prompt may have, estimated.
    pub prompt_tokens: usize,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            limits: provider::Limits::default(),
            prices: PriceTable::default(),
            key_file: None,
            plain_http: false,
            tasks: None,
            templates: None,
            prompt_tokens: 32_000,
        }
    }
}

/// Where answers come from.
pub(super) enum Answerer {
    Provider(Box<dyn Provider>),
    Recording(Recording),
}

impl ModelChoice {
    /// Whether what the models cost can be counted in money.
    ///
    /// # Errors
    /// There is no price for one of them.
    pub fn price_is_known(&self) -> Result<(), EngineError> {
        for spec in self.spec.iter().chain(&self.reviewer) {
            let (provider, model) = match spec {
                ProviderSpec::Replay { .. } => continue,
                ProviderSpec::Anthropic { model, .. } => ("anthropic", model.clone()),
                ProviderSpec::OpenAi { model, .. } => ("openai", model.clone()),
                ProviderSpec::Command { program, .. } => ("command", program.clone()),
                ProviderSpec::Folder { path } => ("folder", path.display().to_string()),
            };
            if self.settings.prices.price(provider, &model).is_none() {
                return Err(EngineError::Usage(format!(
                    "a limit of money cannot be kept without a price for {spec}: add                      \"{provider}:{model}\" = {{ input = …, output = … }} (US dollars for a million                      tokens) under [model.prices] in kernelbrain.toml"
                )));
            }
        }
        Ok(())
    }

    /// Who answers. `replay:` with the name of a run takes that run's answers.
    pub(super) async fn answerer(
        &self,
        store: &SqliteStore,
    ) -> Result<Option<Answerer>, EngineError> {
        let Some(spec) = &self.spec else { return Ok(None) };
        if let ProviderSpec::Replay { path } = spec
            && let (false, Some(run)) = (path.is_file(), path.to_str())
        {
            let (record, _) = store.load(run).await?;
            let exchanges = exchanges(store, &record.id).await?;
            if exchanges.is_empty() {
                return Err(EngineError::Usage(format!(
                    "run {run} asked no language model: there is nothing to replay"
                )));
            }
            return Ok(Some(Answerer::Recording(Recording::new(record.id, exchanges))));
        }
        self.open(spec).map(|provider| Some(Answerer::Provider(provider)))
    }

    /// What a person does about a run that is parked.
    pub(super) fn how_to_answer(&self) -> String {
        match &self.spec {
            Some(ProviderSpec::Folder { path }) => format!(
                "parked: answer each ID.prompt.md in {} by a file ID.answer.md beside it, then give \
                 the same command again",
                path.display()
            ),
            _ => "parked: give the same command again when there are answers".to_owned(),
        }
    }

    /// Who reads the winner.
    pub(super) fn open_reviewer(&self) -> Result<Option<Arc<dyn Provider>>, EngineError> {
        self.reviewer.as_ref().map(|spec| self.open(spec).map(Arc::from)).transpose()
    }

    fn open(&self, spec: &ProviderSpec) -> Result<Box<dyn Provider>, EngineError> {
        let settings = &self.settings;
        let setup = Setup {
            limits: &settings.limits,
            key_file: settings.key_file.as_deref(),
            plain_http: settings.plain_http,
            environment: &|name| std::env::var(name).ok(),
        };
        spec.open(&setup).map_err(|error| EngineError::Usage(error.to_string()))
    }
}
