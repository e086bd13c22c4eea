//! `kernelbrain optimize`: the search, from two files or a configured kernel to a report.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    CommandResult,
    common::{MachineOptions, OrOff, SandboxMode, block_on, duration, terminal_style},
    live,
    model::ModelOptions,
    stopping,
};
use crate::{
    engine::{
        Audience, EngineError, OptimizeRequest, PlaneOptions, Raise, Selection, optimize,
        project::{FILE_NAME, Project, SearchSettings},
    },
    evaluate::Device,
    kernel::Arch,
    report,
    search::{Generation, Ladder, Limits, RankPromotion, SchedulerChoice, Stop, StopRules},
};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The kernel's source file; without it, a kernel of kernelbrain.toml
    source: Option<PathBuf>,
    /// The contract: what the kernel must compute
    #[arg(long, value_name = "FILE", requires = "source")]
    test: Option<PathBuf>,
    /// The kernel of kernelbrain.toml to take, if there are several
    #[arg(long, value_name = "NAME", conflicts_with = "source")]
    kernel: Option<String>,
    /// Configuration file [default: kernelbrain.toml here or above]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineOptions,
    /// Wall clock to spend, for example 90s, 10m, 1h [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Time for which the GPU may be held
    #[arg(long, value_name = "TIME", value_parser = duration)]
    gpu_budget: Option<Duration>,
    /// Evaluations to make at most
    #[arg(long, value_name = "N")]
    evaluations: Option<u64>,
    /// Candidates to make at most [default: 2000]
    #[arg(long, value_name = "N")]
    max_candidates: Option<usize>,
    /// Candidates to make from the kernel as it stands, before the search goes on from the best
    /// [default: 96]
    #[arg(long, value_name = "N")]
    seeds: Option<usize>,
    /// Stop when the best runs within this factor of its speed-of-light bound, or `off`
    /// [default: 1.05 on a GPU]
    #[arg(long, value_name = "X")]
    headroom_stop: Option<OrOff<f64>>,
    /// Stop after this many results in a row without a new best, or `off` [default: 500 on a GPU]
    #[arg(long, value_name = "N")]
    patience: Option<OrOff<u64>>,
    /// Do not measure what the GPU reaches at best when that is not known yet
    #[arg(long)]
    no_calibrate: bool,
    /// Evaluate every candidate on every rung, to compare the ladder with
    #[arg(long)]
    full_evaluation: bool,
    /// Folder for the report and the winner [default: kernelbrain-out/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Database of runs [default: in the user's data folder]
    #[arg(long, value_name = "FILE", env = "KERNELBRAIN_DB")]
    db: Option<PathBuf>,
    /// Go on with this run, in its folder (the same command again does it too, unless it has ended); limits
    /// that are given with it take the place of the run's own
    #[arg(long, value_name = "RUN")]
    resume: Option<String>,
    /// Seed of the inputs and of the order in which moves are tried
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// The least speedup over the baseline that counts
    #[arg(long, default_value_t = 1.03, value_name = "X")]
    gamma: f64,
    /// Accept a winner that is slower than the baseline on some case
    #[arg(long)]
    allow_regression: bool,
    /// Do not read the GPU's counters
    #[arg(long)]
    no_profile: bool,
    /// Architectures that the winner must compile for as well, for example sm_80,sm_90
    #[arg(long, value_name = "SM,…", value_delimiter = ',')]
    archs: Vec<Arch>,
    /// Refuse a contract that lets wrong answers pass
    #[arg(long)]
    strict: bool,
    /// Candidates imported and compiled at the same time [default: to fit the machine]
    #[arg(long, value_name = "N")]
    children: Option<usize>,
    /// Longest that one step of a candidate may take
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = duration)]
    candidate_timeout: Duration,
    /// Longest that one step of the reference may take
    #[arg(long, default_value = "5m", value_name = "TIME", value_parser = duration)]
    reference_timeout: Duration,
    /// Plain lines instead of a live view
    #[arg(long)]
    plain: bool,
    /// End when standard input is closed: whoever started this has ended then, on this side of a
    /// container or beyond it
    #[arg(long, hide = true)]
    while_stdin_is_open: bool,
    #[command(flatten)]
    model: ModelOptions,
}

pub(super) fn run(options: Options) -> CommandResult {
    if options.while_stdin_is_open {
        stopping::end_with_stdin();
    }
    let (selection, project) = selection(&options)?;
    let Project { search: settings, model: table, .. } = project;
    let mut target = selection.resolve()?;
    if !options.archs.is_empty() {
        target.archs.clone_from(&options.archs);
    }
    let interpreter = options.machine.interpreter()?;
    let device = options.machine.device()?;
    let output = match (&options.out, &options.resume) {
        (Some(folder), _) => Some(absolute(folder)?),
        (None, Some(_)) => None,
        (None, None) => Some(default_output(&target.name)?),
    };
    if !(options.gamma.is_finite() && options.gamma >= 1.0) {
        return Err(EngineError::Usage("--gamma must be a number of 1 or more".into()));
    }
    let stop = stop_rules(&options, &settings, device)?;
    let model = options.model.choice(&table)?;
    let (tokens, usd) = options.model.limits(&table)?;
    let generation = Generation {
        max_candidates: options
            .max_candidates
            .or(settings.max_candidates)
            .unwrap_or(Generation::default().max_candidates),
        seeds: options.seeds.unwrap_or(Generation::default().seeds),
        ..Generation::default()
    };
    let request = OptimizeRequest {
        limits: Limits { tokens, usd, ..limits(&options, &settings)? },
        generation: options.model.generation(generation, model.as_ref(), &table),
        model,
        ladder: ladder(&settings)?,
        scheduler: if options.full_evaluation {
            SchedulerChoice::FullEvaluation
        } else {
            let reach = (device != Device::Cpu).then_some(REACH);
            SchedulerChoice::RankPromotion(RankPromotion { reach, ..RankPromotion::default() })
        },
        target,
        plane: PlaneOptions {
            device,
            interpreter,
            best_effort: options.machine.sandbox == SandboxMode::BestEffort,
            children: options.children,
            candidate_timeout: options.candidate_timeout,
            reference_timeout: options.reference_timeout,
        },
        stop,
        calibrate: !options.no_calibrate,
        seed: options.seed,
        gamma: options.gamma,
        allow_regression: options.allow_regression,
        profile: !options.no_profile && settings.profile.unwrap_or(true),
        strict: options.strict,
        output,
        database: options.db.clone(),
        finish: options.model.finish,
        resume: options.resume.clone(),
        raise: raise(&options),
        command: command_line(),
    };
    let mut view: Box<dyn Audience> = if !options.plain && std::io::stderr().is_terminal() {
        Box::new(live::LiveView::new())
    } else {
        Box::new(live::PlainView::new())
    };
    let finished = block_on(async {
        let (switch, stop) = Stop::new();
        stopping::on_signal(switch);
        optimize(request, view.as_mut(), stop).await
    });
    drop(view);
    let finished = finished?;
    out!("{}", report::terminal::render(&finished.report, terminal_style()));
    outln!("report: {}", finished.html.display());
    Ok(finished.exit_status())
}

/// The limits that the command line itself names.
fn raise(options: &Options) -> Raise {
    let seconds = |limit: Option<Duration>| limit.map(|limit| limit.as_secs_f64());
    Raise {
        limits: Limits {
            wall_seconds: seconds(options.budget),
            gpu_seconds: seconds(options.gpu_budget),
            evaluations: options.evaluations,
            tokens: options.model.tokens,
            usd: options.model.usd,
        },
        max_candidates: options.max_candidates,
        rewrites: options.model.rewrites,
    }
}

/// `kernelbrain-out/NAME` here, which git is told to leave alone.
fn default_output(name: &str) -> Result<PathBuf, EngineError> {
    let root = absolute(Path::new("kernelbrain-out"))?;
    let ignore = root.join(".gitignore");
    if !ignore.exists() {
        std::fs::create_dir_all(&root)
            .and_then(|()| std::fs::write(&ignore, "*\n"))
            .map_err(|source| EngineError::Write { path: ignore, source })?;
    }
    Ok(root.join(name))
}

fn selection(options: &Options) -> Result<(Selection, Project), EngineError> {
    let configuration =
        options.config.clone().or_else(|| Project::find(&std::env::current_dir().ok()?));
    if let Some(source) = &options.source {
        let contract = match &options.test {
            Some(contract) => contract.clone(),
            None => beside(source)?,
        };
        // Only a file that was named speaks for files that were named.
        let project = match &options.config {
            Some(file) => Project::read(file)?,
            None => Project::default(),
        };
        return Ok((Selection::Files { source: source.clone(), contract }, project));
    }
    let file = configuration.ok_or_else(|| {
        EngineError::Usage(format!(
            "name a kernel: `kernelbrain optimize kernel.py --test test.py`, or write a {FILE_NAME} \
             (see docs/contracts.md)"
        ))
    })?;
    let project = Project::read(&file)?;
    Ok((Selection::Configured { file, kernel: options.kernel.clone() }, project))
}

/// The contract that customarily lies beside a kernel.
fn beside(source: &Path) -> Result<PathBuf, EngineError> {
    let folder = source.parent().unwrap_or(Path::new(""));
    ["test.py", "task.yml", "reference.py", "problem.py"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            EngineError::Usage(format!(
                "no contract lies beside {}: name it with --test",
                source.display()
            ))
        })
}

fn limits(options: &Options, settings: &SearchSettings) -> Result<Limits, EngineError> {
    let configured = |name: &str, text: &Option<String>| match text {
        Some(text) => duration(text).map(Some).map_err(|error| {
            EngineError::Usage(format!("{FILE_NAME}: {name} = \"{text}\": {error}"))
        }),
        None => Ok(None),
    };
    let wall = options.budget.or(configured("search.budget", &settings.budget)?);
    let gpu = options.gpu_budget.or(configured("search.gpu_budget", &settings.gpu_budget)?);
    let evaluations = options.evaluations.or(settings.evaluations);
    // A run without any limit would go on until every move is tried.
    let unlimited = wall.is_none() && gpu.is_none() && evaluations.is_none();
    let wall = wall.or(unlimited.then_some(Duration::from_secs(600)));
    Ok(Limits {
        wall_seconds: wall.map(|wall| wall.as_secs_f64()),
        gpu_seconds: gpu.map(|gpu| gpu.as_secs_f64()),
        evaluations,
        ..Limits::default()
    })
}

/// A person's word wins over the configuration's, and that over the defaults. The interpreter's
/// times have no bound, and whoever compares ladders wants everything evaluated.
fn stop_rules(
    options: &Options,
    settings: &SearchSettings,
    device: Device,
) -> Result<StopRules, EngineError> {
    let defaults = device != Device::Cpu && !options.full_evaluation;
    let headroom = options.headroom_stop.or(settings.headroom.map(OrOff::At));
    let patience = options.patience.or(settings.patience.map(OrOff::At));
    let rules = StopRules {
        headroom: headroom.map_or(defaults.then_some(HEADROOM_STOP), OrOff::value),
        patience: patience.map_or(defaults.then_some(PATIENCE), OrOff::value),
    };
    if rules.headroom.is_some_and(|at_most| at_most.is_nan() || at_most < 1.0) {
        let text = "--headroom-stop (search.headroom) must be a number of 1 or more, or off";
        return Err(EngineError::Usage(text.into()));
    }
    if rules.patience == Some(0) {
        let text = "--patience (search.patience) must be at least 1, or off";
        return Err(EngineError::Usage(text.into()));
    }
    Ok(rules)
}

/// Five percent of the time could be gained at most; less than 3 % does not count (γ).
const HEADROOM_STOP: f64 = 1.05;

/// On a GPU, nine of ten candidates measure within 3 % on rung 0 of what they do at full fidelity, and the
/// others too slow (docs/data/h200/ranking.json). The interpreter is off by more.
const REACH: f64 = 0.1;

/// Several generations of children.
const PATIENCE: u64 = 500;

fn ladder(settings: &SearchSettings) -> Result<Ladder, EngineError> {
    if settings.rung.is_empty() {
        return Ok(Ladder::default());
    }
    Ladder::new(settings.rung.clone())
        .map_err(|error| EngineError::Usage(format!("{FILE_NAME}: {error}")))
}

fn absolute(path: &Path) -> Result<PathBuf, EngineError> {
    std::path::absolute(path).map_err(|source| EngineError::Read { path: path.to_owned(), source })
}

/// The command line as it was typed, quoted where a shell needs it.
fn command_line() -> String {
    let mut words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(first) = words.first_mut() {
        *first = "kernelbrain".into();
    }
    super::model::hide_arguments(&mut words);
    shell_words::join(words)
}
