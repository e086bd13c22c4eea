//! Stands in for `kernelbrain optimize` in tests of the service: the real search, journal and store over
//! evaluations that are written into the kernel's own text, so that a search takes a moment instead of
//! minutes and needs neither Python nor a GPU.
//!
//! In the kernel's source: `# best: 256` says which `BLOCK` is fastest, `# takes: 40ms` how long an
//! evaluation takes, `# fails: …` that the contract cannot be used.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use async_trait::async_trait;
use kernelbrain::{
    engine::{RunPlan, Selection, StoredJournal},
    kernel::{
        Candidate, Case, CaseComparison, CaseMeasurement, Contract, ContractKind, Cost, Evaluation,
        Move, Ratio, Target, Verdict, Verification,
    },
    search::{
        Event, Plan, Search, Spend, State, Stop, World,
        ports::{Answer, Clock, Evaluator, Generator, Job, PlaneError, Proposal, Request, Ticket},
    },
    store::{Environment, NewRun, RunState, RunStore, SqliteStore},
};
use tokio::task::JoinSet;

const CASES: [&str; 2] = ["small", "large"];
const BLOCKS: [u32; 5] = [32, 64, 256, 512, 1024];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    if arguments.iter().any(|argument| argument == "--while-stdin-is-open") {
        std::thread::spawn(|| {
            std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink()).ok();
            std::process::exit(130);
        });
    }
    let path = |name: &str| PathBuf::from(value(name).unwrap_or_else(|| panic!("no {name}")));
    let selection = Selection::Configured { file: path("--config"), kernel: value("--kernel") };
    let target = match selection.resolve() {
        Ok(target) => target,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    if let Some(reason) = script(&target.text, "fails") {
        eprintln!("error: {reason}");
        return ExitCode::from(2);
    }
    let configuration = std::fs::read_to_string(path("--config")).unwrap();
    if configuration.contains("[model]") {
        eprintln!("error: the repository says which model is asked");
        return ExitCode::from(2);
    }
    let secret = |name: &&str| std::env::var_os(name).is_some();
    let secrets = ["KERNELBRAIN_PRIVATE_KEY", "KERNELBRAIN_WEBHOOK_SECRET", "DATABASE_URL"];
    if let Some(name) = secrets.iter().find(|name| secret(name)) {
        eprintln!("error: the search sees {name}");
        return ExitCode::from(2);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(search(target, &path("--db"), &path("--out"), value("--resume")));
    ExitCode::SUCCESS
}

/// What the kernel's text says of `name`.
fn script<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let head = format!("# {name}: ");
    text.lines().find_map(|line| line.trim().strip_prefix(head.as_str()))
}

fn block(text: &str) -> u32 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("BLOCK = "));
    line.and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// 100 µs, or 60 where it is the block that is best.
fn latency_us(text: &str) -> f64 {
    let best = script(text, "best").and_then(|best| best.parse().ok()).unwrap_or(u32::MAX);
    if block(text) == best { 60.0 } else { 100.0 + f64::from(block(text) % 7) }
}

fn takes(text: &str) -> Duration {
    script(text, "takes").map_or(Duration::ZERO, |it| humantime::parse_duration(it).unwrap())
}

fn case(name: &str) -> Case {
    Case { name: name.into(), params: Default::default(), weight: 1.0 }
}

fn plan() -> Plan {
    let mut plan = Plan::new(CASES.map(case).to_vec(), 2);
    plan.generation.seeds = BLOCKS.len();
    plan.generation.children = 0;
    plan.limits.wall_seconds = Some(600.0);
    plan
}

fn run_plan() -> RunPlan {
    RunPlan {
        search: plan(),
        seed: 1,
        contract: Contract {
            kind: ContractKind::Native,
            cases: CASES.map(case).to_vec(),
            entries: vec!["kernel_function".into()],
            mutates: Vec::new(),
            grads: Vec::new(),
            notes: Vec::new(),
        },
        audit: Default::default(),
        warnings: Vec::new(),
        gamma: 1.03,
        allow_regression: false,
        command: "kernelbrain optimize".into(),
        folder: PathBuf::new(),
        ceilings: None,
        bounds: Vec::new(),
        model: None,
        experience: Default::default(),
    }
}

async fn search(target: Target, database: &Path, output: &Path, resume: Option<String>) {
    let store: Arc<dyn RunStore> = Arc::new(SqliteStore::open(database).await.unwrap());
    let open = store.list().await.unwrap().into_iter();
    let open = open.filter(|run| run.output == output && run.state == RunState::Open);
    let baseline = Candidate::baseline(target.text.clone());
    let id = match resume.or_else(|| open.map(|run| run.id).next()) {
        Some(id) => id,
        None => {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let id = format!("scripted-{}-{}", since.as_nanos(), std::process::id());
            let run = NewRun {
                id: id.clone(),
                key: id.clone(),
                output: output.to_owned(),
                target,
                plan: serde_json::to_value(run_plan()).unwrap(),
                created: SystemTime::now(),
            };
            store.create_run(&run).await.unwrap();
            id
        }
    };
    let environment = Environment {
        kind: "cuda".into(),
        device: "Scripted GPU".into(),
        driver: Some("1.0".into()),
        torch: "2.11".into(),
        triton: "3.6".into(),
        kernelbrain: env!("CARGO_PKG_VERSION").into(),
    };
    store.set_environment(&id, &environment).await.unwrap();
    let events = store.load(&id).await.unwrap().1;
    let mut search = Search::resume(plan(), baseline, &events, None).unwrap();
    let world = World {
        evaluator: &mut Scripted::default(),
        generator: &mut Blocks::default(),
        journal: &mut StoredJournal::new(Arc::clone(&store), id),
        clock: &SinceStart(Instant::now()),
        observer: &mut |_: &State, _: &Event| {},
        stop: Stop::never(),
    };
    search.run(world).await.unwrap();
}

struct SinceStart(Instant);

impl Clock for SinceStart {
    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

#[derive(Default)]
struct Scripted {
    under_way: JoinSet<Evaluation>,
}

#[async_trait]
impl Evaluator for Scripted {
    fn submit(&mut self, job: Job) {
        self.under_way.spawn(async move {
            tokio::time::sleep(takes(&job.candidate.source)).await;
            let measured = |case: &str| CaseMeasurement {
                case: case.into(),
                latency_us: latency_us(&job.candidate.source),
                baseline_us: None,
                host_us: None,
                backward_us: None,
                error: None,
            };
            Evaluation {
                candidate: job.candidate.id.clone(),
                rung: job.rung,
                verdict: Verdict::Accepted,
                cases: CASES.map(measured).to_vec(),
                build: Vec::new(),
                diagnosis: None,
                disturbed: 0,
                profiling: None,
                cost: Cost { gpu_seconds: 0.01, wall_seconds: 0.02 },
                same_program_as: None,
                observed: None,
                ended_at: None,
            }
        });
    }

    async fn next(&mut self) -> Result<Evaluation, PlaneError> {
        Ok(self.under_way.join_next().await.unwrap().unwrap())
    }

    async fn abandon(&mut self) {
        self.under_way.shutdown().await;
    }

    fn window(&self) -> usize {
        2
    }

    async fn verify(&mut self, candidate: &Candidate) -> Result<Verification, PlaneError> {
        tokio::time::sleep(takes(&candidate.source)).await;
        let speedup = 100.0 / latency_us(&candidate.source);
        let ratio = Ratio { median: speedup, low: 0.99 * speedup, high: 1.01 * speedup, rounds: 9 };
        let comparison = |case: &str| CaseComparison {
            case: case.into(),
            candidate_us: latency_us(&candidate.source),
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
            comparisons: CASES.map(comparison).to_vec(),
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

/// The kernel with every other block.
#[derive(Default)]
struct Blocks {
    asked: Vec<Request>,
}

impl Generator for Blocks {
    fn submit(&mut self, request: Request) -> Ticket {
        self.asked.push(request);
        Ticket(self.asked.len() as u64 - 1)
    }

    fn poll(&mut self, ticket: Ticket) -> Answer {
        let asked = &self.asked[usize::try_from(ticket.0).unwrap()];
        let Request::Seeds { baseline, .. } = asked else {
            return Answer::Ready { proposals: Vec::new(), spent: Spend::default() };
        };
        let now = format!("BLOCK = {}", block(&baseline.source));
        let proposal = |other: &u32| Proposal {
            parent: baseline.id.clone(),
            origin: Move::Recipe { text: format!("tile BLOCK={other}") },
            source: Ok(baseline.source.replace(&now, &format!("BLOCK = {other}"))),
        };
        let proposals = BLOCKS.iter().filter(|it| **it != block(&baseline.source)).map(proposal);
        Answer::Ready { proposals: proposals.collect(), spent: Spend::default() }
    }
}
