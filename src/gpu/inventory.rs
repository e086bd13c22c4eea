//! Which GPUs there are.

use std::ffi::OsStr;

use nvml_wrapper::{Device, Nvml, error::NvmlError};

/// One GPU. Memory in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// NVML's index: the order of the PCI bus, whatever `CUDA_VISIBLE_DEVICES` says.
    pub index: u32,
    /// For example `GPU-1a2b…`; the only name that survives a reboot.
    pub uuid: String,
    pub name: String,
    /// For example (9, 0); `None` when the driver does not say.
    pub compute_capability: Option<(u32, u32)>,
    pub memory_total: u64,
    pub memory_free: u64,
    /// Whether it is split into instances (MIG).
    pub mig: bool,
    /// Processes that hold a context on it, as far as the driver shows them; another container's
    /// stay hidden.
    pub processes: Vec<u32>,
}

/// The GPUs of this host and the driver they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    pub driver_version: String,
    /// Never empty.
    pub gpus: Vec<Gpu>,
}

/// Why no GPU was found, in words for a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoGpu(pub String);

/// Looks for GPUs; takes some milliseconds.
pub fn inventory() -> Result<Inventory, NoGpu> {
    let nvml = load().map_err(|error| NoGpu(explain(&error)))?;
    let count = nvml.device_count().map_err(|error| NoGpu(explain(&error)))?;
    let gpus: Vec<Gpu> = (0..count).filter_map(|index| examine(&nvml, index)).collect();
    if gpus.is_empty() {
        return Err(NoGpu("the NVIDIA driver is loaded but shows no GPU".into()));
    }
    let driver_version = nvml.sys_driver_version().unwrap_or_else(|_| "unknown".into());
    Ok(Inventory { driver_version, gpus })
}

/// By the name that a driver installs; the one without a number comes with development packages
/// only.
pub(super) fn load() -> Result<Nvml, NvmlError> {
    Nvml::builder().lib_path(OsStr::new("libnvidia-ml.so.1")).init().or_else(|error| match error {
        NvmlError::LibloadingError(_) => Nvml::init(),
        other => Err(other),
    })
}

/// `None` for a GPU that has fallen off the bus: it is no device to choose.
fn examine(nvml: &Nvml, index: u32) -> Option<Gpu> {
    let device = nvml.device_by_index(index).ok()?;
    let memory = device.memory_info().ok();
    Some(Gpu {
        index,
        uuid: device.uuid().ok()?,
        name: device.name().unwrap_or_else(|_| "NVIDIA GPU".into()),
        compute_capability: capability(&device),
        memory_total: memory.as_ref().map_or(0, |memory| memory.total),
        memory_free: memory.as_ref().map_or(0, |memory| memory.free),
        mig: device.mig_mode().is_ok_and(|mode| mode.current != 0),
        processes: device
            .running_compute_processes()
            .map(|running| running.iter().map(|process| process.pid).collect())
            .unwrap_or_default(),
    })
}

fn capability(device: &Device<'_>) -> Option<(u32, u32)> {
    let found = device.cuda_compute_capability().ok()?;
    Some((u32::try_from(found.major).ok()?, u32::try_from(found.minor).ok()?))
}

pub(super) fn explain(error: &NvmlError) -> String {
    match error {
        NvmlError::LibloadingError(_) => {
            "no NVIDIA driver: its library libnvidia-ml.so.1 is not installed".into()
        }
        NvmlError::DriverNotLoaded => {
            "the NVIDIA driver is installed but not loaded; `nvidia-smi` says more".into()
        }
        NvmlError::NoPermission => {
            "no permission to ask the NVIDIA driver; check the permissions of /dev/nvidia*".into()
        }
        other => format!("the NVIDIA driver does not answer: {other}"),
    }
}
