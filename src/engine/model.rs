//! The language model that a person chooses for a run, and the one that reads its winner.

use std::{path::PathBuf, sync::Arc};

use super::{
    error::EngineError,
    generation::{Recording, exchanges},
};
use crate::{
    generate::provider::{
        self, Provider, ProviderSpec, Setup,
        price::{Price, PriceTable},
    },
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
    /// Ask nobody for rewrites any more, and end the run with what it has; answers that lie in a folder are
    /// what it has.
    pub finish: bool,
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

/// Somebody who answers, and what that costs.
pub(super) type Priced<P> = (P, Option<Price>);

/// Where answers come from.
pub(super) enum Answerer {
    /// And what it takes.
    Provider(Box<dyn Provider>, Option<Price>),
    Recording(Recording),
}

impl ModelChoice {
    /// The price of a model.
    ///
    /// # Errors
    /// There is none, and a limit of money asks for one.
    fn price(&self, provider: &dyn Provider, limited: bool) -> Result<Option<Price>, EngineError> {
        let (name, model) = (provider.name(), provider.model());
        let price = self.settings.prices.price(name, model).copied();
        if price.is_none() && limited && name != "replay" {
            return Err(EngineError::Usage(format!(
                "a limit of money cannot be kept without a price: add \"{name}:{model}\" = \
                 {{ input = …, output = … }} (US dollars for a million tokens) under \
                 [model.prices] in kernelbrain.toml"
            )));
        }
        Ok(price)
    }

    /// Who answers. `replay:` with the name of a run takes that run's answers.
    pub(super) async fn answerer(
        &self,
        store: &SqliteStore,
        limited: bool,
    ) -> Result<Option<Answerer>, EngineError> {
        let answers_wait = |spec: &&ProviderSpec| matches!(spec, ProviderSpec::Folder { .. });
        let spec = self.spec.as_ref().filter(|spec| !self.finish || answers_wait(spec));
        let Some(spec) = spec else { return Ok(None) };
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
        let provider = self.open(spec)?;
        let price = self.price(&*provider, limited)?;
        Ok(Some(Answerer::Provider(provider, price)))
    }

    /// What a person does about a run that is parked.
    pub(super) fn how_to_answer(&self) -> String {
        let then = "give the same command again (with --finish to go on without answers)";
        match &self.spec {
            Some(ProviderSpec::Folder { path }) => format!(
                "parked: answer each ID.prompt.md in {} by a file ID.answer.md beside it, then \
                 {then}",
                path.display()
            ),
            _ => format!("parked: when there are answers, {then}"),
        }
    }

    /// Who reads the winner.
    pub(super) fn open_reviewer(
        &self,
        limited: bool,
    ) -> Result<Option<Priced<Arc<dyn Provider>>>, EngineError> {
        let Some(spec) = &self.reviewer else { return Ok(None) };
        let provider = self.open(spec)?;
        let price = self.price(&*provider, limited)?;
        Ok(Some((Arc::from(provider), price)))
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
