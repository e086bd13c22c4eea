//! What the timings of a run hold for.

use serde::{Deserialize, Serialize};

/// Device and versions under which a run is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// `cuda` or `cpu`.
    pub kind: String,
    /// Name of the device, for example `NVIDIA H200`.
    pub device: String,
    /// Version of the GPU's driver; `None` on the cpu device.
    pub driver: Option<String>,
    pub torch: String,
    pub triton: String,
    pub kernelbrain: String,
}

impl Environment {
    /// What differs between `self` and `later` so that timings of the two cannot be compared:
    /// device, driver or triton. `None` when they can.
    pub fn reset_against(&self, later: &Self) -> Option<String> {
        let driver = |environment: &Self| environment.driver.clone().unwrap_or("none".into());
        let parts = [
            ("device", self.kind.clone(), later.kind.clone()),
            ("device", self.device.clone(), later.device.clone()),
            ("driver", driver(self), driver(later)),
            ("triton", self.triton.clone(), later.triton.clone()),
        ];
        let changed: Vec<String> = parts
            .into_iter()
            .filter(|(_, before, after)| before != after)
            .map(|(what, before, after)| format!("{what} was {before} and is {after}"))
            .collect();
        (!changed.is_empty()).then(|| changed.join("; "))
    }
}
