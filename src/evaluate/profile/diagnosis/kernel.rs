//! Rules that look at one kernel.

use super::{Symptom, busiest, stalled};
use crate::kernel::{Bottleneck, KernelProfile, OccupancyLimit};

/// States in which a warp waits for an instruction of its own to end.
const DEPENDENCIES: [&str; 4] = ["long_scoreboard", "short_scoreboard", "wait", "branch_resolving"];

/// What one kernel shows.
pub(super) fn symptoms(kernel: &KernelProfile) -> Vec<Symptom> {
    let spills = spills(kernel);
    let atomics = atomics(kernel);
    let few = too_few_programs(kernel);
    let resources = occupancy(kernel);
    // Idle warps are the consequence of what was found already.
    let explained = atomics.is_some() || few.is_some() || resources.is_some() || spills.is_some();
    let chain = if explained { None } else { dependency_chain(kernel) };
    [
        uncoalesced(kernel),
        bank_conflicts(kernel),
        spills,
        few,
        resources,
        fp32_units(kernel),
        atomics,
        chain,
        peak(kernel),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How much a defect of memory accesses costs: all of it where the memory system is busy.
fn pressure(kernel: &KernelProfile) -> f64 {
    let waiting = stalled(kernel, &["long_scoreboard", "lg_throttle", "drain"]);
    let busy = kernel.throughput.memory.unwrap_or(0.0).max(kernel.throughput.l1.unwrap_or(0.0));
    (busy.max(0.6 * waiting) / 70.0).clamp(0.3, 1.0)
}

/// A warp's request for 32 values of 4 bytes touches 4 sectors at best, 32 at worst.
const SCATTERED: f64 = 7.5;
/// Vectors of 16 bytes a thread, perfectly arranged; more can only be scattered.
const WIDEST: f64 = 16.5;
/// Share of the sectors' bytes that is used.
const POOR_USE: f64 = 0.6;

/// Threads of a warp use a part of each sector they touch. One scalar that a whole warp loads does
/// so too, which is why a request must touch many.
fn uncoalesced(kernel: &KernelProfile) -> Option<Symptom> {
    let traffic = &kernel.traffic;
    let sides = [
        ("load", traffic.load_sectors, traffic.load_requests, traffic.load_bytes_per_sector),
        ("store", traffic.store_sectors, traffic.store_requests, traffic.store_bytes_per_sector),
    ];
    let all: f64 = sides.iter().filter_map(|(_, sectors, ..)| *sectors).sum();
    let whole = traffic.ideal_global_sectors.zip(traffic.global_sectors);
    let whole = whole.filter(|(_, touched)| *touched > 0.0).map(|(ideal, touched)| ideal / touched);
    let judge = |(what, sectors, requests, bytes): (&'static str, _, _, Option<f64>)| {
        let (sectors, requests): (f64, f64) = (sectors?, requests?);
        if requests <= 0.0 || all <= 0.0 {
            return None;
        }
        let each = sectors / requests;
        // 0 where the instructions that were counted are none.
        let known = bytes.filter(|bytes| *bytes > 0.0).map(|bytes| (bytes / 32.0).min(1.0));
        let used = known.or(whole).or((each > WIDEST).then_some(16.0 / each))?;
        let scattered = each > SCATTERED && used < POOR_USE;
        scattered.then_some((what, each, used, sectors / all))
    };
    let (what, each, used, share) =
        sides.into_iter().filter_map(judge).max_by(|a, b| a.3.total_cmp(&b.3))?;
    let sentence = format!(
        "uncoalesced {what}s: a warp's {what} touches {each:.1} sectors of 32 bytes and uses \
         {:.0} % of their bytes",
        100.0 * used
    );
    let severity = (1.0 - used) * share.sqrt() * pressure(kernel);
    Some(
        Symptom::new(Bottleneck::UncoalescedAccess, severity, sentence)
            .figure("sectors_per_request", each, "")
            .figure("bytes_used", 100.0 * used, "%"),
    )
}

/// Conflicts of less than this share of the accesses' cycles are ordinary.
const CONFLICTS: f64 = 0.3;

fn bank_conflicts(kernel: &KernelProfile) -> Option<Symptom> {
    let (conflicts, wavefronts) = (kernel.shared.conflicts?, kernel.shared.wavefronts?);
    if wavefronts <= 0.0 {
        return None;
    }
    let share = (conflicts / wavefronts).min(1.0);
    let waiting = stalled(kernel, &["short_scoreboard", "mio_throttle"]);
    let busy = kernel.shared.utilization.unwrap_or(0.0);
    let weight = (busy.max(waiting) / 70.0).min(1.0);
    if share < CONFLICTS || weight < 0.25 {
        return None;
    }
    let sentence = format!(
        "bank conflicts: {:.0} % of the cycles of shared memory accesses ({:.1} times the cycles \
         they need)",
        100.0 * share,
        1.0 / (1.0 - share).max(1.0 / 32.0)
    );
    Some(
        Symptom::new(Bottleneck::BankConflicts, share * weight, sentence)
            .figure("conflict_share", 100.0 * share, "%")
            .figure("shared_use", kernel.shared.utilization, "%"),
    )
}

/// Local memory of less than this share of the sectors is a stack frame in passing.
const LOCAL_SHARE: f64 = 0.1;

fn spills(kernel: &KernelProfile) -> Option<Symptom> {
    let local = kernel.traffic.local_bytes()?;
    let global = 32.0 * (kernel.traffic.load_sectors? + kernel.traffic.store_sectors?);
    let share = local / (local + global);
    if local <= 0.0 || share < LOCAL_SHARE {
        return None;
    }
    let registers = kernel.launch.registers_per_thread;
    let sentence = format!(
        "register spills: {} through local memory, {:.0} % of the traffic into the L1{}",
        mebibytes(local),
        100.0 * share,
        registers.map_or_else(String::new, |n| format!(" ({n:.0} registers a thread)"))
    );
    Some(
        Symptom::new(Bottleneck::RegisterSpills, 0.35 + 0.65 * share, sentence)
            .figure("local_bytes", local, "B")
            .figure("local_share", 100.0 * share, "%")
            .figure("registers", registers, ""),
    )
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

/// Multiprocessors without a program idle for the whole kernel.
fn too_few_programs(kernel: &KernelProfile) -> Option<Symptom> {
    let (programs, processors) = (kernel.launch.programs?, kernel.launch.multiprocessors?);
    if processors <= 0.0 || programs >= 0.9 * processors {
        return None;
    }
    let idle = 1.0 - programs / processors;
    let sentence = format!(
        "too few programs: a grid of {programs:.0} on {processors:.0} multiprocessors leaves \
         {:.0} % of them idle",
        100.0 * idle
    );
    Some(
        Symptom::new(Bottleneck::TooFewPrograms, idle, sentence)
            .figure("programs", programs, "")
            .figure("multiprocessors", processors, "")
            .figure("waves", kernel.launch.waves, ""),
    )
}

/// Above this a unit is busy enough that more warps would not help, percent.
const BUSY: f64 = 65.0;
/// Below this a multiprocessor can hardly hide anything, percent.
const FEW_WARPS: f64 = 30.0;

/// Few warps fit, nothing is busy, and another program would fit if it weren't for one resource.
fn occupancy(kernel: &KernelProfile) -> Option<Symptom> {
    let occupancy = &kernel.occupancy;
    let (theoretical, programs) = (occupancy.theoretical?, occupancy.programs?);
    let without = occupancy.programs_without_limit.unwrap_or(programs);
    let (bottleneck, what) = match occupancy.limit? {
        OccupancyLimit::SharedMemory => (
            Bottleneck::OccupancySharedMemory,
            kernel.launch.shared_bytes.map_or_else(
                || "shared memory".to_owned(),
                |bytes| format!("{:.0} KiB of shared memory a program", bytes / 1024.0),
            ),
        ),
        OccupancyLimit::Registers => (
            Bottleneck::OccupancyRegisters,
            kernel.launch.registers_per_thread.map_or_else(
                || "registers".to_owned(),
                |registers| format!("{registers:.0} registers a thread"),
            ),
        ),
        _ => return None,
    };
    let filled = kernel.launch.waves.is_none_or(|waves| waves >= 0.8);
    let busy = busiest(kernel)?;
    if theoretical > FEW_WARPS || without < 1.5 * programs || busy > BUSY || !filled {
        return None;
    }
    let sentence = format!(
        "low occupancy: {what} leave room for {programs:.0} on a multiprocessor, {theoretical:.0} \
         % of its warps, and its busiest unit is at {busy:.0} %"
    );
    let severity = (1.0 - busy / 100.0) * (1.0 - theoretical / 100.0);
    Some(
        Symptom::new(bottleneck, severity, sentence)
            .figure("theoretical_occupancy", theoretical, "%")
            .figure("achieved_occupancy", occupancy.achieved, "%")
            .figure("programs_per_multiprocessor", programs, "")
            .figure("shared_bytes", kernel.launch.shared_bytes, "B"),
    )
}

/// fp32 multiply-adds for each byte from DRAM, beyond which they can only come from products:
/// on an H200, 15 keep the fp32 units and the memory equally busy.
const PRODUCT_INTENSITY: f64 = 10.0;

fn fp32_units(kernel: &KernelProfile) -> Option<Symptom> {
    let (tensor, fma) = (kernel.pipes.tensor?, kernel.pipes.fma?);
    let alu = kernel.pipes.alu.unwrap_or(0.0);
    if tensor >= 1.0 || fma < 25.0 || fma < alu {
        return None;
    }
    let intensity = match (kernel.pipes.ffma, kernel.traffic.dram_bytes()) {
        (Some(ffma), Some(bytes)) => Some(ffma / bytes.max(1.0)),
        _ => None,
    };
    if intensity.is_some_and(|intensity| intensity < PRODUCT_INTENSITY) {
        return None;
    }
    let sentence = format!(
        "fp32 units instead of tensor cores: the FMA pipe is at {fma:.0} %, the tensor pipe at \
         {tensor:.0} %{}",
        intensity.map_or_else(String::new, |n| format!(", with {n:.0} multiply-adds a DRAM byte"))
    );
    Some(
        Symptom::new(Bottleneck::Fp32Units, 0.55 + fma / 250.0, sentence)
            .figure("fma_pipe", fma, "%")
            .figure("tensor_pipe", tensor, "%")
            .figure("ffma_per_dram_byte", intensity, ""),
    )
}

/// Atomic requests of less than this share of all global requests are a reduction's end.
const ATOMIC_SHARE: f64 = 0.1;
/// The busiest slice's atomic unit, percent, from which on it is what is waited for.
const HOT_SLICE: f64 = 40.0;

/// Atomic operations make up much of the requests, and either one slice of the L2 has far more of
/// them than the others, or nothing else explains why the kernel waits.
fn atomics(kernel: &KernelProfile) -> Option<Symptom> {
    let requests = kernel.atomics.requests.filter(|requests| *requests > 0.0)?;
    let others =
        kernel.traffic.load_requests.unwrap_or(0.0) + kernel.traffic.store_requests.unwrap_or(0.0);
    let share = requests / (requests + others);
    let hot = kernel.atomics.busiest_use.unwrap_or(0.0);
    let mean = kernel.atomics.mean_use.unwrap_or(0.0);
    let dram = kernel.throughput.dram.unwrap_or(0.0);
    let waits = dram < 50.0 && kernel.issue.issued.is_none_or(|issued| issued < 40.0);
    if share < ATOMIC_SHARE || !(hot >= HOT_SLICE || waits) {
        return None;
    }
    let sentence = format!(
        "contended atomics: {:.0} % of the global memory requests; the busiest slice of the L2 \
         has its atomic unit at {hot:.0} %, the mean one at {mean:.1} %",
        100.0 * share
    );
    let severity = 0.5 + 0.45 * (hot / 100.0).max(if waits { 1.0 - dram / 50.0 } else { 0.0 });
    Some(
        Symptom::new(Bottleneck::AtomicContention, severity, sentence)
            .figure("atomic_request_share", 100.0 * share, "%")
            .figure("busiest_slice", kernel.atomics.busiest_use, "%")
            .figure("mean_slice", kernel.atomics.mean_use, "%"),
    )
}

/// Enough programs and warps, and yet all of them wait for themselves.
fn dependency_chain(kernel: &KernelProfile) -> Option<Symptom> {
    let busy = busiest(kernel)?;
    let waiting = stalled(kernel, &DEPENDENCIES);
    if busy > 45.0 || waiting < 50.0 {
        return None;
    }
    let (state, share) = DEPENDENCIES
        .iter()
        .filter_map(|state| Some((*state, *kernel.stalls.get(*state)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let sentence = format!(
        "long dependency chain: warps wait {share:.0} % of their time for {}; the busiest unit is \
         at {busy:.0} %{}",
        waited_for(state),
        kernel.issue.eligible_warps.map_or_else(String::new, |eligible| {
            format!(", and {eligible:.2} warps a scheduler are ready to issue")
        })
    );
    Some(
        Symptom::new(Bottleneck::DependencyChain, 0.8 * (1.0 - busy / 100.0), sentence)
            .figure("stalled", share, "%")
            .figure("eligible_warps", kernel.issue.eligible_warps, "")
            .figure("achieved_occupancy", kernel.occupancy.achieved, "%")
            .figure("busiest_unit", busy, "%"),
    )
}

fn waited_for(state: &str) -> &'static str {
    match state {
        "long_scoreboard" => "data from memory",
        "short_scoreboard" => "shared memory or special functions",
        "wait" => "the instruction before",
        _ => "branches",
    }
}

/// From here on a unit is as busy as real kernels get it, percent.
const PEAK: f64 = 80.0;

/// Nothing wrong: a unit is busy. Ranks last, since being busy with the wrong work looks the same.
fn peak(kernel: &KernelProfile) -> Option<Symptom> {
    let dram = kernel.throughput.dram.unwrap_or(0.0);
    if dram >= PEAK {
        let sentence = format!("DRAM is at {dram:.0} % of its peak");
        let symptom = Symptom::new(Bottleneck::MemoryPeak, 0.1, sentence);
        return Some(symptom.figure("dram", dram, "%"));
    }
    let pipes = [("tensor", kernel.pipes.tensor), ("FMA", kernel.pipes.fma)];
    let (name, busy) = pipes
        .into_iter()
        .filter_map(|(name, busy)| Some((name, busy?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    (busy >= PEAK).then(|| {
        let sentence = format!("the {name} pipe is at {busy:.0} % of its peak");
        Symptom::new(Bottleneck::ComputePeak, 0.1, sentence).figure("pipe", busy, "%")
    })
}
