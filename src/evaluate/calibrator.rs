//! Measures a device's ceilings in a process of its own (`harness/calibrate.py`).

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::Deserialize;
use serde_json::json;

use super::{
    error::EvaluateError,
    harness,
    interpreter::Interpreter,
    sandbox::{Ground, Policy},
    scratch,
    spawn::Spawn,
    wire::{Connection, WireError},
};
use crate::kernel::{CeilingMethod, Ceilings, Precision};

/// Seconds that a calibration takes at most, from the start of its process.
const THOROUGH_SECONDS: f64 = 28.0;
const SHORT_SECONDS: f64 = 7.5;

/// What an overloaded machine may take beyond that.
const GRACE: Duration = Duration::from_secs(30);

/// How ceilings are measured.
#[derive(Clone, Debug)]
pub struct Calibrator {
    pub interpreter: Interpreter,
    /// This binary, which confines itself and becomes Python (`kernelbrain sandbox-exec`).
    pub launcher: PathBuf,
    /// Go on where the kernel cannot confine everything.
    pub best_effort: bool,
}

/// The answer to `calibrate`.
#[derive(Debug, Deserialize)]
struct Measured {
    l2_bytes: Option<u64>,
    read_gbps: Option<f64>,
    copy_gbps: Option<f64>,
    l2_gbps: Option<f64>,
    launch_floor_us: Option<f64>,
    products: BTreeMap<Precision, f64>,
    skipped: BTreeMap<String, String>,
}

impl Calibrator {
    /// Measures `cuda:index`, which must be free of other work. Whether `method` is
    /// [`CeilingMethod::Full`] decides between half a minute and a few seconds.
    pub async fn measure(
        &self,
        index: u32,
        method: CeilingMethod,
    ) -> Result<Ceilings, EvaluateError> {
        let scratch = tempfile::Builder::new()
            .prefix(&scratch::prefix())
            .tempdir()
            .map_err(|source| EvaluateError::Scratch { path: std::env::temp_dir(), source })?;
        let fail = |source| EvaluateError::Scratch { path: scratch.path().to_owned(), source };
        let home = scratch.path().join("home");
        std::fs::create_dir(&home).map_err(fail)?;
        let harness = harness::unpack(scratch.path()).map_err(fail)?;
        let policy = Policy::process(&Ground {
            python: self.interpreter.paths.clone(),
            readable: vec![harness.clone()],
            writable: vec![home.clone()],
            gpu: true,
            best_effort: self.best_effort,
            profiler: false,
        });
        let flags = ["-I", "-B", "-u"].map(Into::into);
        let script = harness.join("calibrate.py").into_os_string();
        let mut spawned = Spawn {
            launcher: &self.launcher,
            policy: &policy,
            die_with_parent: true,
            scratch: &home,
            program: &self.interpreter.executable,
            arguments: flags.into_iter().chain([script]).collect(),
            directory: &home,
            environment: vec![("PYTHONDONTWRITEBYTECODE", "1".into())],
        }
        .connected()?;
        let thorough = method == CeilingMethod::Full;
        let seconds = if thorough { THOROUGH_SECONDS } else { SHORT_SECONDS };
        let body =
            json!({"device": format!("cuda:{index}"), "seconds": seconds, "thorough": thorough});
        let limit = Duration::from_secs_f64(seconds) + GRACE;
        let answer: Result<Measured, WireError> =
            Connection::new(spawned.socket).request("calibrate", body, limit).await;
        spawned.process.kill().await.ok();
        match answer {
            Ok(measured) => Ok(measured.ceilings(method)),
            Err(WireError::Refused(remote)) if remote.kind == "out_of_memory" => {
                Err(EvaluateError::OutOfMemory { reason: remote.message })
            }
            Err(WireError::Refused(remote)) if remote.kind == "device" => {
                Err(EvaluateError::Device { reason: remote.message })
            }
            Err(other) => Err(EvaluateError::Process {
                what: "the calibration".into(),
                error: Box::new(other),
                log: spawned.log.final_lines(6).await,
                lost: None,
            }),
        }
    }
}

impl Measured {
    /// What is no positive number counts as not measured.
    fn ceilings(self, method: CeilingMethod) -> Ceilings {
        let sound = |value: Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0);
        Ceilings {
            method,
            theoretical_gbps: None,
            read_gbps: sound(self.read_gbps),
            copy_gbps: sound(self.copy_gbps),
            l2_bytes: self.l2_bytes.filter(|bytes| *bytes > 0),
            l2_gbps: sound(self.l2_gbps),
            launch_floor_us: sound(self.launch_floor_us),
            products: self
                .products
                .into_iter()
                .filter(|(_, t)| sound(Some(*t)).is_some())
                .collect(),
            skipped: self.skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_the_protocol_has_it() {
        let told = serde_json::json!({
            "device_name": "NVIDIA H200", "l2_bytes": 62_914_560_u64,
            "read_gbps": 4512.5, "copy_gbps": 4251.0, "l2_gbps": null, "launch_floor_us": 0.0,
            "products": {"bf16": 742.1, "int8": -1.0}, "skipped": {"l2": "time ran out"},
        });
        let measured: Measured = serde_json::from_value(told).unwrap();
        let ceilings = measured.ceilings(CeilingMethod::Short);
        assert_eq!(ceilings.read_gbps, Some(4512.5));
        assert_eq!(ceilings.launch_floor_us, None, "no kernel takes no time");
        assert_eq!(ceilings.products, [(Precision::Bf16, 742.1)].into());
        assert_eq!(ceilings.skipped["l2"], "time ran out");
    }

    /// The whole way to the process and back, where there is no GPU to measure.
    #[tokio::test]
    async fn a_process_that_cannot_start_is_named() {
        let calibrator = Calibrator {
            interpreter: Interpreter {
                executable: "/nonexistent/python".into(),
                paths: Vec::new(),
                missing: Vec::new(),
            },
            launcher: "/bin/false".into(),
            best_effort: true,
        };
        let error = calibrator.measure(0, CeilingMethod::Short).await.unwrap_err();
        assert!(error.to_string().contains("the calibration"), "{error}");
    }
}
