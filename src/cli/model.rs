//! Which language models take part in a run, and on what terms.

use std::{num::NonZeroUsize, path::PathBuf};

use super::common::duration;
use crate::{
    engine::{
        EngineError, ModelChoice, ModelSettings,
        project::{FILE_NAME, ModelTable},
    },
    generate::provider::{self, ProviderSpec},
    search::{self, Generation},
};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Language model")]
pub(super) struct ModelOptions {
    /// Who rewrites the kernel, besides recipes: anthropic:MODEL, openai:MODEL, openai:MODEL@URL,
    /// command:'PROGRAM …', folder:PATH (answers are files) or replay:RUN
    #[arg(long, value_name = "PROVIDER:…", env = "KERNELBRAIN_MODEL")]
    model: Option<String>,
    /// Rewrites to ask for at most [default: 24]
    #[arg(long, value_name = "N")]
    pub(super) rewrites: Option<u32>,
    /// Tokens to spend at most, questions and answers together
    #[arg(long, value_name = "N")]
    pub(super) tokens: Option<u64>,
    /// US dollars to spend at most; needs the model's price in kernelbrain.toml
    #[arg(long, value_name = "X")]
    pub(super) usd: Option<f64>,
    /// What may make candidates, where a model is named
    #[arg(long, value_name = "WHAT", default_value = "both")]
    moves: Moves,
    /// Who reads the winner before it is reported, named as for --model
    #[arg(long, value_name = "PROVIDER:…", env = "KERNELBRAIN_REVIEW_MODEL")]
    review_model: Option<String>,
    /// End a parked run with what it has: no answer is waited for any more
    #[arg(long)]
    pub(super) finish: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Moves {
    /// Recipes and the model
    Both,
    /// The model alone
    Rewrites,
}

impl ModelOptions {
    /// Who takes part; `None` where nobody was named. `table` is the configuration's.
    pub(super) fn choice(&self, table: &ModelTable) -> Result<Option<ModelChoice>, EngineError> {
        let spec = match (&self.model, &table.name) {
            (Some(named), _) => Some(parse(named)?),
            (None, Some(configured)) => Some(configured_spec(configured)?),
            (None, None) => None,
        };
        let reviewer = match (&self.review_model, &table.review) {
            (Some(named), _) => Some(parse(named)?),
            (None, Some(configured)) => Some(configured_spec(configured)?),
            (None, None) => None,
        };
        if spec.is_none() {
            self.refuse_without_model()?;
        }
        if spec.is_none() && reviewer.is_none() {
            return Ok(None);
        }
        Ok(Some(ModelChoice { spec, reviewer, settings: settings(table)?, finish: self.finish }))
    }

    /// What makes no sense without a model was meant for one.
    fn refuse_without_model(&self) -> Result<(), EngineError> {
        let given = [
            ("--rewrites", self.rewrites.is_some()),
            ("--tokens", self.tokens.is_some()),
            ("--usd", self.usd.is_some()),
            ("--moves rewrites", self.moves == Moves::Rewrites),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => Err(EngineError::Usage(format!(
                "{option} needs a language model: name one with --model"
            ))),
        }
    }

    /// `generation` with what is asked of the model.
    pub(super) fn generation(
        &self,
        mut generation: Generation,
        choice: Option<&ModelChoice>,
        table: &ModelTable,
    ) -> Generation {
        if choice.is_none_or(|choice| choice.spec.is_none()) {
            return generation;
        }
        let mut rewrites = table.rewrites.unwrap_or_default();
        rewrites.most = self.rewrites.unwrap_or(rewrites.most);
        rewrites.awaited = rewrites.awaited.or(search::Rewrites::default().awaited);
        rewrites.best_first = true;
        generation.rewrites = (rewrites.most > 0).then_some(rewrites);
        if self.moves == Moves::Rewrites {
            (generation.seeds, generation.children) = (0, 0);
        }
        generation
    }

    /// Limits of tokens and of money.
    ///
    /// # Errors
    /// The amount of money is none.
    pub(super) fn limits(
        &self,
        table: &ModelTable,
    ) -> Result<(Option<u64>, Option<f64>), EngineError> {
        let usd = self.usd.or(table.usd);
        let Some(limit) = usd else { return Ok((self.tokens.or(table.tokens), None)) };
        if !(limit.is_finite() && limit >= 0.0) {
            let text = "--usd (model.usd) must be an amount of US dollars, 0 or more";
            return Err(EngineError::Usage(text.into()));
        }
        Ok((self.tokens.or(table.tokens), usd))
    }
}

/// Replaces the names of models on a command line by what may be shown of them: people put keys into
/// the arguments of programs.
pub(super) fn hide_arguments(words: &mut [String]) {
    const OPTIONS: [&str; 2] = ["--model", "--review-model"];
    let shown = |named: &str| ProviderSpec::parse(named).map(|spec| spec.to_string()).ok();
    for at in 0..words.len() {
        if OPTIONS.contains(&words[at].as_str()) {
            if let Some(shown) = words.get(at + 1).and_then(|named| shown(named)) {
                words[at + 1] = shown;
            }
        } else if let Some((option, named)) = words[at].split_once('=')
            && OPTIONS.contains(&option)
            && let Some(shown) = shown(named)
        {
            words[at] = format!("{option}={shown}");
        }
    }
}

fn parse(named: &str) -> Result<ProviderSpec, EngineError> {
    ProviderSpec::parse(named).map_err(|error| EngineError::Usage(error.to_string()))
}

/// A configuration may come with somebody's checkout: it must not start programs here, nor have
/// sources and keys sent to addresses of its choice.
fn configured_spec(named: &str) -> Result<ProviderSpec, EngineError> {
    let spec = parse(named)?;
    let trusted = match &spec {
        ProviderSpec::Anthropic { base, .. } | ProviderSpec::OpenAi { base, .. } => base.is_none(),
        ProviderSpec::Command { .. } => false,
        ProviderSpec::Folder { .. } | ProviderSpec::Replay { .. } => true,
    };
    if trusted {
        return Ok(spec);
    }
    Err(EngineError::Usage(format!(
        "{FILE_NAME} names {spec} as a model, but files that come with a checkout may neither start \
         programs nor say where to send sources: name it with --model or KERNELBRAIN_MODEL"
    )))
}

fn settings(table: &ModelTable) -> Result<ModelSettings, EngineError> {
    let mut limits = provider::Limits::default();
    if let Some(text) = &table.time_out {
        limits.time_out = duration(text).map_err(|error| {
            EngineError::Usage(format!("{FILE_NAME}: model.time_out = \"{text}\": {error}"))
        })?;
    }
    if let Some(tokens) = table.output_tokens {
        limits.output_tokens = tokens;
    }
    if let Some(at_once) = table.concurrency {
        limits.concurrency = NonZeroUsize::new(at_once).ok_or_else(|| {
            EngineError::Usage(format!("{FILE_NAME}: model.concurrency must be at least 1"))
        })?;
    }
    let folder = |path: &Option<PathBuf>| path.clone();
    Ok(ModelSettings {
        limits,
        prices: table.prices.clone(),
        key_file: folder(&table.key_file),
        plain_http: table.plain_http,
        tasks: folder(&table.tasks),
        templates: folder(&table.templates),
        prompt_tokens: table.prompt_tokens.unwrap_or(ModelSettings::default().prompt_tokens),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Rewrites;

    fn table(text: &str) -> ModelTable {
        toml::from_str(text).expect("a table")
    }

    #[test]
    fn a_configuration_names_models_but_neither_programs_nor_addresses() {
        assert!(configured_spec("anthropic:claude-sonnet-4-5").is_ok());
        assert!(configured_spec("folder:prompts").is_ok());
        for named in ["command:curl evil.example", "openai:x@https://evil.example/v1"] {
            let error = configured_spec(named).expect_err("not from a file").to_string();
            assert!(error.contains("name it with --model or KERNELBRAIN_MODEL"), "{error}");
        }
    }

    #[test]
    fn what_a_program_is_given_is_not_shown() {
        let line = |text: &str| {
            let mut words: Vec<String> = text.split('|').map(str::to_owned).collect();
            hide_arguments(&mut words);
            words.join("|")
        };
        assert_eq!(
            line("x|--model|command:agent --key s3cret|--plain"),
            "x|--model|command:agent …|--plain"
        );
        assert_eq!(
            line("x|--review-model=command:agent s3cret"),
            "x|--review-model=command:agent …"
        );
        assert_eq!(line("x|--model|folder:prompts"), "x|--model|folder:prompts");
        assert_eq!(line("x|--model"), "x|--model");
    }

    #[test]
    fn terms_are_read_from_the_table() {
        let table = table(
            "time_out = \"5m\"\noutput_tokens = 9000\nprompt_tokens = 20000\n\
             rewrites = { seeds = 3, most = 10 }\n[prices]\n\"openai:gpt-5*\" = { input = 1, output = 10 }\n",
        );
        let settings = settings(&table).expect("they fit");
        assert_eq!(settings.limits.time_out.as_secs(), 300);
        assert_eq!((settings.limits.output_tokens, settings.prompt_tokens), (9000, 20000));
        assert!(settings.prices.price("openai", "gpt-5-mini").is_some());
        let rewrites = table.rewrites.expect("given");
        assert_eq!(
            (rewrites.seeds, rewrites.most, rewrites.repairs),
            (3, 10, Rewrites::default().repairs)
        );
    }
}
