//! Rules that look at the call as a whole.

use super::{DeviceFacts, Symptom, busiest};
use crate::kernel::{Bottleneck, Profile};

pub(super) fn symptoms(profile: &Profile, device: &DeviceFacts) -> Vec<(Option<String>, Symptom)> {
    let launches = launch_overhead(profile, device);
    let traffic = if launches.is_some() { None } else { redundant_traffic(profile) };
    launches.into_iter().chain(traffic).map(|symptom| (None, symptom)).collect()
}

/// A kernel of less than this many times the launch floor is mostly launching.
const SHORT: f64 = 4.0;
/// Fewer kernels than this are not many.
const MANY: usize = 3;

/// Most of the time goes to kernels that are hardly longer than an empty one; or there is one
/// kernel, and it is.
fn launch_overhead(profile: &Profile, device: &DeviceFacts) -> Option<Symptom> {
    let floor = device.launch_floor_us;
    let total = profile.duration_us();
    let short: Vec<f64> = profile
        .kernels
        .iter()
        .filter(|kernel| kernel.duration_us < SHORT * floor)
        .filter(|kernel| busiest(kernel).is_none_or(|busy| busy < 40.0))
        .map(|kernel| kernel.duration_us)
        .collect();
    let share = short.iter().sum::<f64>() / total;
    let alone = profile.kernels.len() == short.len() && total < 1.75 * floor;
    if short.is_empty() || !(alone || short.len() >= MANY && share >= 0.6) {
        return None;
    }
    let longest = short.iter().copied().fold(0.0, f64::max);
    let sentence = if short.len() == 1 {
        format!("launch-bound: {total:.1} µs are hardly more than an empty kernel takes")
    } else {
        format!(
            "launch-bound: {} kernels of at most {longest:.1} µs each take {:.0} % of the time, \
             and an empty one takes {floor:.1} µs",
            short.len(),
            100.0 * share
        )
    };
    Some(
        Symptom::new(Bottleneck::LaunchOverhead, 0.95 * share, sentence)
            .figure("short_kernels", short.len() as f64, "")
            .figure("kernels", profile.kernels.len() as f64, "")
            .figure("mean_duration", total / profile.kernels.len() as f64, "µs"),
    )
}

/// Less than this is a workspace, or a row that did not stay in the cache.
const REDUNDANT: f64 = 1.4;

/// More DRAM traffic than the operation needs, in a call that the memory holds up.
fn redundant_traffic(profile: &Profile) -> Option<Symptom> {
    let amplification = profile.amplification()?;
    let dram = profile.mean(|kernel| kernel.throughput.dram)?;
    if amplification < REDUNDANT || dram < 25.0 {
        return None;
    }
    let gib = |bytes: f64| bytes / 1e9;
    let (moved, least) = (profile.dram_bytes()?, profile.least_bytes? as f64);
    let sentence = format!(
        "redundant traffic: {:.3} GB through DRAM where {:.3} GB would do, {amplification:.1} \
         times the least, in {} kernel{}",
        gib(moved),
        gib(least),
        profile.kernels.len(),
        if profile.kernels.len() == 1 { "" } else { "s" }
    );
    // Traffic that comes of scattered accesses or spills is told by those.
    let caused = profile.mean(|kernel| {
        let causes = super::kernel::symptoms(kernel).into_iter().filter(|symptom| {
            matches!(symptom.bottleneck, Bottleneck::UncoalescedAccess | Bottleneck::RegisterSpills)
        });
        Some(causes.map(|symptom| symptom.severity).fold(0.0, f64::max))
    });
    let own = if caused.unwrap_or(0.0) > 0.2 { 0.4 } else { 1.0 };
    let severity = (1.0 - 1.0 / amplification) * (dram / 70.0).min(1.0) * own;
    Some(
        Symptom::new(Bottleneck::RedundantTraffic, severity, sentence)
            .figure("amplification", amplification, "")
            .figure("dram_bytes", moved, "B")
            .figure("least_bytes", least, "B"),
    )
}
