//! One request from its first question to a candidate, or to the reason why there is none: asks,
//! reads the answer, sends what cannot be read back.

use std::{borrow::Cow, sync::Arc};

use super::{
    exchange::{Exchange, Rewritten},
    purse::Purse,
    tariff::Tariff,
};
use crate::{
    generate::{
        answer::{self, AnswerTarget},
        conversation::{Conversation, Role, Usage},
        prompt::{Failure, Prompter},
        provider::{Fault, Provider, ProviderError, Reply},
        recipe::Context,
    },
    kernel::{CandidateId, Move},
    search::ports::Proposal,
    store::ExchangeStore,
};

/// Everything that the requests of a run share.
pub(super) struct House {
    /// `None` where all answers come from a recording.
    pub(super) provider: Option<Box<dyn Provider>>,
    pub(super) prompter: Prompter,
    pub(super) store: Arc<dyn ExchangeStore>,
    pub(super) run: String,
    pub(super) purse: Purse,
    pub(super) tariff: Tariff,
    /// Answers that are there are taken, and nothing more is asked.
    pub(super) finishing: bool,
    /// How often one rewrite is sent back at most.
    pub(super) repairs: u32,
    /// Name of the file that is rewritten.
    pub(super) file: String,
    pub(super) context: Context,
}

/// What an answer is read against.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// What edit blocks and recipes of the answer apply to.
    pub(super) source: Arc<str>,
    pub(super) exemplar: Option<String>,
}

/// Where a request stands after it was asked.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Its exchange has a result.
    Over(Exchange),
    /// Somebody outside answers later.
    Awaited(Exchange),
}

impl House {
    /// Asks until there is a result, or somebody outside has to answer.
    pub(super) async fn interview(&self, mut exchange: Exchange, subject: &Subject) -> Step {
        if let Some(result) = exchange.said.result.take() {
            return self.end(exchange, result).await;
        }
        loop {
            if let Err(reason) = self.keep(&exchange).await {
                return self.end(exchange, Err(reason)).await;
            }
            let Some(provider) = &self.provider else {
                return self.end(exchange, Err("there is nobody to ask".to_owned())).await;
            };
            let reply = provider.ask(&exchange.said.conversation).await;
            let answer = match reply {
                Ok(Reply::Awaited) if self.finishing => {
                    let reason = "there was no answer when the run was to end".to_owned();
                    return self.end(exchange, Err(reason)).await;
                }
                Ok(Reply::Awaited) => return Step::Awaited(exchange),
                Ok(Reply::Answer(answer)) => answer,
                Err(error) => {
                    let usage = error.usage.or_else(|| self.perhaps_paid(&exchange, &error));
                    self.pay(&mut exchange, usage.as_ref());
                    let trouble = error.to_string();
                    exchange.said.trouble = Some(trouble.clone());
                    return self.end(exchange, Err(trouble)).await;
                }
            };
            self.pay(&mut exchange, Some(&answer.usage));
            exchange.said.answer = Some(answer.text.clone());
            let target = AnswerTarget {
                source: &subject.source,
                file: &self.file,
                context: &self.context,
                exemplar: subject.exemplar.as_deref(),
            };
            let said = without_echo(&answer.text, &exchange.said.conversation);
            let error = match answer::parse(&said, &target) {
                Ok(rewrite) => {
                    let rewritten = Rewritten {
                        candidate: CandidateId::of(&rewrite.source),
                        source: rewrite.source,
                        form: rewrite.form,
                        prediction: rewrite.prediction,
                        notes: rewrite.notes,
                    };
                    return self.end(exchange, Ok(rewritten)).await;
                }
                Err(error) => error,
            };
            if let Err(reason) = self.send_back(&mut exchange, &answer.text, &error) {
                return self.end(exchange, Err(reason)).await;
            }
        }
    }

    /// Makes the next question of an answer that could not be read; why not, where that is over.
    fn send_back(
        &self,
        exchange: &mut Exchange,
        answer: &str,
        error: &answer::AnswerError,
    ) -> Result<(), String> {
        let said = &mut exchange.said;
        if self.finishing {
            return Err(error.to_string());
        }
        if said.repairs >= self.repairs {
            return Err(format!("sent back {} times; last: {error}", said.repairs));
        }
        let before = said.conversation.messages.iter().rev().find(|it| it.role == Role::Assistant);
        if before.is_some_and(|before| before.text.trim() == answer.trim()) {
            return Err(format!("the same answer again; {error}"));
        }
        let next = self
            .prompter
            .repair(&said.conversation, answer, Failure::Answer(error))
            .map_err(|error| error.to_string())?;
        let estimate = self.tariff.forecast(&next);
        self.purse.take(&estimate).map_err(|reason| format!("{error} {reason}"))?;
        said.conversation = next;
        said.answer = None;
        said.repairs += 1;
        Ok(())
    }

    async fn end(&self, mut exchange: Exchange, result: Result<Rewritten, String>) -> Step {
        exchange.said.result = Some(result);
        // A result that cannot be kept is still one; the journal has what is decided by it.
        if let Err(error) = self.keep(&exchange).await {
            tracing::warn!(error, "an exchange was not kept");
        }
        Step::Over(exchange)
    }

    async fn keep(&self, exchange: &Exchange) -> Result<(), String> {
        let kept = exchange.kept().map_err(|error| error.to_string())?;
        self.store.keep_exchange(&self.run, &kept).await.map_err(|error| error.to_string())
    }

    /// What a question may have cost that was asked and came to nothing: at least its prompt, and the
    /// whole answer where that was cut off by the clock.
    fn perhaps_paid(&self, exchange: &Exchange, error: &ProviderError) -> Option<Usage> {
        let conversation = &exchange.said.conversation;
        match &error.fault {
            Fault::TimedOut { .. } => Some(self.tariff.most(conversation)),
            Fault::TooLong { .. } | Fault::Garbage { .. } | Fault::NotUtf8 { .. } => {
                Some(Usage { output: 0, ..self.tariff.most(conversation) })
            }
            _ => None,
        }
    }

    /// Puts what the last question did cost in the place of what it could have.
    fn pay(&self, exchange: &mut Exchange, usage: Option<&Usage>) {
        let estimate = self.tariff.forecast(&exchange.said.conversation);
        let actual = usage.map(|usage| self.tariff.spend(usage)).unwrap_or_default();
        self.purse.settle(&estimate, &actual);
        exchange.said.spent.tokens += actual.tokens;
        exchange.said.spent.usd += actual.usd;
    }
}

/// An answer without the question, which some programs repeat before they answer: what stands in the
/// question as an example is no answer.
fn without_echo<'a>(answer: &'a str, conversation: &Conversation) -> Cow<'a, str> {
    let whole = conversation.to_markdown();
    let asked = conversation.messages.iter().filter(|message| message.role == Role::User);
    let mut parts = vec![whole.trim(), conversation.system.trim()];
    parts.extend(asked.map(|message| message.text.trim()));
    let mut said = Cow::Borrowed(answer);
    for question in parts {
        if !question.is_empty() && said.contains(question) {
            said = Cow::Owned(said.replace(question, ""));
        }
    }
    said
}

/// What is to be proposed to the search.
pub(super) fn proposed(parent: &CandidateId, exchange: &Exchange) -> Proposal {
    Proposal {
        parent: parent.clone(),
        origin: Move::Rewrite { task: exchange.said.task.clone(), repairs: exchange.said.repairs },
        source: match &exchange.said.result {
            Some(Ok(rewritten)) => Ok(rewritten.source.clone()),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err("no answer".to_owned()),
        },
    }
}
