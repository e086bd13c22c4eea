//! From findings to moves: recipe verbs with a value or a direction, and expert tasks.

use crate::kernel::{Bottleneck, BottleneckClass, KernelProfile};

const MORE_WARPS: &str = "warps more";
const FEWER_WARPS: &str = "warps fewer";
const MOST_WARPS: f64 = 16.0;

/// The moves that address `found`, those of the first finding first, each once.
pub(super) fn suggestions(
    found: impl Iterator<Item = Bottleneck>,
    class: BottleneckClass,
    longest: Option<&KernelProfile>,
) -> Vec<String> {
    let mut moves: Vec<&str> = Vec::new();
    for list in found.map(against).chain([in_general(class)]) {
        for suggestion in list {
            if !moves.contains(suggestion) {
                moves.push(suggestion);
            }
        }
    }
    let warps = longest.and_then(|kernel| kernel.launch.warps_per_program());
    moves.into_iter().map(|suggestion| with_value(suggestion, warps)).collect()
}

/// The number of warps is known, and so is the next one.
fn with_value(suggestion: &str, warps: Option<f64>) -> String {
    match (suggestion, warps) {
        (MORE_WARPS, Some(warps)) if warps < MOST_WARPS => format!("warps {}", 2.0 * warps),
        (FEWER_WARPS, Some(warps)) if warps > 1.0 => format!("warps {}", (warps / 2.0).floor()),
        _ => suggestion.to_owned(),
    }
}

fn against(bottleneck: Bottleneck) -> &'static [&'static str] {
    match bottleneck {
        Bottleneck::UncoalescedAccess => {
            &["task memory-traffic", "swizzle", "hint", "tile larger", "cache"]
        }
        Bottleneck::BankConflicts => {
            &["task memory-traffic", "tile smaller", FEWER_WARPS, "stages"]
        }
        // The same tile over more threads needs fewer registers of each.
        Bottleneck::RegisterSpills => {
            &[MORE_WARPS, "tile smaller", "stages fewer", "unroll", "task tiling"]
        }
        Bottleneck::TooFewPrograms => {
            &["split", "tile smaller", MORE_WARPS, "task work-partitioning"]
        }
        Bottleneck::OccupancySharedMemory => {
            &["stages fewer", "pipeline fewer", "tile smaller", MORE_WARPS, "task tiling"]
        }
        Bottleneck::OccupancyRegisters => {
            &["tile smaller", MORE_WARPS, "stages fewer", "task tiling"]
        }
        Bottleneck::RedundantTraffic => {
            &["task memory-traffic", "task fusion", "swizzle", "evict", "tile larger"]
        }
        Bottleneck::Fp32Units => &["precision", "task tensor-cores", "tile"],
        Bottleneck::LaunchOverhead => {
            &["task fusion", "tile larger", FEWER_WARPS, "task launch-configuration"]
        }
        Bottleneck::DependencyChain => {
            &["pipeline more", "stages more", "unroll", "split", "task reduction"]
        }
        Bottleneck::AtomicContention => {
            &["task reduction", "split", "tile larger", "task work-partitioning"]
        }
        Bottleneck::MemoryPeak => &["evict", "cache", "task algebra"],
        Bottleneck::ComputePeak => &["precision", "task algebra"],
    }
}

fn in_general(class: BottleneckClass) -> &'static [&'static str] {
    match class {
        BottleneckClass::Memory => &["tile", "evict", MORE_WARPS],
        BottleneckClass::Compute => &["tile", MORE_WARPS, "stages", "precision"],
        BottleneckClass::Latency => &["warps", "pipeline", "stages", "tile"],
        BottleneckClass::Launch => &["tile larger"],
        BottleneckClass::NearLimit => &["warps", "tile"],
    }
}
