//! Ten kernels with one planted bottleneck each, as profiles with plausible numbers: made up, from
//! what the hardware's documentation says such a kernel does to these counters on an H200.
//! `tests/gpu/bottlenecks.py` runs real kernels of the same ten kinds.

use super::reading::FULL;
use crate::evaluate::profile::{DeviceFacts, diagnose, read};
use crate::kernel::{
    Atomics, Bottleneck, BottleneckClass, Diagnosis, Issue, KernelProfile, Launch, Occupancy,
    OccupancyLimit, Pipes, Profile, SharedMemory, Throughput, Traffic,
};

/// A kernel that streams with nothing wrong about it, at half of what the memory could do.
fn plain() -> KernelProfile {
    KernelProfile {
        name: "kernel".into(),
        stream: None,
        duration_us: 200.0,
        launch: Launch {
            programs: Some(8192.0),
            threads_per_program: Some(128.0),
            registers_per_thread: Some(32.0),
            shared_bytes: Some(1024.0),
            waves: Some(3.9),
            multiprocessors: Some(132.0),
        },
        throughput: Throughput {
            sm: Some(12.0),
            memory: Some(50.0),
            dram: Some(50.0),
            l2: Some(40.0),
            l1: Some(20.0),
        },
        traffic: Traffic {
            dram_read_bytes: Some(320e6),
            dram_write_bytes: Some(160e6),
            l1_hit: Some(0.0),
            l2_hit: Some(33.0),
            load_sectors: Some(10e6),
            load_requests: Some(625e3),
            store_sectors: Some(5e6),
            store_requests: Some(312e3),
            load_bytes_per_sector: Some(32.0),
            store_bytes_per_sector: Some(32.0),
            global_sectors: Some(15e6),
            ideal_global_sectors: Some(15e6),
            local_load_sectors: Some(0.0),
            local_store_sectors: Some(0.0),
        },
        occupancy: Occupancy {
            achieved: Some(80.0),
            theoretical: Some(100.0),
            limit: Some(OccupancyLimit::Warps),
            programs: Some(16.0),
            programs_without_limit: Some(16.0),
        },
        shared: SharedMemory {
            wavefronts: Some(0.0),
            conflicts: Some(0.0),
            utilization: Some(0.0),
        },
        pipes: Pipes {
            tensor: Some(0.0),
            fma: Some(3.0),
            alu: Some(5.0),
            xu: Some(0.0),
            fp64: Some(0.0),
            ffma: Some(0.0),
        },
        issue: Issue { active_warps: Some(13.0), eligible_warps: Some(0.2), issued: Some(12.0) },
        atomics: Atomics { requests: Some(0.0), mean_use: Some(0.0), busiest_use: Some(0.0) },
        stalls: [("long_scoreboard", 80.0), ("wait", 5.0), ("selected", 2.0)]
            .map(|(state, share)| (state.to_owned(), share))
            .into(),
    }
}

fn diagnosis_of(kernels: Vec<KernelProfile>, least_bytes: Option<u64>) -> Diagnosis {
    let profile = Profile { case: "main".into(), kernels, ..Profile::default() };
    diagnose(&profile, least_bytes, &DeviceFacts::default())
}

/// The kernel that `change` makes of the plain one, and its first finding.
#[track_caller]
fn names(expected: Bottleneck, change: impl Fn(&mut KernelProfile)) -> Diagnosis {
    let mut kernel = plain();
    change(&mut kernel);
    let diagnosis = diagnosis_of(vec![kernel], Some(480_000_000));
    assert_eq!(first(&diagnosis), Some(expected), "{:#?}", diagnosis.findings);
    diagnosis
}

fn first(diagnosis: &Diagnosis) -> Option<Bottleneck> {
    diagnosis.details.first().map(|finding| finding.bottleneck)
}

fn stall(kernel: &mut KernelProfile, states: &[(&str, f64)]) {
    kernel.stalls = states.iter().map(|(state, share)| ((*state).to_owned(), *share)).collect();
}

#[test]
fn uncoalesced_loads() {
    let diagnosis = names(Bottleneck::UncoalescedAccess, |kernel| {
        // Each thread reads 4 bytes of a sector of its own.
        kernel.traffic.load_sectors = Some(64e6);
        kernel.traffic.load_requests = Some(2e6);
        kernel.traffic.load_bytes_per_sector = Some(4.0);
        kernel.throughput.memory = Some(82.0);
        kernel.throughput.l1 = Some(82.0);
        kernel.throughput.dram = Some(35.0);
        kernel.traffic.dram_read_bytes = Some(900e6);
    });
    assert_eq!(diagnosis.class, BottleneckClass::Memory);
    assert!(diagnosis.findings[0].contains("32.0 sectors"), "{}", diagnosis.findings[0]);
    assert_eq!(diagnosis.suggestions[0], "task memory-traffic");
}

#[test]
fn uncoalesced_loads_are_told_without_the_counters_that_instrument_code() {
    names(Bottleneck::UncoalescedAccess, |kernel| {
        kernel.traffic.load_sectors = Some(64e6);
        kernel.traffic.load_requests = Some(2e6);
        kernel.traffic.load_bytes_per_sector = None;
        kernel.traffic.global_sectors = None;
        kernel.throughput.memory = Some(82.0);
    });
}

#[test]
fn bank_conflicts() {
    let diagnosis = names(Bottleneck::BankConflicts, |kernel| {
        kernel.shared.wavefronts = Some(320e6);
        kernel.shared.conflicts = Some(310e6);
        kernel.shared.utilization = Some(93.0);
        kernel.throughput = Throughput {
            sm: Some(10.0),
            memory: Some(93.0),
            dram: Some(4.0),
            l2: Some(5.0),
            l1: Some(93.0),
        };
        stall(kernel, &[("short_scoreboard", 45.0), ("mio_throttle", 40.0), ("barrier", 10.0)]);
    });
    assert!(diagnosis.findings[0].contains("97 %"), "{}", diagnosis.findings[0]);
}

#[test]
fn register_spills() {
    let diagnosis = names(Bottleneck::RegisterSpills, |kernel| {
        kernel.launch.threads_per_program = Some(32.0);
        kernel.launch.registers_per_thread = Some(255.0);
        kernel.traffic.local_load_sectors = Some(12e6);
        kernel.traffic.local_store_sectors = Some(9e6);
        kernel.occupancy = Occupancy {
            achieved: Some(12.0),
            theoretical: Some(12.5),
            limit: Some(OccupancyLimit::Registers),
            programs: Some(8.0),
            programs_without_limit: Some(32.0),
        };
        // Spilled lines reach DRAM too.
        kernel.traffic.dram_write_bytes = Some(500e6);
    });
    assert_eq!(diagnosis.suggestions[..2], ["warps 2", "tile smaller"]);
}

#[test]
fn too_few_programs() {
    let diagnosis = names(Bottleneck::TooFewPrograms, |kernel| {
        kernel.launch.programs = Some(8.0);
        kernel.launch.waves = Some(0.004);
        kernel.throughput = Throughput {
            sm: Some(1.0),
            memory: Some(4.0),
            dram: Some(4.0),
            l2: Some(2.0),
            l1: Some(1.0),
        };
        kernel.occupancy.achieved = Some(6.2);
    });
    assert_eq!(diagnosis.class, BottleneckClass::Latency);
    assert_eq!(diagnosis.suggestions[0], "split");
    assert!(diagnosis.findings[0].contains("94 %"), "{}", diagnosis.findings[0]);
}

#[test]
fn little_occupancy_by_shared_memory() {
    let diagnosis = names(Bottleneck::OccupancySharedMemory, |kernel| {
        kernel.launch.shared_bytes = Some(213_000.0);
        kernel.throughput = Throughput {
            sm: Some(34.0),
            memory: Some(28.0),
            dram: Some(3.0),
            l2: Some(12.0),
            l1: Some(28.0),
        };
        kernel.pipes.tensor = Some(34.0);
        kernel.occupancy = Occupancy {
            achieved: Some(6.2),
            theoretical: Some(6.25),
            limit: Some(OccupancyLimit::SharedMemory),
            programs: Some(1.0),
            programs_without_limit: Some(3.0),
        };
        stall(kernel, &[("wait", 35.0), ("gmma", 20.0), ("short_scoreboard", 20.0)]);
    });
    assert_eq!(diagnosis.suggestions[..2], ["stages fewer", "pipeline fewer"]);
    assert!(diagnosis.findings[0].contains("208 KiB"), "{}", diagnosis.findings[0]);
}

#[test]
fn redundant_passes() {
    let passes: Vec<KernelProfile> = ["scale", "shift", "clip"]
        .map(|name| KernelProfile {
            name: name.into(),
            throughput: Throughput { dram: Some(84.0), memory: Some(84.0), ..plain().throughput },
            ..plain()
        })
        .into();
    let diagnosis = diagnosis_of(passes.clone(), Some(480_000_000));
    assert_eq!(first(&diagnosis), Some(Bottleneck::RedundantTraffic), "{diagnosis:#?}");
    assert_eq!(diagnosis.amplification, Some(3.0));
    assert_eq!(diagnosis.class, BottleneckClass::Memory);
    assert!(diagnosis.findings[0].contains("3.0 times the least, in 3 kernels"));
    // Nobody knows how much traffic there has to be: then it is only busy.
    let unknown = diagnosis_of(passes, None);
    assert_eq!(first(&unknown), Some(Bottleneck::MemoryPeak));
    assert_eq!(unknown.class, BottleneckClass::NearLimit);
}

#[test]
fn fp32_units_instead_of_tensor_cores() {
    let diagnosis = names(Bottleneck::Fp32Units, |kernel| {
        kernel.throughput = Throughput {
            sm: Some(62.0),
            memory: Some(58.0),
            dram: Some(3.0),
            l2: Some(10.0),
            l1: Some(58.0),
        };
        kernel.pipes.fma = Some(48.0);
        kernel.pipes.alu = Some(8.0);
        kernel.pipes.ffma = Some(8.6e9);
        kernel.traffic.dram_read_bytes = Some(34e6);
        kernel.traffic.dram_write_bytes = Some(12e6);
    });
    assert_eq!(diagnosis.class, BottleneckClass::Compute);
    assert_eq!(diagnosis.suggestions[0], "precision");
}

#[test]
fn launches() {
    let tiny = |_| KernelProfile {
        duration_us: 2.6,
        launch: Launch { programs: Some(64.0), waves: Some(0.03), ..plain().launch },
        throughput: Throughput {
            sm: Some(1.0),
            memory: Some(3.0),
            dram: Some(1.0),
            l2: None,
            l1: None,
        },
        ..plain()
    };
    let diagnosis = diagnosis_of((0..24).map(tiny).collect(), Some(524_288));
    assert_eq!(first(&diagnosis), Some(Bottleneck::LaunchOverhead), "{diagnosis:#?}");
    assert_eq!(diagnosis.class, BottleneckClass::Launch);
    assert_eq!(diagnosis.suggestions[0], "task fusion");
    assert!(diagnosis.findings[0].contains("24 kernels"), "{}", diagnosis.findings[0]);
}

#[test]
fn a_long_dependency_chain() {
    let diagnosis = names(Bottleneck::DependencyChain, |kernel| {
        // Every program follows a list through the L2 cache, one scalar at a time.
        kernel.traffic.load_sectors = Some(35e6);
        kernel.traffic.load_requests = Some(35e6);
        kernel.traffic.load_bytes_per_sector = Some(4.0);
        kernel.throughput = Throughput {
            sm: Some(6.0),
            memory: Some(12.0),
            dram: Some(1.0),
            l2: Some(12.0),
            l1: Some(5.0),
        };
        kernel.issue.eligible_warps = Some(0.05);
        stall(kernel, &[("long_scoreboard", 93.0), ("wait", 3.0), ("selected", 2.0)]);
    });
    assert_eq!(diagnosis.class, BottleneckClass::Latency);
    assert_eq!(diagnosis.suggestions[0], "pipeline more");
}

#[test]
fn contended_atomics() {
    let diagnosis = names(Bottleneck::AtomicContention, |kernel| {
        kernel.traffic.load_sectors = Some(0.5e6);
        kernel.traffic.load_requests = Some(131e3);
        kernel.traffic.store_sectors = Some(0.0);
        kernel.traffic.store_requests = Some(0.0);
        kernel.atomics =
            Atomics { requests: Some(131e3), mean_use: Some(1.1), busiest_use: Some(98.0) };
        kernel.throughput = Throughput {
            sm: Some(2.0),
            memory: Some(98.0),
            dram: Some(1.0),
            l2: Some(98.0),
            l1: Some(3.0),
        };
        kernel.issue.issued = Some(1.0);
        stall(kernel, &[("lg_throttle", 60.0), ("long_scoreboard", 20.0), ("drain", 15.0)]);
    });
    assert_eq!(diagnosis.suggestions[..2], ["task reduction", "split"]);
}

#[test]
fn a_call_is_told_by_the_kernel_that_its_time_goes_to() {
    let mut small = plain();
    small.name = "finish".into();
    small.duration_us = 10.0;
    small.launch.programs = Some(4.0);
    let mut large = plain();
    large.name = "gather".into();
    large.traffic.load_sectors = Some(64e6);
    large.traffic.load_requests = Some(2e6);
    large.traffic.load_bytes_per_sector = Some(4.0);
    large.throughput.memory = Some(80.0);
    let diagnosis = diagnosis_of(vec![small, large], None);
    assert_eq!(first(&diagnosis), Some(Bottleneck::UncoalescedAccess));
    assert_eq!(diagnosis.details[0].kernel.as_deref(), Some("gather"));
    assert!(diagnosis.findings[0].starts_with("gather: uncoalesced loads"));
}

/// Measured on an H200: an addition of two vectors of 2^24 floats, and a product of two bfloat16
/// matrices of 2048 in tiles of 64 with three stages.
#[test]
fn real_kernels_are_not_accused_of_what_they_do_not_do() {
    let kernels = read(FULL.as_bytes()).kernels;
    let addition = diagnosis_of(vec![kernels[0].clone()], Some(3 << 26));
    assert_eq!(addition.class, BottleneckClass::NearLimit, "{addition:#?}");
    assert_eq!(first(&addition), Some(Bottleneck::MemoryPeak));
    assert!((addition.amplification.unwrap() - 0.9).abs() < 0.01);

    let product = diagnosis_of(vec![kernels[1].clone()], Some(3 << 23));
    assert_eq!(product.class, BottleneckClass::Memory, "{product:#?}");
    assert!(product.details.is_empty(), "bound by the L2's bandwidth: {product:#?}");
    assert_eq!(product.suggestions[0], "tile");
}

#[test]
fn nothing_known_is_nothing_found() {
    let bare = KernelProfile { name: "k".into(), duration_us: 50.0, ..KernelProfile::default() };
    let diagnosis = diagnosis_of(vec![bare], Some(1));
    assert!(diagnosis.findings.is_empty() && diagnosis.amplification.is_none());
    let empty = diagnosis_of(vec![], Some(1));
    assert!(empty.findings.is_empty());
}

#[test]
fn a_diagnosis_of_an_older_version_still_reads() {
    let old = r#"{"class": "memory", "findings": ["x"], "suggestions": ["warps 8"]}"#;
    let diagnosis: Diagnosis = serde_json::from_str(old).unwrap();
    assert!(diagnosis.details.is_empty() && diagnosis.amplification.is_none());
}
