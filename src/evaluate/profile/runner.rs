//! Profiling one call of a candidate on a plane.
//!
//! The candidate is compiled in a child of the zygote as ever. A fresh process under Nsight Compute
//! takes over the child's scratch folder, where Triton's cache has everything, and so compiles
//! nothing any more. (The cache knows its files by their absolute paths and cannot be moved.) Only
//! the two calls in that process, the second of them observed, are made in the GPU turn; its start
//! and its imports, most of the time that profiling takes, are not.
//!
//! Nsight Compute itself is not confined: it needs the network's loopback and more. The process it
//! looks into confines itself before it reads its first request.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::process::Command;

use super::{
    Profiler, Trouble,
    least::least_bytes,
    lock, profiler, read,
    session::{Failure, Limits, Session},
};
use crate::{
    evaluate::{
        error::EvaluateError,
        judge::Stop,
        plane::{Device, Plane},
        spawn::inherited,
        steps::Steps,
        subject::{Subject, load_request},
        tuning::Tuning,
    },
    kernel::{Candidate, Profile, Profiling},
};

/// Another process of this machine may be profiling; longer than that it hardly does.
const LOCK_PATIENCE: Duration = Duration::from_secs(120);

/// What came of profiling, and for how long it held the GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiled {
    pub profiling: Profiling,
    pub gpu_seconds: f64,
}

/// Why there is no profile.
enum Gone {
    Reason(String),
    /// Nothing was seen, and nothing said why.
    Blind(String),
}

impl From<Failure> for Gone {
    fn from(failure: Failure) -> Self {
        Self::Reason(failure.to_string())
    }
}

impl From<EvaluateError> for Gone {
    fn from(error: EvaluateError) -> Self {
        Self::Reason(error.to_string())
    }
}

impl From<std::io::Error> for Gone {
    fn from(error: std::io::Error) -> Self {
        Self::Reason(format!("no folder for it can be made: {error}"))
    }
}

impl Plane {
    /// Profiles one call of `candidate` on the contract's case number `case`. Whatever goes wrong is
    /// a reason for the report and nothing else.
    pub async fn profile(
        &self,
        profiler: &Profiler,
        candidate: &Candidate,
        case: usize,
        seed: u64,
    ) -> Profiled {
        let mut gpu_seconds = 0.0;
        let profiling =
            match self.try_profile(profiler, candidate, case, seed, &mut gpu_seconds).await {
                Ok(profile) => Profiling::Done { profile: Box::new(profile) },
                Err(Gone::Reason(reason) | Gone::Blind(reason)) => Profiling::missing(reason),
            };
        Profiled { profiling, gpu_seconds }
    }

    async fn try_profile(
        &self,
        profiler: &Profiler,
        candidate: &Candidate,
        case: usize,
        seed: u64,
        gpu_seconds: &mut f64,
    ) -> Result<Profile, Gone> {
        let told = |stop| match stop {
            Stop::Rejected(rejection) => Gone::Reason(rejection.to_string()),
            Stop::Fault(error) => error.into(),
        };
        let folder = tempfile::Builder::new().prefix("profile-").tempdir_in(self.scratch())?;
        let mut subject = Subject::start(self, candidate, Tuning::Usual).await.map_err(told)?;
        let compiled = subject.compile(&[case], seed).await.map_err(told);
        // Its scratch folder is all that is needed of it from now on.
        subject.child.kill();
        let result = match compiled {
            Ok(_) => {
                let scratch = subject.child.scratch();
                let job = Job { plane: self, profiler, folder: folder.path(), scratch };
                match job.run(case, seed, false, gpu_seconds).await {
                    // Where less than the whole sandbox is accepted, the device may be opened
                    // before it.
                    Err(Gone::Blind(_)) if self.config.best_effort => {
                        job.run(case, seed, true, gpu_seconds).await
                    }
                    result => result,
                }
            }
            Err(gone) => Err(gone),
        };
        subject.end().await;
        result
    }
}

/// One candidate with its folders.
#[derive(Clone, Copy)]
struct Job<'a> {
    plane: &'a Plane,
    profiler: &'a Profiler,
    /// Not the candidate's.
    folder: &'a Path,
    /// The candidate's, from the child that compiled it.
    scratch: &'a Path,
}

impl Job<'_> {
    async fn run(
        self,
        case: usize,
        seed: u64,
        device_first: bool,
        gpu_seconds: &mut f64,
    ) -> Result<Profile, Gone> {
        let (log, socket) = (self.folder.join("ncu.csv"), self.folder.join("socket"));
        for stale in [&log, &socket] {
            fs::remove_file(stale).ok();
        }
        let command = self.command(&log, &socket, device_first)?;
        let patience = self.profiler.patience();
        let load = self.plane.config.limits.import;
        let limits = Limits { start: patience, load, profile: patience, finish: patience };
        let (steps, begun) = (Steps::default(), Instant::now());
        let mut session = Session::start(command, &socket, limits).await?;
        steps.note("start", begun);
        let watch = session.watched(&self.plane.watch, self.scratch, self.plane.config.quota);
        let result = self.observe(&mut session, case, seed, gpu_seconds, &steps).await;
        let begun = Instant::now();
        session.end().await;
        steps.note("end", begun);
        tracing::debug!(steps = %steps.json(), "profiled");
        if let Some(excess) = watch.excess() {
            return Err(Failure::Excess(excess).into());
        }
        self.judge(result, &log, case)
    }

    /// Gives the least bytes of the case.
    async fn observe(
        self,
        session: &mut Session,
        case: usize,
        seed: u64,
        gpu_seconds: &mut f64,
        steps: &Steps,
    ) -> Result<Option<u64>, Gone> {
        let plane = self.plane;
        let begun = Instant::now();
        session
            .load(load_request(plane, &self.scratch.join("candidate.py"), Tuning::Usual))
            .await?;
        steps.note("load", begun);
        let begun = Instant::now();
        let Some(lock) = lock::take(LOCK_PATIENCE).await else {
            let patience = LOCK_PATIENCE.as_secs();
            let reason = format!("another process was profiling on this machine for {patience} s");
            return Err(Gone::Reason(reason));
        };
        steps.note("wait for other profilers", begun);
        let begun = Instant::now();
        let quiet = plane.driver.quiet().await;
        let turn = plane.turn.take().await;
        plane.driver.settled().await;
        steps.note("wait for the turn", begun);
        let begun = Instant::now();
        let result = async {
            let mut referee = plane.referee.lock().await;
            let inputs = referee.inputs(case, &plane.contract.cases[case], seed).await?;
            drop(referee);
            session.profile(&inputs, &plane.call()).await?;
            let counted = plane.work(case).map(|work| work.bytes());
            Ok(counted.or_else(|| least_bytes(&inputs)))
        }
        .await;
        if result.is_err() {
            // What it runs must not disturb whoever has the turn next.
            session.kill();
        }
        *gpu_seconds += turn.seconds();
        drop((turn, quiet, lock));
        steps.note("turn", begun);
        let begun = Instant::now();
        if result.is_ok() {
            session.finish().await?;
        }
        steps.note("finish", begun);
        result
    }

    /// What the profiler wrote counts, whether or not the rest went well.
    fn judge(
        self,
        observed: Result<Option<u64>, Gone>,
        log: &Path,
        case: usize,
    ) -> Result<Profile, Gone> {
        let reading = read(&fs::read(log).unwrap_or_default());
        if reading.trouble == Some(Trouble::NoPermission) {
            return Err(Gone::Reason(profiler::NOT_PERMITTED.to_owned()));
        }
        let least_bytes = observed?;
        if reading.kernels.is_empty() {
            return Err(match reading.trouble {
                Some(Trouble::Other(words)) => {
                    Gone::Reason(format!("Nsight Compute says: {words}"))
                }
                _ => Gone::Blind(BLIND.to_owned()),
            });
        }
        Ok(Profile {
            case: self.plane.contract.cases[case].name.clone(),
            incomplete: reading.incomplete || reading.kernels.len() >= profiler::MOST_KERNELS,
            kernels: reading.kernels,
            least_bytes,
        })
    }

    fn command(self, log: &Path, socket: &Path, device_first: bool) -> Result<Command, Gone> {
        let starter = self.plane.starter();
        let tools = self.plane.scratch().join("profiler-tools");
        let home = self.folder.join("home");
        for folder in [&tools, &home] {
            fs::create_dir_all(folder)?;
        }
        let settings = self.settings(&tools, device_first)?;
        let mut command = Command::new(self.profiler.program());
        command
            .args(profiler::arguments(log))
            .arg(&starter.config.interpreter.executable)
            .args(["-I", "-B", "-u"])
            .arg(starter.harness.join("profiled.py"))
            .arg(socket)
            .arg(settings)
            .current_dir(self.scratch)
            .env_clear()
            .envs(inherited())
            .envs(starter.environment())
            // Numbers without a language's separators; the reader could do with them.
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", home)
            // The libraries inside the profiled process write there too, when it is confined.
            .env("TMPDIR", self.scratch);
        Ok(command)
    }

    /// Writes what the profiled process must know; gives the file's path.
    fn settings(self, tools: &Path, device_first: bool) -> Result<PathBuf, Gone> {
        let shared = self.plane.scratch().join("shared");
        let confinement = self.plane.starter().child_confinement(&shared);
        let mut confinement = confinement.map_err(|error| Gone::Reason(error.to_string()))?;
        confinement.policy.profiler = self.plane.config.device != Device::Cpu;
        confinement.policy.read.extend(self.profiler.installation());
        let settings = json!({
            "child": confinement,
            "device": self.plane.config.device.to_string(),
            "scratch": self.scratch,
            "tools": tools,
            "device_first": device_first,
        });
        let path = self.folder.join("settings.json");
        fs::write(&path, settings.to_string())?;
        Ok(path)
    }
}

const BLIND: &str = "Nsight Compute saw no kernel of the call and does not say why; `ncu \
    --version` and the driver may not fit together, or the sandbox keeps them apart (--sandbox \
    best-effort opens the GPU before the sandbox is entered)";
