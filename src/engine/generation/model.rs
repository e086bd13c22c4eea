//! A language model behind the search's port for generation: each request is an exchange of its
//! own, in a task of its own, so that the model works while the GPU measures.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::{
    briefing::Briefing,
    exchange::{Exchange, Said},
    interview::{House, Step, Subject, proposed},
    replay::Recording,
};
use crate::{
    generate::{
        answer::{Judgement, Prediction},
        prompt::Failure,
        provider::price::{estimate_prompt, estimate_tokens},
        task::{self, Experience, Library, Selector},
    },
    kernel::{
        Candidate, CandidateId, Evaluation, Profile, Profiling, Rejection, RequestKind, Spend,
    },
    search::ports::{Answer, Attempt, Request, Ticket},
    store::ExchangeKey,
};

/// How often it is looked whether somebody outside has answered.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Tokens of a prompt besides source and contract, estimated, before it is made.
const REST_OF_PROMPT: u64 = 8_000;
/// Tokens that a rejection adds to its conversation.
const REST_OF_REPAIR: u64 = 2_000;

/// What a [`ModelGenerator`] is made of.
pub(super) struct Parts {
    pub(super) briefing: Briefing,
    pub(super) library: Library,
    /// From other runs, on kernels of this kind.
    pub(super) experience: Experience,
    /// Fingerprint of the operator, by which experience is found.
    pub(super) operator: String,
    pub(super) seed: u64,
    /// Tokens that a prompt may have.
    pub(super) prompt_tokens: usize,
    /// Answers come from here where there is one, and the provider is not asked.
    pub(super) recording: Option<Recording>,
}

/// Makes rewrites.
pub(in crate::engine) struct ModelGenerator {
    parts: Parts,
    house: Arc<House>,
    selector: Selector,
    /// All of this run so far.
    exchanges: HashMap<ExchangeKey, Exchange>,
    /// Which exchange a candidate came of.
    origins: HashMap<CandidateId, ExchangeKey>,
    /// What was seen of the baseline and of parents.
    profiles: HashMap<CandidateId, Profile>,
    questions: HashMap<Ticket, Question>,
    /// Ended when this is dropped.
    tasks: JoinSet<()>,
    warnings: Vec<String>,
}

/// A request that is not answered.
struct Question {
    /// Identity of what was asked, and the task in words, for people.
    about: String,
    /// What a candidate is a change of; of a repair the parent of what was rejected.
    parent: CandidateId,
    subject: Subject,
    state: Arc<Mutex<Option<Step>>>,
    asked: Instant,
    /// Somebody outside has to answer it.
    awaited: bool,
}

impl Question {
    fn state(&self) -> MutexGuard<'_, Option<Step>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelGenerator {
    /// `earlier` are the exchanges of this run so far, in order.
    pub(super) fn new(parts: Parts, house: Arc<House>, earlier: Vec<Exchange>) -> Self {
        let mut generator = Self {
            selector: Selector::new(parts.seed),
            parts,
            house,
            exchanges: HashMap::new(),
            origins: HashMap::new(),
            profiles: HashMap::new(),
            questions: HashMap::new(),
            tasks: JoinSet::new(),
            warnings: Vec::new(),
        };
        for exchange in earlier {
            if matches!(exchange.key.kind, RequestKind::Rewrite(_)) {
                generator.count(&exchange);
            }
            generator.remember(exchange);
        }
        generator
    }

    pub(super) fn know_baseline(&mut self, baseline: &Candidate, evaluation: &Evaluation) {
        self.parts.briefing.know_baseline(evaluation);
        self.note_profile(&baseline.id, evaluation);
    }

    /// Counts the task of an exchange of an earlier session.
    fn count(&mut self, exchange: &Exchange) {
        let name = &exchange.said.task;
        // A task that a maintainer has taken away since does not come up again.
        if let Some(task) = self.parts.library.get(name) {
            let parent = exchange.key.parent.clone();
            self.selector.remember(task::Attempt { task: name.clone(), axis: task.axis, parent });
        }
    }

    fn remember(&mut self, exchange: Exchange) {
        if let Some(rewritten) = exchange.rewritten() {
            self.origins.insert(rewritten.candidate.clone(), exchange.key.clone());
        }
        self.exchanges.insert(exchange.key.clone(), exchange);
    }

    fn note_profile(&mut self, candidate: &CandidateId, evaluation: &Evaluation) {
        if let Some(profile) = evaluation.profiling.as_ref().and_then(Profiling::profile) {
            self.profiles.insert(candidate.clone(), profile.clone());
        }
    }

    /// The questions that somebody outside has to answer.
    pub(super) fn awaiting(&self) -> Vec<String> {
        let awaited = self.questions.iter().filter(|(_, question)| question.awaited);
        let mut awaited: Vec<_> = awaited.map(|(ticket, it)| (*ticket, it.about.clone())).collect();
        awaited.sort_unstable();
        awaited.into_iter().map(|(_, about)| about).collect()
    }

    /// What is to be told besides candidates.
    pub(super) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Most that a request can cost with its first question.
    pub(super) fn estimate(&self, request: &Request) -> Spend {
        let Some(key) = key(request) else { return Spend::default() };
        if let Some(known) = self.exchanges.get(&key) {
            return self.house.tariff.forecast(&known.said.conversation);
        }
        let input = match request {
            Request::Repair { rejected, .. } => {
                let before = self.origins.get(&rejected.id).and_then(|key| self.exchanges.get(key));
                let said = before.map_or(0, |it| {
                    let answer = it.said.answer.as_deref().unwrap_or_default();
                    estimate_prompt(&it.said.conversation) + estimate_tokens(answer)
                });
                said + REST_OF_REPAIR
            }
            Request::Rewrite { parent, .. } => {
                let told = estimate_tokens(&parent.source) + self.parts.briefing.reference_tokens();
                (told + REST_OF_PROMPT).min(self.parts.prompt_tokens as u64)
            }
            Request::Seeds { .. } | Request::Children { .. } => return Spend::default(),
        };
        self.house.tariff.forecast_of(input)
    }

    pub(super) fn submit(&mut self, ticket: Ticket, request: Request) {
        let Some(key) = key(&request) else { return };
        let (parent, source) = match &request {
            Request::Rewrite { parent, evaluation, .. } => {
                if parent.parent.is_none() {
                    self.know_baseline(parent, evaluation);
                } else {
                    self.note_profile(&parent.id, evaluation);
                }
                (parent.id.clone(), Arc::clone(&parent.source))
            }
            Request::Repair { rejected, .. } => {
                let parent = rejected.parent.as_ref().unwrap_or(&rejected.id).clone();
                (parent, Arc::clone(&rejected.source))
            }
            Request::Seeds { .. } | Request::Children { .. } => return,
        };
        let exchange = match self.exchanges.get(&key) {
            // Of an earlier session: the same question again, or its result.
            Some(known) => known.clone(),
            None => {
                let exchange = self.begin(key, request);
                if exchange.said.result.is_none() {
                    let question = &exchange.said.conversation;
                    self.house.purse.hold(&self.house.tariff.forecast(question));
                }
                exchange
            }
        };
        let exemplar = self.parts.library.get(&exchange.said.task).map(|it| it.exemplar.clone());
        let about = self.about(&exchange);
        let subject = Subject { source, exemplar };
        let state = Arc::new(Mutex::new(None));
        let question =
            Question { about, parent, subject, state, asked: Instant::now(), awaited: false };
        self.ask(exchange, &question);
        self.questions.insert(ticket, question);
    }

    /// What was asked last, for people: its identity and the task.
    fn about(&self, exchange: &Exchange) -> String {
        let title = self.parts.library.get(&exchange.said.task).map_or("", |it| it.title.as_str());
        format!("{} ({title})", exchange.said.conversation.id())
    }

    /// Asks in the background.
    fn ask(&mut self, exchange: Exchange, question: &Question) {
        let (house, subject) = (Arc::clone(&self.house), question.subject.clone());
        let state = Arc::clone(&question.state);
        self.tasks.spawn(async move {
            let step = house.interview(exchange, &subject).await;
            *state.lock().unwrap_or_else(PoisonError::into_inner) = Some(step);
        });
        // What has ended needs no place.
        while self.tasks.try_join_next().is_some() {}
    }

    /// The first question of a request, or why there is none.
    fn begin(&mut self, key: ExchangeKey, request: Request) -> Exchange {
        if self.house.finishing {
            return Exchange {
                key,
                said: Said::nothing("nothing more is asked: the run was to end"),
            };
        }
        if let Some(recording) = &mut self.parts.recording {
            let mut exchange = recording.take(&key);
            if matches!(key.kind, RequestKind::Rewrite(_)) {
                self.count(&exchange);
            }
            exchange.key = key;
            return exchange;
        }
        let said = match request {
            Request::Rewrite { parent, evaluation, history, .. } => {
                self.question(&parent, &evaluation, &history)
            }
            Request::Repair { rejected, rejection, attempt } => {
                self.repair(&rejected, &rejection, attempt)
            }
            Request::Seeds { .. } | Request::Children { .. } => {
                Said::nothing("recipes answer this")
            }
        };
        Exchange { key, said }
    }

    fn question(
        &mut self,
        parent: &Candidate,
        evaluation: &Evaluation,
        history: &[Attempt],
    ) -> Said {
        let Parts { briefing, library, experience, operator, prompt_tokens, .. } = &self.parts;
        let situation = briefing.situation(parent, evaluation);
        let chosen = self.selector.choose(library, &situation, experience, operator, &parent.id, 1);
        let Some(chosen) = chosen.into_iter().next() else {
            return Said::nothing("no expert task is left that makes sense for it");
        };
        let inputs = briefing.inputs(
            parent,
            evaluation,
            history,
            &|candidate| self.prediction(candidate),
            chosen.task,
        );
        let task = chosen.task.name.clone();
        match self.house.prompter.conversation(&inputs, *prompt_tokens) {
            Ok(prompt) => Said { reason: chosen.reason, ..Said::asking(task, prompt.conversation) },
            Err(error) => Said { task, ..Said::nothing(error.to_string()) },
        }
    }

    fn repair(&self, rejected: &Candidate, rejection: &Rejection, attempt: u32) -> Said {
        let before = self.origins.get(&rejected.id).and_then(|key| self.exchanges.get(key));
        let Some(before) = before else {
            return Said::nothing("what had been said before is not known any more");
        };
        let failure = Failure::Gate { rejection, source: &rejected.source };
        let answer = before.said.answer.as_deref().unwrap_or_default();
        let task = before.said.task.clone();
        match self.house.prompter.repair(&before.said.conversation, answer, failure) {
            Ok(conversation) => Said { repairs: attempt, ..Said::asking(task, conversation) },
            Err(error) => Said { task, ..Said::nothing(error.to_string()) },
        }
    }

    /// What the author of a candidate had predicted, and what became of it.
    fn prediction(&self, candidate: &CandidateId) -> Option<(String, Option<Judgement>)> {
        let exchange = self.exchanges.get(self.origins.get(candidate)?)?;
        let prediction: Prediction = exchange.rewritten()?.prediction?;
        let before = self.profiles.get(&exchange.key.parent);
        let after = self.profiles.get(candidate);
        let judgement = before.zip(after).map(|(before, after)| prediction.judge(before, after));
        Some((prediction.to_string(), judgement))
    }

    /// What has come of a request; `None` for a ticket that is not of this generator.
    pub(super) fn poll(&mut self, ticket: Ticket) -> Option<Answer> {
        let step = self.questions.get(&ticket)?.state().take();
        let about = match &step {
            Some(Step::Awaited(exchange)) => Some(self.about(exchange)),
            _ => None,
        };
        let question = self.questions.get_mut(&ticket)?;
        match step {
            None if question.awaited => Some(Answer::Awaited),
            None => Some(Answer::Pending),
            Some(Step::Awaited(exchange)) => {
                question.awaited = true;
                question.about = about.unwrap_or_default();
                if question.asked.elapsed() < LOOK_EVERY {
                    *question.state() = Some(Step::Awaited(exchange));
                } else if let Some(mut question) = self.questions.remove(&ticket) {
                    question.asked = Instant::now();
                    self.ask(exchange, &question);
                    self.questions.insert(ticket, question);
                }
                Some(Answer::Awaited)
            }
            Some(Step::Over(exchange)) => {
                let question = self.questions.remove(&ticket)?;
                let proposals = vec![proposed(&question.parent, &exchange)];
                let spent = exchange.said.spent;
                self.warn(&exchange);
                self.remember(exchange);
                Some(Answer::Ready { proposals, spent })
            }
        }
    }

    /// The first failure of its kind to be answered at all is told; the journal has each.
    fn warn(&mut self, exchange: &Exchange) {
        if let Some(trouble) = &exchange.said.trouble {
            let text = format!("the language model gave no answer: {trouble}");
            let told = self.exchanges.values().any(|it| it.said.trouble.as_ref() == Some(trouble));
            if !told {
                self.warnings.push(text);
            }
        }
    }
}

/// The key of a request that a language model answers.
fn key(request: &Request) -> Option<ExchangeKey> {
    match request {
        Request::Rewrite { parent, evaluation, number, .. } => Some(ExchangeKey {
            parent: parent.id.clone(),
            rung: parent.parent.is_some().then_some(evaluation.rung),
            kind: RequestKind::Rewrite(*number),
        }),
        Request::Repair { rejected, attempt, .. } => Some(ExchangeKey {
            parent: rejected.id.clone(),
            rung: None,
            kind: RequestKind::Repair(*attempt),
        }),
        Request::Seeds { .. } | Request::Children { .. } => None,
    }
}
