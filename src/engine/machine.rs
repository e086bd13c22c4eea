//! What there is to run on: a Python with torch and triton, and a device.

use std::{
    env,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::error::EngineError;
use crate::{
    evaluate::{Device, Interpreter, REQUIREMENTS},
    gpu,
};

/// Names the interpreter for a whole shell or service.
pub const PYTHON_VARIABLE: &str = "KERNELBRAIN_PYTHON";

/// The virtual environment that `make setup` creates: in the user's cache folder, named after
/// the requirements it holds.
pub fn cached_environment() -> Option<PathBuf> {
    let folders = directories::ProjectDirs::from("", "", "kernelbrain")?;
    let digest = Sha256::digest(REQUIREMENTS.as_bytes());
    let hex: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    Some(folders.cache_dir().join(format!("venv-{hex}")))
}

/// The Python to use: the one that was named, else the first of `python3` and the cached
/// environment that has torch and triton.
pub fn find_python(named: Option<&Path>) -> Result<Interpreter, EngineError> {
    let environment = |text: String| EngineError::Environment(text);
    if let Some(python) = named {
        let interpreter = Interpreter::probe(python).map_err(environment)?;
        if interpreter.missing.is_empty() {
            return Ok(interpreter);
        }
        return Err(EngineError::Environment(format!(
            "{} cannot import {}; install what `kernelbrain doctor` lists, or choose another with \
             --python",
            python.display(),
            interpreter.missing.join(", ")
        )));
    }
    let cached = cached_environment().map(|folder| folder.join("bin/python"));
    let candidates = [Some(PathBuf::from("python3")), cached.filter(|python| python.exists())];
    candidates
        .into_iter()
        .flatten()
        .filter_map(|python| Interpreter::probe(&python).ok())
        .find(|interpreter| interpreter.missing.is_empty())
        .ok_or_else(|| {
            environment(format!(
                "no Python with torch and triton was found (looked at python3 and kernelbrain's \
                 own environment): run `make setup`, or name one with --python or {PYTHON_VARIABLE}"
            ))
        })
}

/// The interpreter named on the command line or by the environment.
pub fn named_python(option: Option<PathBuf>) -> Option<PathBuf> {
    option
        .or_else(|| env::var_os(PYTHON_VARIABLE).filter(|value| !value.is_empty()).map(Into::into))
}

/// Which device was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU, else the cpu.
    #[default]
    Auto,
    Cpu,
    Cuda(u32),
}

impl std::str::FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|index| index.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| "expected auto, cpu, cuda or cuda:N".to_owned()),
        }
    }
}

impl DeviceChoice {
    /// The device itself.
    pub fn resolve(self) -> Result<Device, EngineError> {
        // CUDA's own view: what torch counts, too, whatever order and instances that gives.
        let cuda = |index: u32| match gpu::device_facts(index) {
            Ok(facts) => Ok(Device::Cuda { index, capability: facts.compute_capability }),
            Err(reason) => Err(EngineError::Environment(format!(
                "no GPU can be used: {reason}; --device cpu runs in Triton's interpreter"
            ))),
        };
        match self {
            Self::Cpu => Ok(Device::Cpu),
            Self::Cuda(index) => cuda(index),
            // A GPU that is there and cannot be used is an error, not a reason for the cpu.
            Self::Auto => match gpu::inventory() {
                Ok(inventory) if !gpu::visible_here(&inventory.gpus).is_empty() => cuda(0),
                _ => cuda(0).or(Ok(Device::Cpu)),
            },
        }
    }
}
