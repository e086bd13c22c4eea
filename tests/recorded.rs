//! Searches with a language model, recorded where they were made (`tests/gpu/record.py`) and made again here:
//! no model is asked and nothing is measured. What the model said is read anew, and the search decides anew, on the
//! evaluations as they were.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use flate2::read::GzDecoder;
use kernelbrain::{
    engine::RunPlan,
    generate::{
        answer::{self, AnswerTarget},
        recipe::{Context, DeviceKind},
        task::Library,
    },
    kernel::{
        Candidate, CandidateId, Evaluation, Gate, Rejection, RequestKind, Spend, Target, Verdict,
        Verification,
    },
    search::{
        Event, Outcome, Search, State, Stop, World,
        ports::{
            Answer, Clock, Evaluator, Generator, Job, Journal, JournalError, PlaneError, Proposal,
            Request, Ticket,
        },
    },
};
use serde::Deserialize;
use serde_json::Value;

/// A run as `tests/gpu/record.py` writes it.
#[derive(Deserialize)]
struct Recording {
    target: Target,
    plan: RunPlan,
    environment: Value,
    /// None of a search that was interrupted.
    outcome: Option<Outcome>,
    events: Vec<Event>,
    exchanges: Vec<Exchange>,
}

#[derive(Deserialize)]
struct Exchange {
    parent: CandidateId,
    rung: Option<usize>,
    kind: RequestKind,
    said: Said,
}

#[derive(Deserialize)]
struct Said {
    task: String,
    repairs: u32,
    answer: Option<String>,
    result: Option<Result<Rewritten, String>>,
    spent: Spend,
}

#[derive(Deserialize)]
struct Rewritten {
    candidate: CandidateId,
    source: String,
}

/// Searches that ended.
fn recordings() -> Vec<(PathBuf, Recording)> {
    recordings_in("tests/recordings")
}

fn recordings_in(folder: &str) -> Vec<(PathBuf, Recording)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|it| it.extension().is_some_and(|it| it == "gz")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are recordings");
    let read = |path: PathBuf| {
        let mut text = String::new();
        GzDecoder::new(File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        let recording = serde_json::from_str(&text);
        let recording = recording.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, recording)
    };
    paths.into_iter().map(read).collect()
}

impl Recording {
    fn baseline(&self) -> Candidate {
        Candidate::baseline(self.target.text.clone())
    }

    fn added(&self) -> impl Iterator<Item = &Candidate> {
        self.events.iter().filter_map(|event| match event {
            Event::CandidateAdded { candidate } => Some(candidate),
            _ => None,
        })
    }

    fn was_parked(&self) -> bool {
        let parked =
            |event: &Event| matches!(event, Event::Ended { outcome: Outcome::Parked { .. } });
        self.events.iter().any(parked)
    }

    fn source(&self, id: &CandidateId) -> std::sync::Arc<str> {
        let baseline = self.baseline();
        let all = self.added().chain([&baseline]).map(|it| (&it.id, &it.source));
        all.into_iter().find(|(known, _)| *known == id).map(|(_, source)| source.clone()).unwrap()
    }
}

#[test]
fn what_a_model_said_is_read_as_it_was() {
    for (path, recording) in recordings() {
        let library = Library::embedded().unwrap();
        let kind =
            if recording.environment["kind"] == "cpu" { DeviceKind::Cpu } else { DeviceKind::Cuda };
        let context = Context {
            editable: recording.target.editable.clone(),
            ..Context::new(kind).with_contract(&recording.plan.contract)
        };
        let mut read = 0;
        for exchange in &recording.exchanges {
            let (Some(answer), Some(Ok(rewritten))) =
                (&exchange.said.answer, &exchange.said.result)
            else {
                continue;
            };
            let source = recording.source(&exchange.parent);
            let exemplar = library.get(&exchange.said.task).map(|task| task.exemplar.clone());
            let target = AnswerTarget {
                source: &source,
                file: &recording.target.source.display().to_string(),
                context: &context,
                exemplar: exemplar.as_deref(),
            };
            let again = answer::parse(answer, &target).unwrap();
            assert_eq!(CandidateId::of(&again.source), rewritten.candidate, "{}", path.display());
            assert_eq!(again.source, rewritten.source);
            read += 1;
        }
        assert!(read > 0, "{}: somebody answered", path.display());
    }
}

#[test]
fn a_journal_folds_to_the_outcome_that_it_had() {
    for (path, recording) in recordings() {
        let plan = recording.plan.search.clone();
        let search = Search::resume(plan, recording.baseline(), &recording.events, None).unwrap();
        let outcome = recording.outcome.as_ref();
        assert!(outcome.is_some(), "{}: it ended", path.display());
        assert_eq!(search.state().outcome(), outcome, "{}", path.display());
    }
}

/// `tests/gpu/restore.py` makes runs of them again, which need not be resumed by the version that began them.
#[test]
fn a_search_that_was_begun_can_go_on() {
    for (path, recording) in recordings_in("tests/recordings/begun") {
        let plan = recording.plan.search.clone();
        let search = Search::resume(plan, recording.baseline(), &recording.events, None).unwrap();
        let state = search.state();
        assert!(recording.outcome.is_none() && state.outcome().is_none(), "{}", path.display());
        assert!(state.baseline_evaluation().is_some(), "{}: it was begun", path.display());
        let of_known = |it: &Exchange| {
            it.parent == recording.baseline().id || recording.added().any(|c| c.id == it.parent)
        };
        assert!(recording.exchanges.iter().all(of_known), "{}", path.display());
        assert!(!recording.exchanges.is_empty(), "{}: somebody was asked", path.display());
    }
}

/// The same evaluations and answers, decided upon anew, without the clock of the machine that made them.
#[tokio::test]
async fn the_search_finds_again_what_it_found() {
    for (path, recording) in recordings() {
        let mut plan = recording.plan.search.clone();
        plan.limits = Default::default();
        plan.stop.patience = None;
        let mut search = Search::new(plan, recording.baseline()).unwrap();
        let (mut lab, mut moves) = (Lab::of(&recording), Moves::of(&recording));
        // Whoever answered came back later where the run was parked meanwhile.
        moves.nobody_answers = recording.was_parked();
        let outcome = loop {
            let world = World {
                evaluator: &mut lab,
                generator: &mut moves,
                journal: &mut Nowhere,
                clock: &Frozen,
                observer: &mut |_: &State, _: &Event| {},
                stop: Stop::never(),
            };
            let outcome = search.run(world).await.unwrap();
            if !std::mem::take(&mut moves.nobody_answers) {
                break outcome;
            }
            assert!(matches!(outcome, Outcome::Parked { .. }), "{}: {outcome:?}", path.display());
        };
        let recorded = recording.outcome.as_ref().unwrap();
        let same_kind = std::mem::discriminant(&outcome) == std::mem::discriminant(recorded);
        assert!(same_kind, "{}: {outcome:?}", path.display());
        if let (Outcome::Improved { best: again }, Outcome::Improved { best }) =
            (&outcome, recorded)
        {
            assert_eq!(again, best, "{}", path.display());
        }
        let rewrites = search.state().rewrites_answered();
        assert!(rewrites > 0, "{}: the answers took part", path.display());
    }
}

/// Evaluations as they were; whoever was not evaluated then is left out.
struct Lab {
    known: HashMap<(CandidateId, usize), Evaluation>,
    baseline: Evaluation,
    verified: HashMap<CandidateId, Verification>,
    running: VecDeque<Job>,
}

impl Lab {
    fn of(recording: &Recording) -> Self {
        let (mut known, mut verified, mut baseline) = (HashMap::new(), HashMap::new(), None);
        for event in &recording.events {
            match event {
                Event::BaselineMeasured { evaluation } => baseline = Some(evaluation.clone()),
                Event::Evaluated { evaluation, .. } => {
                    known.insert(
                        (evaluation.candidate.clone(), evaluation.rung),
                        evaluation.clone(),
                    );
                }
                Event::Verified { verification, .. } => {
                    verified.insert(verification.candidate.clone(), verification.clone());
                }
                _ => {}
            }
        }
        Self { known, verified, baseline: baseline.unwrap(), running: VecDeque::new() }
    }
}

fn unknown() -> Verdict {
    Verdict::Rejected(Rejection::new(Gate::Performance, "was not evaluated when it was recorded"))
}

#[async_trait]
impl Evaluator for Lab {
    fn submit(&mut self, job: Job) {
        self.running.push_back(job);
    }

    async fn next(&mut self) -> Result<Evaluation, PlaneError> {
        let job = self.running.pop_front().unwrap();
        if job.candidate.parent.is_none() {
            return Ok(self.baseline.clone());
        }
        let known = self.known.get(&(job.candidate.id.clone(), job.rung)).cloned();
        Ok(known.unwrap_or_else(|| Evaluation {
            candidate: job.candidate.id,
            rung: job.rung,
            verdict: unknown(),
            cases: Vec::new(),
            diagnosis: None,
            profiling: None,
            ..self.baseline.clone()
        }))
    }

    async fn abandon(&mut self) {
        self.running.clear();
    }

    fn window(&self) -> usize {
        4
    }

    async fn verify(&mut self, candidate: &Candidate) -> Result<Verification, PlaneError> {
        let known = self.verified.get(&candidate.id).cloned();
        let any = self.verified.values().next().cloned();
        Ok(known.unwrap_or_else(|| Verification {
            candidate: candidate.id.clone(),
            verdict: unknown(),
            ..any.unwrap()
        }))
    }
}

type Key = (CandidateId, Option<usize>, RequestKind);

/// What was proposed then, for the same requests.
struct Moves {
    recipes: HashMap<Key, Vec<Proposal>>,
    rewrites: HashMap<Key, (Vec<Proposal>, Spend)>,
    tickets: HashMap<Ticket, (Vec<Proposal>, Spend)>,
    questions: HashSet<Ticket>,
    nobody_answers: bool,
    next: u64,
}

impl Moves {
    fn of(recording: &Recording) -> Self {
        let (mut recipes, mut since) = (HashMap::new(), Vec::new());
        for event in &recording.events {
            match event {
                Event::CandidateAdded { candidate } => since.push(Proposal {
                    parent: candidate.parent.clone().unwrap(),
                    origin: candidate.origin.clone(),
                    source: Ok(candidate.source.to_string()),
                }),
                Event::Answered { parent, rung, kind, .. } => {
                    let proposals = std::mem::take(&mut since);
                    if *kind == RequestKind::Recipes {
                        recipes.insert((parent.clone(), *rung, *kind), proposals);
                    }
                }
                _ => {}
            }
        }
        let rewrites = recording.exchanges.iter().filter_map(|exchange| {
            let Exchange { parent, rung, kind, said } = exchange;
            let rewritten = said.result.as_ref()?.as_ref().ok()?;
            let origin = kernelbrain::kernel::Move::Rewrite {
                task: said.task.clone(),
                repairs: said.repairs,
            };
            let source = Ok(rewritten.source.clone());
            let proposal = Proposal { parent: parent.clone(), origin, source };
            Some(((parent.clone(), *rung, *kind), (vec![proposal], said.spent)))
        });
        Self {
            recipes,
            rewrites: rewrites.collect(),
            tickets: HashMap::new(),
            questions: HashSet::new(),
            nobody_answers: false,
            next: 0,
        }
    }
}

impl Generator for Moves {
    fn submit(&mut self, request: Request) -> Ticket {
        self.next += 1;
        if matches!(request, Request::Rewrite { .. } | Request::Repair { .. }) {
            self.questions.insert(Ticket(self.next));
        }
        let none = (Vec::new(), Spend::default());
        let recipes =
            |key: Key| (self.recipes.get(&key).cloned().unwrap_or_default(), Spend::default());
        let answer = match request {
            Request::Seeds { baseline, .. } => recipes((baseline.id, None, RequestKind::Recipes)),
            Request::Children { parent, evaluation, .. } => {
                recipes((parent.id, Some(evaluation.rung), RequestKind::Recipes))
            }
            Request::Rewrite { parent, evaluation, number, .. } => {
                let rung = parent.parent.is_some().then_some(evaluation.rung);
                let key = (parent.id, rung, RequestKind::Rewrite(number));
                self.rewrites.get(&key).cloned().unwrap_or(none)
            }
            Request::Repair { rejected, attempt, .. } => {
                let key = (rejected.id, None, RequestKind::Repair(attempt));
                let (mut proposals, spent) = self.rewrites.get(&key).cloned().unwrap_or(none);
                // A change of what was rejected was a change of.
                for proposal in &mut proposals {
                    proposal.parent = rejected.parent.clone().unwrap();
                }
                (proposals, spent)
            }
        };
        self.tickets.insert(Ticket(self.next), answer);
        Ticket(self.next)
    }

    fn poll(&mut self, ticket: Ticket) -> Answer {
        if self.nobody_answers && self.questions.contains(&ticket) {
            return Answer::Awaited;
        }
        let (proposals, spent) = self.tickets.remove(&ticket).unwrap_or_default();
        Answer::Ready { proposals, spent }
    }
}

struct Nowhere;

#[async_trait]
impl Journal for Nowhere {
    async fn append(&mut self, _: &[Event]) -> Result<(), JournalError> {
        Ok(())
    }
}

struct Frozen;

impl Clock for Frozen {
    fn seconds(&self) -> f64 {
        0.0
    }
}
