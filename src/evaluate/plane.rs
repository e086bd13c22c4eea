//! The evaluation plane: a referee, a zygote, the GPU turn, and what they share.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::{Mutex, RwLock, Semaphore};

use super::{
    companion::Companion,
    driver::Driver,
    error::EvaluateError,
    habits::Habits,
    harness,
    identity::Programs,
    interpreter::Interpreter,
    launched::Launched,
    light::Light,
    openings::Openings,
    policy::{PolicyGate, PolicyRules},
    protocol::{Mutant, Versions},
    referee::Referee,
    scratch,
    standards::Standards,
    starter::{Starter, zygote_fault},
    supervision::{Supervision, end_residents},
    turn::GpuTurn,
    watch::{Quota, Watch},
    zygote::Zygote,
};
use crate::{
    gpu::{Monitor, named},
    kernel::{Arch, Contract, Target, syntax::Source},
};

/// Of any GPU so far (B200), for one whose driver does not tell.
const LARGEST_L2: u64 = 126 << 20;

/// Folders below the plane's scratch folder: files that the referee and children map, what belongs
/// to one child each, and the homes of the two other processes.
pub(super) const SHARED: &str = "shared";
pub(super) const CHILDREN: &str = "children";
pub(super) const REFEREE: &str = "referee";
pub(super) const ZYGOTE: &str = "zygote";

/// Creating a context takes a lock of the driver that whoever has the GPU may need as well: the
/// fewer wait for it, the sooner that one gets it.
const DOORS: usize = 6;

/// One child measures, one is ready, and one is getting ready.
const DECK: usize = 3;

/// Where candidates run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Triton's interpreter.
    Cpu,
    Cuda {
        index: u32,
        /// Compute capability, for compiling without a CUDA context.
        capability: (u32, u32),
    },
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda { index, .. } => write!(f, "cuda:{index}"),
        }
    }
}

/// How long each step of an evaluation may take.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimits {
    /// Importing a candidate.
    pub import: Duration,
    /// Compiling it.
    pub compile: Duration,
    /// A call, the first one with its autotuning included, or a timed series of calls.
    pub call: Duration,
    /// One step of the referee: inputs, reference answers, a comparison.
    pub referee: Duration,
}

/// What a plane is made of.
#[derive(Clone, Debug)]
pub struct PlaneConfig {
    pub target: Target,
    pub device: Device,
    pub interpreter: Interpreter,
    /// This binary, which confines itself and becomes Python (`kernelbrain sandbox-exec`).
    pub launcher: PathBuf,
    /// Go on where the kernel cannot confine everything.
    pub best_effort: bool,
    /// Candidates that are imported and compiled at the same time.
    pub children: usize,
    pub limits: TimeLimits,
    pub quota: Quota,
}

/// A running evaluation plane for one target on one device.
#[derive(Debug)]
pub struct Plane {
    pub(super) config: PlaneConfig,
    pub(super) contract: Contract,
    device_name: String,
    versions: Versions,
    /// Parts of the sandbox that this machine does not enforce (best effort only).
    unprotected: Vec<String>,
    pub(super) referee: Mutex<Referee>,
    pub(super) zygote: RwLock<Zygote>,
    pub(super) supervision: Supervision,
    /// Programs that have been measured.
    pub(super) programs: Programs,
    pub(super) turn: GpuTurn,
    /// Children that may be imported and compiled at the same time.
    pub(super) slots: Semaphore,
    /// Children that may hold a context of the device at the same time: memory of the device, and a process.
    pub(super) contexts: Semaphore,
    /// Whether the baseline itself writes outside of its tensors: then that is no reason to reject.
    pub(super) baseline_strays: AtomicBool,
    /// Who may disturb the device's driver, and when.
    pub(super) driver: Driver,
    /// Children that may create their device context at the same time.
    pub(super) doors: Semaphore,
    /// Children that may hold memory of the device: one in its turn, the next ones ready.
    pub(super) deck: Semaphore,
    pub(super) watch: Watch,
    /// The static gate; it compares with the source as it stood.
    pub(super) policy: PolicyGate,
    /// What the baseline has been seen to launch.
    pub(super) launched: Launched,
    /// The baseline's child between two evaluations.
    pub(super) companion: Companion,
    /// What may disturb a measurement.
    pub(super) monitor: Monitor,
    /// Why nothing is known of that, where it is so.
    unmonitored: Option<String>,
    l2_bytes: Option<u64>,
    /// What torch says of the device; `None` on the cpu.
    pub(super) properties: Option<Value>,
    /// What the baseline's process was seen to do.
    pub(super) habits: Habits,
    /// What a child needs to call on a case: known after its first use.
    pub(super) layouts: Mutex<HashMap<usize, Value>>,
    pub(super) openings: Openings,
    /// The baseline's times.
    pub(super) standards: Standards,
    pub(super) light: Light,
    harness: PathBuf,
    children_made: AtomicU64,
    scratch: TempDir,
}

impl Plane {
    /// Opens the contract and starts the zygote, both at once: each imports torch.
    pub async fn start(config: PlaneConfig) -> Result<Self, EvaluateError> {
        scratch::sweep(&std::env::temp_dir());
        let (monitor, unmonitored) = begin_monitor(config.device);
        let scratch = tempfile::Builder::new()
            .prefix(&scratch::prefix())
            .tempdir()
            .map_err(|source| EvaluateError::Scratch { path: std::env::temp_dir(), source })?;
        for name in [SHARED, CHILDREN, REFEREE, ZYGOTE] {
            let path = scratch.path().join(name);
            std::fs::create_dir_all(&path)
                .map_err(|source| EvaluateError::Scratch { path, source })?;
        }
        let harness = harness::unpack(scratch.path())
            .map_err(|source| EvaluateError::Scratch { path: scratch.path().to_owned(), source })?;

        let starter = Starter { config: &config, harness: &harness, folder: scratch.path() };
        let (referee, zygote) = tokio::join!(starter.open_referee(0), starter.greet_zygote(0));
        let ((referee, opened), (zygote, hello)) = (referee?, zygote?);
        if !hello.missing.is_empty() && !config.best_effort {
            return Err(EvaluateError::Sandbox { missing: hello.missing });
        }
        let rules = PolicyRules::of(&config.target, &opened.contract);
        let unreadable = |reason: String, line: Option<u32>| EvaluateError::Contract {
            reason,
            file: Some(config.target.source.display().to_string()),
            line,
        };
        let baseline = Source::parse(&*config.target.text)
            .map_err(|error| unreadable(error.to_string(), Some(error.line)))?;
        let policy = PolicyGate::new(baseline, rules)
            .map_err(|rejection| unreadable(rejection.reason, rejection.line))?;
        let children = || Semaphore::new(config.children.max(1));
        let (slots, contexts) = (children(), children());
        let (doors, deck) = (Semaphore::new(DOORS), Semaphore::new(DECK));
        Ok(Self {
            companion: Companion::default(),
            monitor,
            unmonitored,
            l2_bytes: opened.l2_bytes,
            properties: opened.properties,
            contract: opened.contract,
            device_name: opened.device_name,
            versions: opened.versions,
            unprotected: hello.missing,
            referee: Mutex::new(referee),
            zygote: RwLock::new(zygote),
            supervision: Supervision::default(),
            programs: Programs::default(),
            turn: GpuTurn::default(),
            slots,
            contexts,
            baseline_strays: AtomicBool::new(false),
            driver: Driver::default(),
            doors,
            deck,
            watch: Watch::start(),
            policy,
            launched: Launched::default(),
            habits: Habits::default(),
            layouts: Mutex::default(),
            openings: Openings::default(),
            standards: Standards::default(),
            light: Light::default(),
            harness,
            children_made: AtomicU64::new(0),
            scratch,
            config,
        })
    }

    /// What torch would say of a device of `arch`, where it is the one that is here: another has
    /// other limits, which a candidate may go by.
    pub(super) fn properties_of(&self, arch: Arch) -> Option<&Value> {
        let here = match self.config.device {
            Device::Cuda { capability, .. } => capability == (arch.major, arch.minor),
            Device::Cpu => false,
        };
        self.properties.as_ref().filter(|_| here)
    }

    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    pub fn device(&self) -> Device {
        self.config.device
    }

    /// The device as its vendor calls it.
    pub fn device_name(&self) -> &str {
        &self.device_name
    }

    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Parts of the sandbox that this machine does not enforce.
    pub fn unprotected(&self) -> &[String] {
        &self.unprotected
    }

    /// Bytes to overwrite between two timed calls: twice the L2 cache, so that none of it keeps what
    /// an earlier call left there. Nothing on the cpu.
    pub fn flush_bytes(&self) -> u64 {
        match self.config.device {
            Device::Cpu => 0,
            Device::Cuda { .. } => {
                2 * self.l2_bytes.filter(|bytes| *bytes > 0).unwrap_or(LARGEST_L2)
            }
        }
    }

    /// What a reader of timings must know of the GPU: other people's processes on it, or that it
    /// cannot be watched.
    pub fn conditions(&self) -> Vec<String> {
        let tenants = self
            .monitor
            .foreign()
            .into_iter()
            .map(|tenant| format!("process {} was using the GPU meanwhile", named(tenant.pid)));
        let unwatched = self.unmonitored.iter().map(|reason| {
            format!("clocks, heat and other processes on the GPU could not be watched: {reason}")
        });
        tenants.chain(unwatched).collect()
    }

    /// Seconds for which the GPU was held so far.
    pub fn gpu_seconds(&self) -> f64 {
        self.turn.held_seconds()
    }

    /// Makes the inputs of every case once, so that their shapes are known and the device has
    /// room for each, and counts what the reference does; gives their layouts in the order of the
    /// cases.
    pub async fn lay_out(&self, seed: u64) -> Result<Vec<Value>, EvaluateError> {
        let mut layouts = Vec::with_capacity(self.contract.cases.len());
        for case in 0..self.contract.cases.len() {
            let seed = seed & 0xffff_ffff;
            layouts.push(self.layout(case, seed).await?);
            self.count_work(case, seed).await;
        }
        Ok(layouts)
    }

    /// Runs wrong answers through the correctness gate of a case.
    pub async fn audit(&self, case: usize, seed: u64) -> Result<Vec<Mutant>, EvaluateError> {
        let _turn = self.turn.take().await;
        let mut referee = self.referee.lock().await;
        referee.audit(case, &self.contract.cases[case], seed).await
    }

    /// Ends every process of the plane.
    pub async fn close(self) {
        self.zygote.into_inner().close().await;
        self.referee.into_inner().close().await;
        end_residents(&self.scratch.path().join(ZYGOTE)).await;
    }

    /// A new zygote, and nothing left of the old one.
    pub(super) async fn replace_zygote(&self) -> Result<(), EvaluateError> {
        let mut current = self.zygote.write().await;
        let (zygote, _) = self.starter().greet_zygote(current.generation + 1).await?;
        std::mem::replace(&mut *current, zygote).kill().await;
        Ok(())
    }

    /// A new referee, with the same contract; inputs and answers follow from their seeds.
    pub(super) async fn replace_referee(&self) -> Result<(), EvaluateError> {
        let mut current = self.referee.lock().await;
        let next = current.generation + 1;
        // The old one first: the device may not have room for the inputs of both.
        current.kill().await;
        let (referee, _) = self.starter().open_referee(next).await?;
        *current = referee;
        self.layouts.lock().await.clear();
        self.openings.forget();
        Ok(())
    }

    /// A new child with a scratch folder of its own.
    pub(super) async fn fork(&self) -> Result<super::child::ChildProcess, EvaluateError> {
        let number = self.children_made.fetch_add(1, Ordering::Relaxed);
        let scratch = self.scratch.path().join("children").join(number.to_string());
        std::fs::create_dir_all(&scratch)
            .map_err(|source| EvaluateError::Scratch { path: scratch.clone(), source })?;
        let zygote = self.zygote.read().await;
        match zygote.fork(&scratch).await {
            Ok(child) => Ok(child),
            Err(error) => Err(zygote_fault(&zygote, "forking", error).await),
        }
    }

    /// Kills a child, waits until it is gone and removes its scratch folder.
    pub(super) async fn discard(&self, mut child: super::child::ChildProcess) {
        child.kill();
        child.exit(Duration::from_secs(5)).await;
        self.zygote.read().await.forget(child.pid());
        // What cannot be removed goes with the plane's own scratch folder.
        std::fs::remove_dir_all(child.scratch()).ok();
    }

    pub(super) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    pub(super) fn starter(&self) -> Starter<'_> {
        Starter { config: &self.config, harness: &self.harness, folder: self.scratch.path() }
    }
}

/// Before anything of ours is on the device, so that who is there already is known to be foreign.
fn begin_monitor(device: Device) -> (Monitor, Option<String>) {
    let Device::Cuda { index, .. } = device else { return (Monitor::default(), None) };
    match Monitor::begin(index) {
        Ok(monitor) => (monitor, None),
        Err(reason) => (Monitor::default(), Some(reason.to_string())),
    }
}

/// Shared by the tasks of a run.
pub type SharedPlane = Arc<Plane>;
