//! An evaluation plane with its real processes, without a search around it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod light;
mod profile;
mod racing;

use std::time::Duration;

use kernelbrain::{
    engine::machine,
    evaluate::{Device, PlaneConfig, Quota, TimeLimits},
    kernel::Target,
};

/// A plane for `target` on the cpu whose limits no honest step meets, also beside other tests.
fn config(target: Target) -> PlaneConfig {
    let patience = Duration::from_secs(120);
    PlaneConfig {
        target,
        device: Device::Cpu,
        interpreter: machine::find_python(machine::named_python(None).as_deref()).unwrap(),
        launcher: env!("CARGO_BIN_EXE_kernelbrain").into(),
        best_effort: false,
        children: 2,
        limits: TimeLimits {
            import: patience,
            compile: patience,
            call: patience,
            referee: patience,
        },
        quota: Quota { memory_bytes: 8 << 30, disk_bytes: 8 << 30, processes: 48 },
    }
}
