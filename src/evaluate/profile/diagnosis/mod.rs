//! From a profile to what holds a kernel back.
//!
//! Every kind of bottleneck is a rule that looks at one kernel (or at the call as a whole), and
//! says how much of the time is lost to it and on which numbers that rests. The estimates are
//! rough, and only their order is used: causes rank above what follows from them (spilled
//! registers also cost DRAM traffic and occupancy).

mod advice;
mod call;
mod classes;
mod kernel;

use crate::kernel::{Bottleneck, Diagnosis, Figure, Finding, KernelProfile, Profile};

/// What is known of the device besides its counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceFacts {
    /// Device time of a kernel that does nothing, microseconds, as the profiler measures it.
    pub launch_floor_us: f64,
}

impl Default for DeviceFacts {
    /// An H200 under Nsight Compute.
    fn default() -> Self {
        Self { launch_floor_us: 2.0 }
    }
}

/// Findings that a person can take in.
const FINDINGS: usize = 3;
/// Findings below this are noise.
const LEAST_SEVERITY: f64 = 0.08;

/// One finding before it is told.
#[derive(Clone, Debug)]
struct Symptom {
    bottleneck: Bottleneck,
    /// Share of the kernel's time that is lost, 0 to 1.
    severity: f64,
    sentence: String,
    figures: Vec<Figure>,
}

impl Symptom {
    fn new(bottleneck: Bottleneck, severity: f64, sentence: String) -> Self {
        Self { bottleneck, severity: severity.clamp(0.0, 1.0), sentence, figures: Vec::new() }
    }

    fn figure(mut self, name: &str, value: impl Into<Option<f64>>, unit: &str) -> Self {
        if let Some(value) = value.into() {
            self.figures.push(Figure { name: name.into(), value, unit: unit.into() });
        }
        self
    }
}

/// Names what holds a call back.
///
/// `least_bytes` is the least that the case must read and write; without it the profile's own is
/// taken, and without both nothing is said about redundant traffic.
pub fn diagnose(profile: &Profile, least_bytes: Option<u64>, device: &DeviceFacts) -> Diagnosis {
    let profile = Profile { least_bytes: least_bytes.or(profile.least_bytes), ..profile.clone() };
    let amplification = profile.amplification();
    let mut found = call::symptoms(&profile, device);
    found.extend(merged(
        &profile,
        found.iter().any(|(_, s)| s.bottleneck == Bottleneck::LaunchOverhead),
    ));
    found.sort_by(|(_, a), (_, b)| b.severity.total_cmp(&a.severity));
    found.retain(|(_, symptom)| symptom.severity >= LEAST_SEVERITY);
    found.truncate(FINDINGS);
    let class = classes::class(&profile, &found);
    let longest = profile.longest();
    Diagnosis {
        class,
        findings: found.iter().map(|(_, symptom)| symptom.sentence.clone()).collect(),
        suggestions: advice::suggestions(found.iter().map(|(_, s)| s.bottleneck), class, longest),
        details: found
            .into_iter()
            .map(|(kernel, symptom)| Finding {
                bottleneck: symptom.bottleneck,
                kernel,
                severity: symptom.severity,
                figures: symptom.figures,
            })
            .collect(),
        amplification,
    }
}

/// What the kernels show, each kind once: told of the kernel that loses most to it, weighted by
/// the share of the call's time that such kernels take.
fn merged(profile: &Profile, short: bool) -> Vec<(Option<String>, Symptom)> {
    let total = profile.duration_us();
    let mut merged: Vec<(f64, Option<String>, Symptom)> = Vec::new();
    // Kernels that end before they begin in earnest show nothing but that.
    for kernel in profile.kernels.iter().filter(|_| !short) {
        let share = kernel.duration_us / total;
        for symptom in kernel::symptoms(kernel) {
            let lost = share * symptom.severity;
            let known = merged.iter_mut().find(|(_, _, s)| s.bottleneck == symptom.bottleneck);
            match known {
                Some((most, name, told)) => {
                    let sum = told.severity + lost;
                    if lost > *most {
                        (*most, *name, *told) = (lost, Some(kernel.name.clone()), symptom);
                    }
                    told.severity = sum;
                }
                None => {
                    let told = Symptom { severity: lost, ..symptom };
                    merged.push((lost, Some(kernel.name.clone()), told));
                }
            }
        }
    }
    let name_it = profile.kernels.len() > 1;
    let told = |(_, name, mut symptom): (f64, Option<String>, Symptom)| {
        if let Some(name) = name.as_deref().filter(|_| name_it) {
            symptom.sentence = format!("{name}: {}", symptom.sentence);
        }
        (name, symptom)
    };
    merged.into_iter().map(told).collect()
}

/// A share of a kernel's stalls, percent, over several states.
fn stalled(kernel: &KernelProfile, states: &[&str]) -> f64 {
    states.iter().filter_map(|state| kernel.stalls.get(*state)).sum()
}

/// The busiest of the kernel's compute and memory units, percent of peak.
fn busiest(kernel: &KernelProfile) -> Option<f64> {
    let (sm, memory) = (kernel.throughput.sm, kernel.throughput.memory);
    match (sm, memory) {
        (Some(sm), Some(memory)) => Some(sm.max(memory)),
        (one, other) => one.or(other),
    }
}
