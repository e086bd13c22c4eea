//! Starts the processes of a plane with the policies they run under.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    error::{EvaluateError, Lost, Part},
    plane::{CHILDREN, Device, PlaneConfig, REFEREE, SHARED, ZYGOTE},
    protocol::{Opened, ZygoteHello},
    referee::Referee,
    sandbox::{Confinement, Ground, Limits, Policy, SandboxError, Toolchain},
    spawn::{Spawn, Spawned},
    supervision::end_residents,
    wire::WireError,
    zygote::Zygote,
};
use crate::kernel::Target;

/// Importing torch and triton, on a machine whose disk is cold.
const ZYGOTE_START_LIMIT: Duration = Duration::from_secs(120);

/// Starts processes with the policies they run under.
#[derive(Clone, Copy, Debug)]
pub(super) struct Starter<'a> {
    pub(super) config: &'a PlaneConfig,
    pub(super) harness: &'a Path,
    /// The plane's own scratch folder.
    pub(super) folder: &'a Path,
}

impl<'a> Starter<'a> {
    /// The `generation`-th referee, with the contract open.
    pub(super) async fn open_referee(
        self,
        generation: u32,
    ) -> Result<(Referee, Opened), EvaluateError> {
        let (scratch, shared) = (self.folder.join(REFEREE), self.folder.join(SHARED));
        let spawned = self.referee(&scratch, &shared)?;
        let target = &self.config.target;
        let device = self.config.device.to_string();
        let roots = import_roots(target);
        let limit = self.config.limits.referee;
        Referee::open(spawned, generation, &target.contract, &device, &shared, &roots, limit).await
    }

    /// The `generation`-th zygote, ready to fork.
    pub(super) async fn greet_zygote(
        self,
        generation: u32,
    ) -> Result<(Zygote, ZygoteHello), EvaluateError> {
        let [home, children, shared] =
            [ZYGOTE, CHILDREN, SHARED].map(|name| self.folder.join(name));
        // What an earlier one has left behind would disturb every measurement.
        end_residents(&home).await;
        let zygote = Zygote::new(self.zygote(&home, &children, &shared)?, generation);
        let confinement = self
            .child_confinement(&shared)
            .map_err(|error| EvaluateError::Sandbox { missing: vec![error.to_string()] })?;
        let hello = zygote.hello(self.config.device, &confinement, ZYGOTE_START_LIMIT).await;
        match hello {
            Ok(hello) => Ok((zygote, hello)),
            Err(error) => Err(zygote_fault(&zygote, "starting", error).await),
        }
    }

    fn referee(self, scratch: &Path, shared: &Path) -> Result<Spawned, EvaluateError> {
        let contract = &self.config.target.contract;
        let mut ground = self.ground([scratch, shared]);
        // A folder for a gpu-mode task, else a file whose folder may hold more of the contract.
        ground.readable.push(contract.clone());
        ground.readable.extend(contract.parent().map(Path::to_owned));
        self.python("referee.py", &Policy::process(&ground), scratch, true)
    }

    /// It kills its children before it ends, and so must not be killed along with this process.
    fn zygote(
        self,
        scratch: &Path,
        children: &Path,
        shared: &Path,
    ) -> Result<Spawned, EvaluateError> {
        let policy = Policy::process(&self.ground([scratch, children, shared]));
        self.python("zygote.py", &policy, scratch, false)
    }

    /// What a child may do, as the zygote is told.
    pub(super) fn child_confinement(self, shared: &Path) -> Result<Confinement, SandboxError> {
        let packages = &self.config.interpreter.paths;
        let cc = std::env::var_os("CC").map(PathBuf::from);
        let tools = Toolchain::find(packages, cc.as_deref());
        let limits = Limits {
            memory_bytes: self.config.quota.memory_bytes,
            file_bytes: 512 << 20,
            open_files: 1024,
        };
        Policy::candidate(&self.ground([shared]), &tools).confinement(limits)
    }

    /// The repository's own test command, in a copy of the checkout.
    pub(super) fn repository_tests(
        self,
        command: &'a [String],
        checkout: &'a Path,
        scratch: &'a Path,
        import_root: &Path,
    ) -> Result<tokio::process::Command, EvaluateError> {
        let policy = Policy::process(&self.ground([checkout, scratch]));
        // Tests must see the torch and triton that the candidate was judged with.
        let program = match command[0].as_str() {
            "python" | "python3" => &self.config.interpreter.executable,
            other => Path::new(other),
        };
        let mut environment = self.environment();
        environment.push(("PYTHONPATH", import_root.as_os_str().to_owned()));
        Spawn {
            launcher: &self.config.launcher,
            policy: &policy,
            die_with_parent: true,
            scratch,
            program,
            arguments: command[1..].iter().map(Into::into).collect(),
            directory: checkout,
            environment,
        }
        .command()
    }

    fn python(
        self,
        script: &str,
        policy: &Policy,
        scratch: &Path,
        die_with_parent: bool,
    ) -> Result<Spawned, EvaluateError> {
        let script = self.harness.join(script).into_os_string();
        let flags = ["-I", "-B", "-u"].map(Into::into);
        Spawn {
            launcher: &self.config.launcher,
            policy,
            die_with_parent,
            scratch,
            program: &self.config.interpreter.executable,
            arguments: flags.into_iter().chain([script]).collect(),
            directory: scratch,
            environment: self.environment(),
        }
        .connected()
    }

    pub(super) fn environment(self) -> Vec<(&'static str, std::ffi::OsString)> {
        let mut environment = vec![
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
            // Line numbers in the binary would make equal programs differ.
            ("TRITON_DISABLE_LINE_INFO", "1".into()),
            // Compile workers would outlive the referee.
            ("TORCHINDUCTOR_COMPILE_THREADS", "1".into()),
        ];
        if self.config.device == Device::Cpu {
            environment.push(("TRITON_INTERPRET", "1".into()));
            // Threads that wait for work would spin, and take the cores from the other processes.
            environment.push(("OMP_WAIT_POLICY", "passive".into()));
        }
        environment
    }

    /// What every process of the plane reads: Python, its packages, the harness, and the checkout
    /// of an in-tree target; and what this one writes.
    fn ground<const N: usize>(self, writable: [&Path; N]) -> Ground {
        let package = self.config.target.package.as_ref();
        let readable = package.map(|package| package.repository.clone());
        Ground {
            python: self.config.interpreter.paths.clone(),
            readable: readable.into_iter().chain([self.harness.to_owned()]).collect(),
            writable: writable.map(Path::to_owned).to_vec(),
            gpu: self.config.device != Device::Cpu,
            best_effort: self.config.best_effort,
            profiler: false,
        }
    }
}

pub(super) async fn zygote_fault(zygote: &Zygote, doing: &str, error: WireError) -> EvaluateError {
    if let WireError::Refused(remote) = &error
        && remote.kind == "sandbox"
    {
        return EvaluateError::Sandbox { missing: vec![remote.message.clone()] };
    }
    let log = match error {
        WireError::Refused(_) => zygote.log().last_lines(6),
        _ => zygote.log().final_lines(6).await,
    };
    EvaluateError::Process {
        what: format!("the zygote, {doing}"),
        error: Box::new(error),
        log,
        lost: Some(Lost { part: Part::Zygote, generation: zygote.generation }),
    }
}

fn import_roots(target: &Target) -> Vec<&Path> {
    target.package.iter().map(|package| package.import_root.as_path()).collect()
}
