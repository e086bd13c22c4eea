//! A run that is killed with -9 again and again, and what must hold of it afterwards.
//!
//! The evaluations are recorded ones (every candidate has the latency it has), the journal is a
//! real SQLite file, and the process is really killed: this binary starts itself as the worker
//! that is killed. `harness = false`, because a worker is no test.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use async_trait::async_trait;
use kernelbrain::{
    engine::StoredJournal,
    kernel::{
        Candidate, CandidateId, Case, CaseComparison, CaseMeasurement, Cost, Entry, Evaluation,
        Gate, Move, Ratio, Rejection, Target, Verdict, Verification,
    },
    search::{
        Event, Limits, Plan, Search, Spend, State, Stop, World,
        ports::{Answer, Clock, Evaluator, Generator, Job, PlaneError, Proposal, Request, Ticket},
    },
    store::{NewRun, RunStore, SqliteStore},
};
use rand::{Rng, SeedableRng};
use tokio::task::JoinSet;

const KILLS: usize = 20;
const RUN: &str = "recorded";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("worker") {
        let database = PathBuf::from(arguments.next().expect("the worker needs a database"));
        work(&database);
        return ExitCode::SUCCESS;
    }
    println!("\nrunning 1 test");
    twenty_kills_change_nothing();
    println!("test twenty_kills_change_nothing ... ok");
    println!("\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
    ExitCode::SUCCESS
}

fn twenty_kills_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let undisturbed = folder.path().join("undisturbed.db");
    create(&undisturbed);
    let started = Instant::now();
    assert!(worker(&undisturbed).wait().unwrap().success());
    // Short enough that the kills fall into the run, however fast this machine is.
    let longest = started.elapsed() / 25;

    let killed = folder.path().join("killed.db");
    create(&killed);
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(20);
    let mut kills = 0;
    while kills < KILLS {
        let mut process = worker(&killed);
        std::thread::sleep(longest.mul_f64(rng.random()));
        if process.try_wait().unwrap().is_some() {
            break;
        }
        process.kill().unwrap();
        process.wait().unwrap();
        kills += 1;
    }
    assert!(worker(&killed).wait().unwrap().success());
    assert_eq!(kills, KILLS, "the run was over before it was killed often enough");

    let (calm, calm_events) = load(&undisturbed);
    let (shaken, shaken_events) = load(&killed);
    assert!(calm.outcome().is_some());
    assert_eq!(shaken.outcome(), calm.outcome());
    assert_eq!(candidates(&shaken), candidates(&calm));
    assert_eq!(decisions(&shaken_events), decisions(&calm_events));
    let evaluated = evaluated(&shaken_events);
    let mut once = evaluated.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), evaluated.len(), "a finished evaluation was repeated");
    assert!(evaluated.len() > 100, "{}", evaluated.len());
    let debits = shaken_events.iter().filter(|e| matches!(e, Event::Debited { .. })).count();
    assert!(debits >= evaluated.len());
}

fn candidates(state: &State) -> Vec<CandidateId> {
    state.records().iter().map(|record| record.candidate().id.clone()).collect()
}

fn decisions(events: &[Event]) -> Vec<String> {
    let decided = events.iter().filter(|event| matches!(event, Event::Decided { .. }));
    decided.map(|event| serde_json::to_string(event).unwrap()).collect()
}

fn evaluated(events: &[Event]) -> Vec<(String, usize)> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Evaluated { evaluation, .. } => {
                Some((evaluation.candidate.to_string(), evaluation.rung))
            }
            _ => None,
        })
        .collect()
}

fn worker(database: &Path) -> std::process::Child {
    let own = std::env::current_exe().unwrap();
    Command::new(own).arg("worker").arg(database).spawn().unwrap()
}

fn plan() -> Plan {
    let case = |name: &str| Case { name: name.into(), params: Default::default(), weight: 1.0 };
    let mut plan = Plan::new(vec![case("a"), case("b"), case("c")], 4);
    plan.generation.seeds = 120;
    plan.generation.children = 6;
    plan.generation.max_candidates = 200;
    plan.limits = Limits::default();
    plan
}

fn baseline() -> Candidate {
    Candidate::baseline("baseline")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn create(database: &Path) {
    let target = Target {
        name: "recorded".into(),
        source: "kernel.py".into(),
        text: "baseline".into(),
        entry: Entry { module: None, function: None },
        contract: "test.py".into(),
        editable: None,
        package: None,
        rules: Vec::new(),
        tests: None,
        archs: Vec::new(),
    };
    let run = NewRun {
        id: RUN.into(),
        key: "key".into(),
        output: "/out".into(),
        target,
        plan: serde_json::to_value(plan()).unwrap(),
        created: SystemTime::UNIX_EPOCH,
    };
    block_on(async {
        SqliteStore::open(database).await.unwrap().create_run(&run).await.unwrap();
    });
}

fn load(database: &Path) -> (State, Vec<Event>) {
    let events =
        block_on(async { SqliteStore::open(database).await.unwrap().load(RUN).await.unwrap().1 });
    let search = Search::resume(plan(), baseline(), &events, None).unwrap();
    (search.state().clone(), events)
}

fn work(database: &Path) {
    block_on(async {
        let store: Arc<dyn RunStore> = Arc::new(SqliteStore::open(database).await.unwrap());
        let events = store.load(RUN).await.unwrap().1;
        let mut search = Search::resume(plan(), baseline(), &events, None).unwrap();
        let world = World {
            evaluator: &mut Recorded::default(),
            generator: &mut Mutations::default(),
            journal: &mut StoredJournal::new(store, RUN),
            clock: &SinceStart(Instant::now()),
            observer: &mut |_: &State, _: &Event| {},
            stop: Stop::never(),
        };
        search.run(world).await.unwrap();
    });
}

struct SinceStart(Instant);

impl Clock for SinceStart {
    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// A number that only the source decides, from 0 to 1.
fn fate(id: &CandidateId, salt: u64) -> f64 {
    let seed = u64::from_str_radix(id.as_str(), 16).unwrap() ^ salt;
    rand_chacha::ChaCha8Rng::seed_from_u64(seed).random()
}

fn latency_us(id: &CandidateId) -> f64 {
    if *id == baseline().id { 100.0 } else { 40.0 + 100.0 * fate(id, 1) }
}

/// Answers from a record, after a time that has nothing to do with the order of the jobs.
#[derive(Default)]
struct Recorded {
    under_way: JoinSet<Evaluation>,
}

#[async_trait]
impl Evaluator for Recorded {
    fn submit(&mut self, job: Job) {
        self.under_way.spawn(async move {
            tokio::time::sleep(Duration::from_millis(rand::random_range(1..25))).await;
            recorded(&job)
        });
    }

    async fn next(&mut self) -> Result<Evaluation, PlaneError> {
        Ok(self.under_way.join_next().await.unwrap().unwrap())
    }

    async fn abandon(&mut self) {
        self.under_way.shutdown().await;
    }

    fn window(&self) -> usize {
        4
    }

    async fn verify(&mut self, candidate: &Candidate) -> Result<Verification, PlaneError> {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let speedup = 100.0 / latency_us(&candidate.id);
        let ratio = Ratio { median: speedup, low: 0.99 * speedup, high: 1.01 * speedup, rounds: 9 };
        let comparison = |case: &str| CaseComparison {
            case: case.into(),
            candidate_us: latency_us(&candidate.id),
            baseline_us: 100.0,
            eager_us: None,
            compile_us: None,
            vs_baseline: ratio,
            vs_eager: None,
            vs_compile: None,
            incumbent_us: None,
            vs_incumbent: None,
            disturbed: 0,
            noise: 0.001,
        };
        Ok(Verification {
            candidate: candidate.id.clone(),
            verdict: Verdict::Accepted,
            comparisons: ["a", "b", "c"].map(comparison).to_vec(),
            vs_baseline: Some(ratio),
            vs_eager: None,
            vs_compile: None,
            cost: Cost::default(),
            notes: Vec::new(),
            profiling: None,
            review: None,
        })
    }
}

fn recorded(job: &Job) -> Evaluation {
    let id = &job.candidate.id;
    let wrong = *id != baseline().id && fate(id, 2) < 0.15;
    let verdict = if wrong {
        Verdict::Rejected(Rejection::new(Gate::Correctness, "differs"))
    } else {
        Verdict::Accepted
    };
    let measured = |case: &str| CaseMeasurement {
        case: case.into(),
        latency_us: latency_us(id),
        baseline_us: None,
        host_us: None,
        backward_us: None,
        error: None,
    };
    Evaluation {
        candidate: id.clone(),
        rung: job.rung,
        verdict,
        cases: ["a", "b", "c"].map(measured).to_vec(),
        build: Vec::new(),
        diagnosis: None,
        disturbed: 0,
        profiling: None,
        cost: Cost { gpu_seconds: 0.01, wall_seconds: 0.02 },
        same_program_as: None,
        observed: None,
        ended_at: None,
    }
}

/// Proposes sources that depend on the parent alone.
#[derive(Default)]
struct Mutations {
    asked: Vec<Request>,
}

impl Generator for Mutations {
    fn submit(&mut self, request: Request) -> Ticket {
        self.asked.push(request);
        Ticket(self.asked.len() as u64 - 1)
    }

    fn poll(&mut self, ticket: Ticket) -> Answer {
        let (parent, count) = match &self.asked[usize::try_from(ticket.0).unwrap()] {
            Request::Seeds { baseline, at_most, .. } => (baseline.clone(), *at_most),
            Request::Children { parent, at_most, .. } => (parent.clone(), *at_most),
            // This run has no language model.
            Request::Rewrite { parent, .. } | Request::Repair { rejected: parent, .. } => {
                (parent.clone(), 0)
            }
        };
        let proposal = |n: usize| Proposal {
            parent: parent.id.clone(),
            origin: Move::Recipe { text: format!("step {n}") },
            source: Ok(format!("{} {n}", parent.source)),
        };
        Answer::Ready { proposals: (0..count).map(proposal).collect(), spent: Spend::default() }
    }
}
