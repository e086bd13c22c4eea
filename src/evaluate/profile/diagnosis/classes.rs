//! The class of a call: which resource its time goes to.

use super::Symptom;
use crate::kernel::{Bottleneck, BottleneckClass, Profile};

/// NVIDIA's rule of thumb: a unit under this share of its peak is not what bounds a kernel.
const BOUND: f64 = 60.0;
/// As busy as real kernels get a unit, percent.
const LIMIT: f64 = 80.0;

pub(super) fn class(profile: &Profile, found: &[(Option<String>, Symptom)]) -> BottleneckClass {
    let shows = |bottleneck| found.iter().any(|(_, symptom)| symptom.bottleneck == bottleneck);
    if shows(Bottleneck::LaunchOverhead) {
        return BottleneckClass::Launch;
    }
    let mean = |figure: fn(&crate::kernel::KernelProfile) -> Option<f64>| {
        profile.mean(figure).unwrap_or(0.0)
    };
    let sm = mean(|kernel| kernel.throughput.sm);
    let memory = mean(|kernel| kernel.throughput.memory);
    let dram = mean(|kernel| kernel.throughput.dram);
    let tensor = mean(|kernel| kernel.pipes.tensor);
    // Busy with work that is not needed is not near the limit.
    let wasteful = found.iter().any(|(_, symptom)| {
        symptom.severity > 0.2
            && !matches!(symptom.bottleneck, Bottleneck::MemoryPeak | Bottleneck::ComputePeak)
    });
    if (dram >= LIMIT || tensor >= LIMIT) && !wasteful {
        BottleneckClass::NearLimit
    } else if shows(Bottleneck::Fp32Units) && sm >= memory {
        BottleneckClass::Compute
    } else if sm.max(memory) < BOUND {
        BottleneckClass::Latency
    } else if memory >= sm {
        BottleneckClass::Memory
    } else {
        BottleneckClass::Compute
    }
}
