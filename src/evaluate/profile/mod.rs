//! Profiles: what the hardware's counters say about a candidate, and what that means.
//!
//! [`Plane::profile`](super::Plane::profile) runs a candidate under Nsight Compute, [`read`] makes kernels of Nsight Compute's output, [`diagnose`] names what holds them back.

mod clock;
mod csv;
mod diagnosis;
mod least;
mod lock;
mod metrics;
mod number;
mod profiler;
mod reading;
mod runner;
mod session;

pub use clock::{doubt, excess};
pub use diagnosis::{DeviceFacts, diagnose};
pub use profiler::Profiler;
pub use reading::{Reading, Trouble, read};
pub use runner::Profiled;

#[cfg(test)]
mod tests;
