//! The way through: a kernel is made faster, and what is left behind says so.

use std::process::Command;

use serde_json::Value;

use crate::support::{Desk, python};

/// The fields of `report.json`, schema 1, as docs/report.md lists them.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "schema",
            "run",
            "target",
            "device",
            "outcome",
            "reason",
            "speedup",
            "rungs",
            "cases",
            "candidates",
            "trajectory",
            "budget",
            "audit",
            "profile",
            "warnings",
            "best",
        ],
    ),
    ("/run", &["id", "started", "kernelbrain", "command", "seed"]),
    ("/target", &["name", "source", "contract", "kind", "entry"]),
    ("/device", &["kind", "name", "torch", "triton", "ceilings"]),
    ("/speedup", &["vs_baseline", "vs_eager", "vs_compile"]),
    ("/speedup/vs_baseline", &["median", "low", "high", "rounds"]),
    (
        "/rungs/0",
        &["index", "entered", "rejected", "measured", "promoted", "gpu_seconds", "wall_seconds"],
    ),
    (
        "/cases/0",
        &[
            "name",
            "params",
            "baseline_us",
            "best_us",
            "eager_us",
            "compile_us",
            "speedup",
            "low",
            "high",
            "bound",
            "headroom",
            "rounds",
            "noise",
        ],
    ),
    (
        "/candidates/0",
        &[
            "id",
            "parent",
            "move",
            "verdict",
            "gate",
            "reason",
            "rung",
            "latency_us",
            "score",
            "same_program_as",
        ],
    ),
    ("/trajectory/0", &["wall_seconds", "speedup", "candidate"]),
    (
        "/budget",
        &[
            "wall_seconds_limit",
            "wall_seconds_spent",
            "gpu_seconds_limit",
            "gpu_seconds_spent",
            "evaluations_limit",
            "evaluations_spent",
            "tokens_limit",
            "tokens_spent",
            "usd_limit",
            "usd_spent",
            "stopped",
        ],
    ),
    ("/audit", &["checked", "passed"]),
    ("/profile", &["baseline", "best", "note"]),
    ("/best", &["id", "moves", "file", "patch", "build", "observed"]),
];

fn assert_schema_1(report: &Value) {
    assert_eq!(report["schema"], 1);
    for (path, fields) in FIELDS {
        let object = report.pointer(path).and_then(Value::as_object);
        let object = object.unwrap_or_else(|| panic!("no object at {path:?} in {report:#}"));
        assert_eq!(object.keys().collect::<Vec<_>>(), *fields, "at {path:?}");
    }
}

#[test]
fn a_kernel_becomes_faster_and_everything_is_there_to_check_it() {
    let desk = Desk::softmax();
    let search = ["--budget", "100s", "--max-candidates", "14", "--seeds", "10"];
    let ran = desk.run(desk.optimize(&search));
    ran.exits_with(0).says("faster in Triton's interpreter").says("baseline: wide");

    let report = desk.report();
    assert_schema_1(&report);
    assert_eq!(report["outcome"], "improved", "{}", ran.printed());
    let ratio = &report["speedup"]["vs_baseline"];
    assert!(ratio["low"].as_f64().unwrap() > 1.0);
    assert!(ratio["median"].as_f64().unwrap() >= 1.03);
    let candidates = report["candidates"].as_array().unwrap();
    let measured: Vec<&Value> =
        candidates.iter().filter(|candidate| !candidate["latency_us"].is_null()).collect();
    let mut ids: Vec<&str> = measured.iter().map(|c| c["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() > 10, "the baseline and 10 more: {report:#}");
    assert_eq!(ids.len(), measured.len());
    assert_eq!(candidates.iter().filter(|c| c["verdict"] == "winner").count(), 1);
    assert_eq!(report["device"]["kind"], "cpu");
    let note = report["profile"]["note"].as_str().unwrap();
    assert!(note.contains("the cpu device has no hardware counters"), "{note}");
    for name in ["out/report.md", "out/report.html"] {
        assert!(desk.read(name).contains("compilation for a GPU was not checked"), "{name}");
    }

    // The winner is what the patch makes of the input, for git and for patch.
    let best = desk.read("out/best.py");
    assert_ne!(best, desk.read("kernel.py"));
    for tool in [["git", "apply", "../out/best.patch"], ["patch", "-p1", "-i../out/best.patch"]] {
        let copy = desk.path(tool[0]);
        std::fs::create_dir(&copy).unwrap();
        std::fs::copy(desk.path("kernel.py"), copy.join("kernel.py")).unwrap();
        let applied = Command::new(tool[0]).args(&tool[1..]).current_dir(&copy).output().unwrap();
        assert!(applied.status.success(), "{applied:?}");
        assert_eq!(std::fs::read_to_string(copy.join("kernel.py")).unwrap(), best);
    }

    // The same gates accept it again, in new processes.
    let bench = ["bench", "out/best.py", "--test", "test.py", "--against", "kernel.py"];
    let benched = desk.run(desk.kernelbrain(&[&bench[..], &["--device", "cpu"]].concat()));
    benched.exits_with(0).says("✓ out/best.py accepted");

    // The reports for people say the same.
    let id = report["run"]["id"].as_str().unwrap().to_owned();
    let markdown = desk.read("out/report.md");
    assert!(markdown.contains(&id) && markdown.contains("```diff"), "{markdown}");
    let html = desk.read("out/report.html");
    assert!(html.contains("<svg") && html.contains(&id));
    for elsewhere in ["src=\"http", "href=\"http", "@import", "<script"] {
        assert!(!html.contains(elsewhere), "{elsewhere} in a page without network");
    }
    let again = desk.run(desk.kernelbrain(&["report", &id, "--print", "markdown"]));
    again.exits_with(0);
    assert_eq!(again.stdout, markdown);
    let mut elsewhere = desk.kernelbrain(&["report", &id, "--print", "patch"]);
    elsewhere.current_dir(desk.path("home"));
    assert_eq!(desk.run(elsewhere).stdout, desk.read("out/best.patch"));
    std::fs::remove_file(desk.path("out/report.html")).unwrap();
    desk.run(desk.kernelbrain(&["report", &id])).exits_with(0).says("out/report.html");
    assert_eq!(desk.read("out/report.html"), html);

    let listed = desk.run(desk.kernelbrain(&["runs"]));
    listed.exits_with(0).says(&id).says("improved");

    // An ended run is not gone on with: by name it is refused, by the same command a new one begins.
    let resumed = desk.run(desk.optimize(&[&search[..], &["--resume", &id]].concat()));
    resumed.exits_with(2).says("has ended").says(&format!("kernelbrain report {id}"));
    let mut anew = desk.start(desk.optimize(&search));
    anew.until("\nrun ");
    assert!(!anew.heard().contains(&id), "{}", anew.heard());
    anew.kill();
    let listed = desk.run(desk.kernelbrain(&["runs"]));
    assert_eq!(listed.stdout.lines().count(), 3, "a header and two runs: {}", listed.stdout);
}

#[test]
fn recipes_are_listed_and_applied_to_the_letter() {
    let desk = Desk::softmax();
    let listed = desk.run(desk.kernelbrain(&["recipes", "kernel.py"]));
    listed.exits_with(0);
    insta::assert_snapshot!("recipes", listed.stdout);

    let applied =
        desk.run(desk.kernelbrain(&["recipes", "kernel.py", "--apply", "tile BLOCK=128"]));
    applied.exits_with(0);
    assert_eq!(applied.stdout, desk.read("kernel.py").replace("BLOCK = 32", "BLOCK = 128"));

    let nonsense =
        desk.run(desk.kernelbrain(&["recipes", "kernel.py", "--apply", "faster please"]));
    nonsense.exits_with(2);
    insta::assert_snapshot!("recipe_unknown", nonsense.error());
}

#[test]
fn a_contract_that_a_wrong_answer_passes_is_told_how_to_tell_right_from_wrong() {
    // The mean over many values from 0 to 1 is a half, whatever they are.
    let contract = "
import torch
CASES = [{'name': 'wide', 'rows': 4, 'cols': 30000}]
SMALL_CASES = CASES
TOLERANCE = {'rtol': 1e-2, 'atol': 1e-2}
def make_inputs(device, seed, rows, cols):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.rand(rows, cols, generator=generator, device=device),)
def reference(x):
    return x.mean(dim=-1)
";
    let desk = Desk::new(crate::support::SOFTMAX, contract);
    let audited = desk.run(desk.kernelbrain(&["audit", "test.py", "--device", "cpu"]));
    audited.exits_with(0).says("passes although wrong");
    let answer = audited.stdout.replace(audited.stdout.lines().next().unwrap(), "[machine]");
    insta::assert_snapshot!("audit_weak", desk.anonymous(&answer));

    let strict = desk.run(desk.kernelbrain(&["audit", "test.py", "--device", "cpu", "--strict"]));
    strict.exits_with(2);
    let refused = desk.run(desk.optimize(&["--strict", "--budget", "20s"]));
    refused.exits_with(2).says("the contract lets wrong answers pass");

    desk.write("good.py", crate::support::SOFTMAX_CONTRACT);
    let good = desk.run(desk.kernelbrain(&["audit", "good.py", "--device", "cpu", "--strict"]));
    good.exits_with(0).says("none passes");
}

#[test]
fn doctor_looks_at_the_machine() {
    let desk = Desk::tiny();
    let ran = desk.run(desk.kernelbrain(&["doctor"]));
    for part in ["python", "torch", "triton", "numpy", "sandbox"] {
        assert!(ran.stdout.to_lowercase().contains(part), "no {part} in {}", ran.printed());
    }
    assert!(matches!(ran.status, Some(0 | 3)), "{}", ran.printed());
    let deep = desk.run(desk.kernelbrain(&["doctor", "--deep"]));
    assert!(matches!(deep.status, Some(0 | 3)), "{}", deep.printed());
    assert!(deep.stdout.contains(&*python().to_string_lossy()), "{}", deep.printed());
}
