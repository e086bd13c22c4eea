//! Which counters are asked for, by Nsight Compute's names, and where they go.
//!
//! A figure has several names where versions or GPUs differ; the first that the output has is
//! taken. All of them are asked for: Nsight Compute passes over names that it does not know.
//! Counters of the hardware are preferred to those that instrument the machine code (`smsp__sass_`,
//! `memory_l2_`), which cost a pass of their own; the few here have no counterpart in hardware.

use std::collections::{BTreeMap, HashMap};

use crate::kernel::{
    Atomics, Issue, KernelProfile, Launch, Occupancy, OccupancyLimit, Pipes, SharedMemory,
    Throughput, Traffic,
};

type Names = &'static [&'static str];

const DURATION_NS: Names = &["gpu__time_duration.sum", "gpu__time_duration.avg"];

const PROGRAMS: Names = &["launch__grid_size"];
const THREADS: Names = &["launch__block_size"];
const REGISTERS: Names = &["launch__registers_per_thread"];
const SHARED_BYTES: Names =
    &["launch__shared_mem_per_block_allocated", "launch__shared_mem_per_block"];
const WAVES: Names = &["launch__waves_per_multiprocessor"];
const MULTIPROCESSORS: Names = &["launch__sm_count", "device__attribute_multiprocessor_count"];

const SM: Names = &["sm__throughput.avg.pct_of_peak_sustained_elapsed"];
const MEMORY: Names = &[
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
];
const DRAM: Names = &[
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__cycles_active.avg.pct_of_peak_sustained_elapsed",
];
const L2: Names = &["lts__throughput.avg.pct_of_peak_sustained_elapsed"];
const L1: Names = &[
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
];

const DRAM_READ: Names = &["dram__bytes_read.sum"];
const DRAM_WRITE: Names = &["dram__bytes_write.sum"];
const L1_HIT: Names = &["l1tex__t_sector_hit_rate.pct"];
const L2_HIT: Names = &["lts__t_sector_hit_rate.pct"];
const LOAD_SECTORS: Names = &["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"];
const LOAD_REQUESTS: Names = &["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"];
const STORE_SECTORS: Names = &["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"];
const STORE_REQUESTS: Names = &["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"];
const LOAD_BYTES: Names = &["smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"];
const STORE_BYTES: Names = &["smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"];
const GLOBAL_SECTORS: Names = &["memory_l2_theoretical_sectors_global"];
const IDEAL_SECTORS: Names = &["memory_l2_theoretical_sectors_global_ideal"];
const LOCAL_LOADS: Names = &["l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"];
const LOCAL_STORES: Names = &["l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"];

const ACHIEVED: Names = &["sm__warps_active.avg.pct_of_peak_sustained_active"];
const THEORETICAL: Names = &["sm__maximum_warps_per_active_cycle_pct"];
const LIMIT_SHARED: Names = &["launch__occupancy_limit_shared_mem"];
const LIMIT_REGISTERS: Names = &["launch__occupancy_limit_registers"];
const LIMIT_WARPS: Names = &["launch__occupancy_limit_warps"];
const LIMIT_PROGRAMS: Names = &["launch__occupancy_limit_blocks"];
const LIMIT_BARRIERS: Names = &["launch__occupancy_limit_barriers"];

const SHARED_WAVEFRONTS: Names = &["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"];
const CONFLICTS: Names = &["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"];
const SHARED_USE: Names =
    &["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"];

const TENSOR: Names = &[
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
];
const FMA: Names = &[
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
];
const ALU: Names = &[
    "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
];
const XU: Names = &[
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
];
const FP64: Names = &[
    "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
];
const FFMA: Names = &["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"];

const ACTIVE_WARPS: Names = &["smsp__warps_active.avg.per_cycle_active"];
const ELIGIBLE_WARPS: Names = &["smsp__warps_eligible.avg.per_cycle_active"];
const ISSUED: Names = &["smsp__issue_active.avg.pct_of_peak_sustained_active"];

const ATOMICS: Names = &["l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"];
const REDUCTIONS: Names = &["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"];
/// The same as the L2 cache and as the schedulers see them.
const L2_ATOMICS: Names = &["lts__t_requests_srcunit_tex_op_atom_dot_alu.sum"];
const L2_REDUCTIONS: Names = &["lts__t_requests_srcunit_tex_op_red.sum"];
const ISSUED_ATOMICS: Names = &["smsp__inst_executed_op_generic_atom_dot_alu.sum"];
const ISSUED_REDUCTIONS: Names = &["smsp__inst_executed_op_global_red.sum"];
const ATOMIC_MEAN: Names = &["lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed"];
const ATOMIC_BUSIEST: Names =
    &["lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed"];

const FIGURES: &[Names] = &[
    DURATION_NS,
    PROGRAMS,
    THREADS,
    REGISTERS,
    SHARED_BYTES,
    WAVES,
    MULTIPROCESSORS,
    SM,
    MEMORY,
    DRAM,
    L2,
    L1,
    DRAM_READ,
    DRAM_WRITE,
    L1_HIT,
    L2_HIT,
    LOAD_SECTORS,
    LOAD_REQUESTS,
    STORE_SECTORS,
    STORE_REQUESTS,
    LOAD_BYTES,
    STORE_BYTES,
    GLOBAL_SECTORS,
    IDEAL_SECTORS,
    LOCAL_LOADS,
    LOCAL_STORES,
    ACHIEVED,
    THEORETICAL,
    LIMIT_SHARED,
    LIMIT_REGISTERS,
    LIMIT_WARPS,
    LIMIT_PROGRAMS,
    LIMIT_BARRIERS,
    SHARED_WAVEFRONTS,
    CONFLICTS,
    SHARED_USE,
    TENSOR,
    FMA,
    ALU,
    XU,
    FP64,
    FFMA,
    ACTIVE_WARPS,
    ELIGIBLE_WARPS,
    ISSUED,
    ATOMICS,
    REDUCTIONS,
    L2_ATOMICS,
    L2_REDUCTIONS,
    ISSUED_ATOMICS,
    ISSUED_REDUCTIONS,
    ATOMIC_MEAN,
    ATOMIC_BUSIEST,
];

/// States of a warp, of which the counters tell how many warps are in each per issued instruction.
const STATES: &[&str] = &[
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "gmma",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
];
const STATE_BEFORE: &str = "smsp__average_warps_issue_stalled_";
const STATE_AFTER: &str = "_per_issue_active.ratio";

/// Everything that is asked for, as one argument.
pub(super) fn requested() -> String {
    let figures = FIGURES.iter().flat_map(|names| names.iter()).map(|name| (*name).to_owned());
    let states = STATES.iter().map(|state| format!("{STATE_BEFORE}{state}{STATE_AFTER}"));
    figures.chain(states).collect::<Vec<_>>().join(",")
}

/// The figures of one kernel by their names, in base units: nanoseconds, bytes, percent.
pub(super) type Values = HashMap<String, f64>;

fn first(values: &Values, names: Names) -> Option<f64> {
    names.iter().find_map(|name| values.get(*name)).copied()
}

/// A kernel's profile; `None` without a duration, which says that it was not measured.
pub(super) fn kernel(name: String, values: &Values) -> Option<KernelProfile> {
    let get = |names| first(values, names);
    Some(KernelProfile {
        stream: None,
        name,
        duration_us: get(DURATION_NS).filter(|ns| *ns > 0.0)? / 1e3,
        launch: Launch {
            programs: get(PROGRAMS),
            threads_per_program: get(THREADS),
            registers_per_thread: get(REGISTERS),
            shared_bytes: get(SHARED_BYTES),
            waves: get(WAVES),
            multiprocessors: get(MULTIPROCESSORS),
        },
        throughput: Throughput {
            sm: get(SM),
            memory: get(MEMORY),
            dram: get(DRAM),
            l2: get(L2),
            l1: get(L1),
        },
        traffic: Traffic {
            dram_read_bytes: get(DRAM_READ),
            dram_write_bytes: get(DRAM_WRITE),
            l1_hit: get(L1_HIT),
            l2_hit: get(L2_HIT),
            load_sectors: get(LOAD_SECTORS),
            load_requests: get(LOAD_REQUESTS),
            store_sectors: get(STORE_SECTORS),
            store_requests: get(STORE_REQUESTS),
            load_bytes_per_sector: get(LOAD_BYTES),
            store_bytes_per_sector: get(STORE_BYTES),
            global_sectors: get(GLOBAL_SECTORS),
            ideal_global_sectors: get(IDEAL_SECTORS),
            local_load_sectors: get(LOCAL_LOADS),
            local_store_sectors: get(LOCAL_STORES),
        },
        occupancy: occupancy(values),
        shared: SharedMemory {
            wavefronts: get(SHARED_WAVEFRONTS),
            conflicts: get(CONFLICTS),
            utilization: get(SHARED_USE),
        },
        pipes: Pipes {
            tensor: get(TENSOR),
            fma: get(FMA),
            alu: get(ALU),
            xu: get(XU),
            fp64: get(FP64),
            ffma: get(FFMA),
        },
        issue: Issue {
            active_warps: get(ACTIVE_WARPS),
            eligible_warps: get(ELIGIBLE_WARPS),
            issued: get(ISSUED),
        },
        atomics: Atomics {
            requests: atomic_requests(values),
            mean_use: get(ATOMIC_MEAN),
            busiest_use: get(ATOMIC_BUSIEST),
        },
        stalls: stalls(values),
    })
}

/// With and without a result. GPUs differ in where which kind is counted: the most that any place
/// saw.
fn atomic_requests(values: &Values) -> Option<f64> {
    let places =
        [(ATOMICS, REDUCTIONS), (L2_ATOMICS, L2_REDUCTIONS), (ISSUED_ATOMICS, ISSUED_REDUCTIONS)];
    let seen = places.into_iter().filter_map(|(atomics, reductions)| {
        match (first(values, atomics), first(values, reductions)) {
            (None, None) => None,
            (atomics, reductions) => Some(atomics.unwrap_or(0.0) + reductions.unwrap_or(0.0)),
        }
    });
    seen.max_by(f64::total_cmp)
}

/// Each resource allows so many programs on a multiprocessor; the least allowance counts. Where
/// two allow the same, the one listed first is named: a program can be given less of it.
fn occupancy(values: &Values) -> Occupancy {
    let mut limits: Vec<(OccupancyLimit, f64)> = [
        (OccupancyLimit::SharedMemory, LIMIT_SHARED),
        (OccupancyLimit::Registers, LIMIT_REGISTERS),
        (OccupancyLimit::Warps, LIMIT_WARPS),
        (OccupancyLimit::Programs, LIMIT_PROGRAMS),
        (OccupancyLimit::Barriers, LIMIT_BARRIERS),
    ]
    .into_iter()
    .filter_map(|(limit, names)| Some((limit, first(values, names)?)))
    .collect();
    limits.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    Occupancy {
        achieved: first(values, ACHIEVED),
        theoretical: first(values, THEORETICAL),
        limit: limits.first().map(|(limit, _)| *limit),
        programs: limits.first().map(|(_, programs)| *programs),
        programs_without_limit: limits.get(1).map(|(_, programs)| *programs),
    }
}

/// Shares of the warps' time, percent.
fn stalls(values: &Values) -> BTreeMap<String, f64> {
    let warps: BTreeMap<String, f64> = STATES
        .iter()
        .filter_map(|state| {
            let warps = *values.get(&format!("{STATE_BEFORE}{state}{STATE_AFTER}"))?;
            (warps > 0.0).then(|| ((*state).to_owned(), warps))
        })
        .collect();
    let total: f64 = warps.values().sum();
    warps.into_iter().map(|(state, warps)| (state, 100.0 * warps / total)).collect()
}
