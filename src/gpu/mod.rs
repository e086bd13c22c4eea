//! Floor 2: the GPUs of this host and what may be done with them. Asks the driver's management
//! library (NVML) and the driver itself, loaded when they are there: a host without NVIDIA is an
//! answer, not an error.

mod cuda;
mod inventory;
mod monitor;
mod profiler;
mod visible;

pub use cuda::{DeviceFacts, device_facts, mixed_kinds};
pub use inventory::{Gpu, Inventory, NoGpu, inventory};
pub use monitor::{Condition, Monitor, NvmlSensor, Sensor, Tenant, named};
pub use profiler::{ProfilingPermission, find_ncu, profiling_permission};
pub use visible::{visible, visible_here};

#[cfg(test)]
mod tests;
