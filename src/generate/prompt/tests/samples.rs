//! Two targets: one of which everything is known, and one of which next to nothing is.

use serde_json::json;

use super::super::*;
use crate::generate::task::{Library, Standing};
use crate::kernel::{
    Bottleneck, BottleneckClass, Bound, BuildFacts, Case, CeilingMethod, Ceilings, Contract,
    ContractKind, Diagnosis, Figure, Finding, Issue, KernelProfile, Launch, Limiter, Occupancy,
    OccupancyLimit, Pipes, Precision, Profile, Throughput,
};

fn case(name: &str, params: serde_json::Value) -> Case {
    let serde_json::Value::Object(params) = params else { panic!("an object") };
    Case { name: name.to_owned(), params, weight: 1.0 }
}

fn contract(cases: Vec<Case>) -> Contract {
    Contract {
        kind: ContractKind::Native,
        cases,
        entries: vec!["kernel_function".to_owned()],
        mutates: Vec::new(),
        grads: Vec::new(),
        notes: Vec::new(),
    }
}

/// As the diagnosis has it: half of the multiprocessors have nothing to do.
fn profile() -> Profile {
    let kernel = KernelProfile {
        name: "_mean_kernel".to_owned(),
        duration_us: 182.4,
        launch: Launch {
            programs: Some(64.0),
            threads_per_program: Some(128.0),
            registers_per_thread: Some(24.0),
            shared_bytes: Some(1040.0),
            waves: Some(0.03),
            multiprocessors: Some(132.0),
        },
        throughput: Throughput {
            dram: Some(13.94),
            l2: Some(9.1),
            l1: Some(6.2),
            ..Throughput::default()
        },
        occupancy: Occupancy {
            achieved: Some(6.2),
            theoretical: Some(100.0),
            limit: Some(OccupancyLimit::Warps),
            ..Occupancy::default()
        },
        pipes: Pipes { tensor: Some(0.0), fma: Some(3.4), alu: Some(0.6), ..Pipes::default() },
        issue: Issue { issued: Some(4.8), eligible_warps: Some(0.05), ..Issue::default() },
        stalls: [("long_scoreboard", 81.0), ("selected", 6.1), ("wait", 4.0)]
            .map(|(state, share)| (state.to_owned(), share))
            .into(),
        ..KernelProfile::default()
    };
    let last = KernelProfile {
        name: "_divide_kernel".to_owned(),
        duration_us: 2.3,
        ..KernelProfile::default()
    };
    Profile {
        case: "long".to_owned(),
        kernels: vec![last, kernel],
        least_bytes: Some(134_217_984),
        incomplete: false,
    }
}

pub(super) fn mean() -> PromptInputs {
    let mut cases = vec![
        case("long", json!({"rows": 64, "cols": 1_048_576, "dtype": "bfloat16"})),
        case("short", json!({"rows": 16384, "cols": 1024, "dtype": "bfloat16"})),
    ];
    cases[1].weight = 0.5;
    let mut contract = contract(cases);
    contract.notes.push("no TOLERANCE: the default for bfloat16 is used".to_owned());
    let bound =
        Bound { us: 30.2, limiter: Limiter::Traffic, flops: 67_108_864.0, bytes: 134_217_984 };
    PromptInputs {
        target: "mean".to_owned(),
        file: "mean.py".to_owned(),
        entry: Some("kernel_function".to_owned()),
        editable: Some(vec!["_mean_kernel".to_owned(), "kernel_function".to_owned()]),
        contract,
        reference: Some("def reference(x):\n    return x.float().mean(-1)\n".to_owned()),
        source: include_str!("../fixtures/mean.py").into(),
        interpreted: false,
        device: Some(Device {
            name: "NVIDIA H200".to_owned(),
            arch: Some("sm_90".parse().unwrap()),
            multiprocessors: Some(132),
            ceilings: Ceilings {
                method: CeilingMethod::Full,
                read_gbps: Some(4446.2),
                copy_gbps: Some(4251.0),
                l2_bytes: Some(62_914_560),
                l2_gbps: Some(7100.0),
                launch_floor_us: Some(2.18),
                products: [(Precision::Bf16, 752.3), (Precision::Tf32, 401.0)].into(),
                ..Ceilings::default()
            },
        }),
        triton: Some("3.6.0".to_owned()),
        standings: vec![
            CaseStanding {
                case: "long".to_owned(),
                source_us: Some(214.6),
                baseline_us: Some(301.25),
                best_us: Some(214.6),
                eager_us: Some(98.0),
                compile_us: None,
                bound: Some(bound),
            },
            CaseStanding { case: "short".to_owned(), ..CaseStanding::default() },
        ],
        build: vec![BuildFacts {
            kernel: "_mean_kernel".to_owned(),
            registers: 24,
            spills: 0,
            shared_bytes: 16,
        }],
        diagnosis: Some(Diagnosis {
            class: BottleneckClass::Latency,
            findings: vec!["64 programs leave 68 of 132 multiprocessors idle".to_owned()],
            suggestions: vec!["split".to_owned(), "task work-partitioning".to_owned()],
            details: vec![Finding {
                bottleneck: Bottleneck::TooFewPrograms,
                kernel: Some("_mean_kernel".to_owned()),
                severity: 0.515,
                figures: vec![
                    Figure { name: "programs".to_owned(), value: 64.0, unit: String::new() },
                    Figure { name: "dram".to_owned(), value: 13.94, unit: "%".to_owned() },
                ],
            }],
            amplification: Some(1.004),
        }),
        profile: Some(profile()),
        lineage: vec![
            Tried {
                step: "tile BLOCK=256".to_owned(),
                outcome: "1.4 times as fast as the baseline".to_owned(),
                prediction: None,
                contained: true,
            },
            Tried {
                step: "rewrite: atomic-accumulation".to_owned(),
                outcome: "correctness: calls on the same inputs gave different bits".to_owned(),
                prediction: Some("programs up 400%: confirmed".to_owned()),
                contained: false,
            },
        ],
        helped: vec![Lesson {
            step: "split-reduction".to_owned(),
            standing: Standing::Use,
            tries: 4,
            successes: 3,
            median_gain: Some(2.3),
            note: Some("two launches pay from 8 k columns on".to_owned()),
        }],
        avoid: vec![
            Lesson {
                step: "recipe warps".to_owned(),
                standing: Standing::Avoid,
                tries: 5,
                successes: 1,
                median_gain: None,
                note: None,
            },
            Lesson {
                step: "atomic-accumulation".to_owned(),
                standing: Standing::Open,
                tries: 1,
                successes: 0,
                median_gain: None,
                note: Some("correctness: calls on the same inputs gave different bits".to_owned()),
            },
        ],
        recipes: Some("tile BLOCK=512 | tile BLOCK=1024\nwarps 8".to_owned()),
        guidance: vec![Guidance {
            file: "AGENTS.md".to_owned(),
            text: "Kernels are deterministic.".to_owned(),
        }],
        rules: vec!["no tl.make_block_ptr".to_owned()],
        task: Library::embedded().unwrap().get("split-reduction").unwrap().clone(),
    }
}

pub(super) fn product() -> PromptInputs {
    let cases = vec![case("square", json!({"shape": [512, 512], "dtype": "float16"}))];
    PromptInputs {
        target: "product".to_owned(),
        file: "product.py".to_owned(),
        entry: None,
        editable: None,
        contract: contract(cases),
        reference: None,
        source: include_str!("../fixtures/product.py").into(),
        interpreted: false,
        device: None,
        triton: None,
        standings: Vec::new(),
        build: Vec::new(),
        diagnosis: None,
        profile: None,
        lineage: Vec::new(),
        helped: Vec::new(),
        avoid: Vec::new(),
        recipes: None,
        guidance: Vec::new(),
        rules: Vec::new(),
        task: Library::embedded().unwrap().get("grouped-order").unwrap().clone(),
    }
}
