//! Ceilings of the device: stored ones, else measured at the first use, else from its clocks.

use std::{
    path::PathBuf,
    time::{Instant, SystemTime},
};

use serde::Serialize;

use super::{
    error::EngineError,
    session::{PlaneOptions, database_path, launcher, with_database},
};
use crate::{
    evaluate::{Calibrator, Device, Interpreter, Plane},
    gpu::{self, DeviceFacts},
    kernel::{CeilingMethod, Ceilings, Precision},
    store::{CeilingKey, CeilingStore, SqliteStore},
};

/// A calibration that a person asks for.
#[derive(Clone, Debug)]
pub struct CalibrateRequest {
    pub device: Device,
    pub interpreter: Interpreter,
    pub best_effort: bool,
    /// Where the ceilings are kept.
    pub database: Option<PathBuf>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Calibrated {
    pub facts: DeviceFacts,
    pub driver: String,
    pub ceilings: Ceilings,
    /// Seconds that it took.
    pub seconds: f64,
    pub notes: Vec<String>,
}

/// The JSON that `kernelbrain calibrate --json` prints.
#[derive(Debug, Serialize)]
struct CalibratedJson<'a> {
    schema: u32,
    device: DeviceJson<'a>,
    seconds: f64,
    ceilings: &'a Ceilings,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct DeviceJson<'a> {
    name: &'a str,
    uuid: &'a str,
    driver: &'a str,
    compute_capability: String,
    multiprocessors: u32,
    clocks: String,
    memory_bus_bits: Option<u32>,
    l2_bytes: u64,
    mig: bool,
}

impl Calibrated {
    /// For programs; fields as `docs/report.md` has them.
    pub fn to_json(&self) -> serde_json::Value {
        let facts = &self.facts;
        let (major, minor) = facts.compute_capability;
        let json = CalibratedJson {
            schema: 1,
            device: DeviceJson {
                name: &facts.name,
                uuid: &facts.uuid,
                driver: &self.driver,
                compute_capability: format!("{major}.{minor}"),
                multiprocessors: facts.sm_count,
                clocks: facts.clocks(),
                memory_bus_bits: facts.memory_bus_bits,
                l2_bytes: facts.l2_bytes,
                mig: facts.mig,
            },
            seconds: self.seconds,
            ceilings: &self.ceilings,
            notes: &self.notes,
        };
        serde_json::to_value(json).unwrap_or_default()
    }
}

/// Measures a GPU in half a minute at most, and keeps what was found.
pub async fn calibrate(request: CalibrateRequest) -> Result<Calibrated, EngineError> {
    let Device::Cuda { index, .. } = request.device else {
        return Err(EngineError::Environment(
            "there is nothing to calibrate on the cpu device: Triton's interpreter has no speed of \
             light"
                .into(),
        ));
    };
    let begun = Instant::now();
    with_database(request.database, async |store| {
        let (facts, key) = identify(index)?;
        let calibrator = Calibrator {
            interpreter: request.interpreter,
            launcher: launcher()?,
            best_effort: request.best_effort,
        };
        let measured = calibrator.measure(index, CeilingMethod::Full).await?;
        let ceilings = with_facts(measured, &facts);
        store.put_ceilings(&key, &ceilings, SystemTime::now()).await?;
        Ok(Calibrated {
            notes: notes(&facts),
            driver: key.driver,
            seconds: begun.elapsed().as_secs_f64(),
            facts,
            ceilings,
        })
    })
    .await
}

/// Tells `plane`, which has nothing to do yet, what its device reaches at best. Ceilings are kept in
/// `store`, else in the user's own database. What stands in the way is told to `note` and costs the
/// speed of light only. Nothing on the cpu device.
pub(super) async fn illuminate(
    plane: &Plane,
    options: &PlaneOptions,
    store: Option<&SqliteStore>,
    calibrate: bool,
    note: &mut (dyn FnMut(&str) + Send),
) {
    let Device::Cuda { index, .. } = plane.device() else { return };
    let (facts, key) = match identify(index) {
        Ok(identified) => identified,
        Err(error) => return note(&format!("no speed of light: {error}")),
    };
    notes(&facts).iter().for_each(|text| note(text));
    let mut own = None;
    if store.is_none() {
        match open_database().await {
            Ok(opened) => own = Some(opened),
            Err(error) => note(&format!("ceilings cannot be kept: {error}")),
        }
    }
    let device = (index, &facts, &key);
    let ceilings = look_up(device, options, store.or(own.as_ref()), calibrate, note).await;
    plane.set_ceilings(ceilings);
    if let Some(own) = own {
        own.close().await;
    }
}

/// The ceilings of a device: those in `store`, else measured and kept there, else from its clocks.
async fn look_up(
    (index, facts, key): (u32, &DeviceFacts, &CeilingKey),
    options: &PlaneOptions,
    store: Option<&SqliteStore>,
    calibrate: bool,
    note: &mut (dyn FnMut(&str) + Send),
) -> Ceilings {
    if let Some(store) = store {
        match store.find_ceilings(key).await {
            Ok(Some(ceilings)) => return ceilings,
            Ok(None) => {}
            Err(error) => note(&format!("ceilings cannot be kept: {error}")),
        }
    }
    if !calibrate {
        note("not calibrated: bounds rest on the memory's theoretical bandwidth only");
        return with_facts(Ceilings::default(), facts);
    }
    let ceilings = first_use(index, facts, options, note).await;
    if let Some(store) = store
        && ceilings.method != CeilingMethod::Theoretical
        && let Err(error) = store.put_ceilings(key, &ceilings, SystemTime::now()).await
    {
        note(&format!("ceilings cannot be kept: {error}"));
    }
    ceilings
}

async fn open_database() -> Result<SqliteStore, EngineError> {
    Ok(SqliteStore::open(&database_path(None)?).await?)
}

/// Measures in a few seconds; falls back on what the driver says.
async fn first_use(
    index: u32,
    facts: &DeviceFacts,
    options: &PlaneOptions,
    note: &mut (dyn FnMut(&str) + Send),
) -> Ceilings {
    note(&format!(
        "calibrating {} for its first use, which takes up to 8 s (`kernelbrain calibrate` is more \
         thorough, --no-calibrate skips it)",
        facts.name
    ));
    let measured = match launcher() {
        Ok(launcher) => {
            let interpreter = options.interpreter.clone();
            let best_effort = options.best_effort;
            let calibrator = Calibrator { interpreter, launcher, best_effort };
            calibrator.measure(index, CeilingMethod::Short).await.map_err(EngineError::from)
        }
        Err(error) => Err(error),
    };
    match measured {
        Ok(measured) => {
            let ceilings = with_facts(measured, facts);
            note(&summary(&ceilings));
            ceilings
        }
        Err(error) => {
            note(&format!(
                "calibration failed, so that bounds rest on the memory's theoretical bandwidth only: \
                 {error}"
            ));
            with_facts(Ceilings::default(), facts)
        }
    }
}

fn identify(index: u32) -> Result<(DeviceFacts, CeilingKey), EngineError> {
    let facts = gpu::device_facts(index)
        .map_err(|reason| EngineError::Environment(format!("no GPU can be used: {reason}")))?;
    let driver = gpu::inventory().map(|inventory| inventory.driver_version);
    // Without NVML the supported CUDA version must do.
    let driver = driver
        .unwrap_or_else(|_| format!("CUDA {}.{}", facts.cuda_version.0, facts.cuda_version.1));
    let key = CeilingKey { gpu: facts.uuid.clone(), driver, clocks: facts.clocks() };
    Ok((facts, key))
}

fn with_facts(measured: Ceilings, facts: &DeviceFacts) -> Ceilings {
    let l2_bytes = (facts.l2_bytes > 0).then_some(facts.l2_bytes);
    Ceilings {
        theoretical_gbps: facts.theoretical_gbps(),
        l2_bytes: l2_bytes.or(measured.l2_bytes),
        ..measured
    }
}

/// What a reader must know about the device that was measured.
fn notes(facts: &DeviceFacts) -> Vec<String> {
    let shared = facts.mig.then(|| {
        format!(
            "cuda:{} is an instance of a GPU that is split by MIG: other instances share its memory's \
             bandwidth, and its ceilings hold while they are idle",
            facts.index
        )
    });
    let kinds = gpu::inventory().ok().and_then(|inventory| gpu::mixed_kinds(&inventory.gpus));
    let kinds = kinds.map(|text| format!("{text}; cuda:{} is {}", facts.index, facts.name));
    shared.into_iter().chain(kinds).collect()
}

/// The figures that matter most, in one line.
fn summary(ceilings: &Ceilings) -> String {
    let gbps = |name, value: Option<f64>| value.map(|value| format!("{name} {value:.0} GB/s"));
    let product = ceilings.products.get(&Precision::Bf16);
    let parts = [
        gbps("copy", ceilings.copy_gbps),
        gbps("read", ceilings.read_gbps),
        product.map(|tera| format!("bf16 product {tera:.0} TFLOP/s")),
        ceilings.launch_floor_us.map(|us| format!("launch {us:.1} µs")),
    ];
    format!("ceilings: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h200() -> DeviceFacts {
        DeviceFacts {
            index: 0,
            uuid: "GPU-1a2b3c4d-0011-2233-4455-66778899aabb".into(),
            name: "NVIDIA H200".into(),
            compute_capability: (9, 0),
            sm_count: 132,
            l2_bytes: 60 << 20,
            sm_clock_khz: Some(1_980_000),
            memory_clock_khz: Some(3_201_000),
            memory_bus_bits: Some(6144),
            cuda_version: (13, 0),
            mig: false,
        }
    }

    #[test]
    fn what_the_driver_says_is_part_of_the_ceilings() {
        let ceilings = with_facts(
            Ceilings { copy_gbps: Some(4251.0), l2_bytes: Some(1), ..Ceilings::default() },
            &h200(),
        );
        assert_eq!(ceilings.l2_bytes, Some(60 << 20));
        assert!(ceilings.theoretical_gbps > ceilings.copy_gbps);
        assert_eq!(summary(&ceilings), "ceilings: copy 4251 GB/s");
    }

    #[test]
    fn json_names_the_device_and_the_figures() {
        let calibrated = Calibrated {
            facts: DeviceFacts { mig: true, ..h200() },
            driver: "580.95.05".into(),
            ceilings: Ceilings {
                method: CeilingMethod::Full,
                products: [(Precision::Bf16, 742.0)].into(),
                ..Ceilings::default()
            },
            seconds: 21.5,
            notes: notes(&DeviceFacts { mig: true, ..h200() }),
        };
        let json = calibrated.to_json();
        assert_eq!(json["device"]["compute_capability"], "9.0");
        assert_eq!(json["device"]["clocks"], "1980/3201 MHz");
        assert_eq!(json["ceilings"]["method"], "full");
        assert_eq!(json["ceilings"]["products"]["bf16"], 742.0);
        assert!(json["notes"][0].as_str().unwrap().contains("MIG"));
    }

    #[tokio::test]
    async fn the_interpreter_has_no_ceilings() {
        let request = CalibrateRequest {
            device: Device::Cpu,
            interpreter: Interpreter {
                executable: "/nonexistent/python".into(),
                paths: Vec::new(),
                missing: Vec::new(),
            },
            best_effort: true,
            database: None,
        };
        let error = calibrate(request).await.unwrap_err();
        assert_eq!(error.exit_status(), crate::engine::exit::ENVIRONMENT);
        assert!(error.to_string().contains("nothing to calibrate"), "{error}");
    }
}
