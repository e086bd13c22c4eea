//! What the profiler read of a source, in words: one line a kernel, the longest first.

use serde::Serialize;

use super::filters::{figure, scaled};
use crate::kernel::{KernelProfile, OccupancyLimit, Profile};

/// Kernels that are told of; the rest of a call is usually short.
const KERNELS: usize = 3;
/// States in which warps spend their time, and the share below which one is not told, percent.
const STALLS: usize = 4;
const LEAST_STALL: f64 = 5.0;

/// One kernel's counters.
#[derive(Debug, Serialize)]
pub(super) struct Counters {
    kernel: String,
    /// Groups of figures that belong together.
    figures: Vec<String>,
}

pub(super) fn of(profile: &Profile) -> Vec<Counters> {
    let whole = profile.duration_us();
    let mut kernels: Vec<&KernelProfile> = profile.kernels.iter().collect();
    kernels.sort_by(|a, b| b.duration_us.total_cmp(&a.duration_us));
    let told = |kernel: &KernelProfile| Counters {
        kernel: kernel.name.clone(),
        figures: [
            time(kernel, whole),
            peaks(kernel),
            pipes(kernel),
            launch(kernel),
            occupancy(kernel),
            stalls(kernel),
        ]
        .into_iter()
        .flatten()
        .collect(),
    };
    kernels.into_iter().take(KERNELS).map(told).collect()
}

fn time(kernel: &KernelProfile, whole: f64) -> Option<String> {
    let share = 100.0 * kernel.duration_us / whole;
    let all = share.is_finite() && share < 99.5;
    let of_call = if all { format!(", {} % of the call", figure(share)) } else { String::new() };
    Some(format!("{} µs{of_call}", figure(kernel.duration_us)))
}

fn peaks(kernel: &KernelProfile) -> Option<String> {
    let of = &kernel.throughput;
    let known = percents([
        ("DRAM", of.dram),
        ("L2", of.l2),
        ("L1 and shared memory", of.l1),
        ("issue slots", kernel.issue.issued),
    ])?;
    Some(format!("of their peaks: {known}"))
}

fn pipes(kernel: &KernelProfile) -> Option<String> {
    let of = &kernel.pipes;
    let used = |value: Option<f64>| value.filter(|percent| *percent >= 1.0);
    let known = percents([
        ("tensor", of.tensor),
        ("FMA", used(of.fma)),
        ("ALU", used(of.alu)),
        ("special functions", used(of.xu)),
    ])?;
    Some(format!("pipes: {known}"))
}

fn launch(kernel: &KernelProfile) -> Option<String> {
    let launch = &kernel.launch;
    let programs = launch.programs.map(|count| {
        let warps = launch.warps_per_program();
        let warps = warps.map_or_else(String::new, |warps| format!(" of {} warps", figure(warps)));
        let waves = launch.waves;
        let waves = waves.map_or_else(String::new, |it| format!(" in {} waves", figure(it)));
        format!("{count:.0} programs{warps}{waves}")
    });
    let registers =
        launch.registers_per_thread.map(|count| format!("{} registers a thread", figure(count)));
    let shared =
        launch.shared_bytes.map(|bytes| format!("{} of shared memory", scaled(bytes, "B")));
    let known: Vec<String> = [programs, registers, shared].into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn occupancy(kernel: &KernelProfile) -> Option<String> {
    let of = &kernel.occupancy;
    let achieved = of.achieved?;
    let possible = of.theoretical.map_or_else(String::new, |it| format!(" of {}", figure(it)));
    let limit = of.limit.map_or("", |limit| match limit {
        OccupancyLimit::SharedMemory => ", limited by shared memory",
        OccupancyLimit::Registers => ", limited by registers",
        OccupancyLimit::Warps => ", limited by the warps of a program",
        OccupancyLimit::Programs => ", limited by the number of programs",
        OccupancyLimit::Barriers => ", limited by barriers",
    });
    let ready = kernel.issue.eligible_warps;
    let ready =
        ready.map_or_else(String::new, |it| format!(", {} warps a scheduler ready", figure(it)));
    Some(format!("occupancy {}{possible} %{limit}{ready}", figure(achieved)))
}

fn stalls(kernel: &KernelProfile) -> Option<String> {
    let mut states: Vec<(&str, f64)> = kernel
        .stalls
        .iter()
        .map(|(state, share)| (state.as_str(), *share))
        .filter(|(_, share)| *share >= LEAST_STALL)
        .collect();
    states.sort_by(|a, b| b.1.total_cmp(&a.1));
    states.truncate(STALLS);
    let known = percents(states.into_iter().map(|(state, share)| (state, Some(share))))?;
    Some(format!("warps spend their time in {known}"))
}

/// `a 12 %, b 3 %`; `None` where nothing is known.
fn percents<'a>(values: impl IntoIterator<Item = (&'a str, Option<f64>)>) -> Option<String> {
    let known: Vec<String> = values
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {} %", figure(value?))))
        .collect();
    (!known.is_empty()).then(|| known.join(", "))
}
