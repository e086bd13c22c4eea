//! Profiling on a plane, with a stand-in for Nsight Compute: a script that starts the program it is
//! given and then writes what the real one wrote on an H200, or does what a broken one does.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use kernelbrain::{
    evaluate::{Plane, profile::Profiler},
    kernel::{Candidate, Entry, Profiling, Target},
};

use crate::config;

const KERNEL: &str = r#"
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask), mask=mask)


def kernel_function(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out
"#;

const CONTRACT: &str = r#"
import torch

CASES = SMALL_CASES = [{"name": "short", "n": 1000}]

def make_inputs(device, seed, n):
    generator = torch.Generator(device=device).manual_seed(seed)
    return tuple(torch.randn(n, device=device, generator=generator) for _ in range(2))

def reference(x, y):
    return x + y
"#;

/// A stand-in that runs `before` and, with the program's arguments in `"$@"`, `then`.
fn stand_in(folder: &Path, name: &str, script: &str) -> Profiler {
    let path = folder.join(name);
    let whole = format!(
        "#!/bin/sh\nwhile [ \"$1\" != --log-file ]; do shift; done\nlog=$2\nshift 2\n{script}\n"
    );
    let text = folder.join(format!("{name}.text"));
    fs::write(&text, whole).unwrap();
    // Another process writes the program: what this one has open for writing at the moment in which
    // another test forks cannot be executed ("text file busy").
    let installed = Command::new("install").args(["-m", "755"]).args([&text, &path]).status();
    assert!(installed.unwrap().success());
    Profiler::at(path).with_patience(Duration::from_secs(60))
}

async fn plane(folder: &Path) -> Plane {
    let write = |name: &str, text: &str| -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let target = Target {
        name: "add".into(),
        source: write("kernel.py", KERNEL),
        text: KERNEL.into(),
        entry: Entry { module: None, function: None },
        contract: write("test.py", CONTRACT),
        editable: None,
        package: None,
        rules: Vec::new(),
        archs: Vec::new(),
        tests: None,
    };
    Plane::start(config(target)).await.unwrap()
}

/// Whether a process still has all of `words` on its command line.
fn running(words: &[&str]) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| words.iter().all(|word| String::from_utf8_lossy(&line).contains(word)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_or_the_reason_why_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/src/evaluate/profile/fixtures/full.csv");
    let plane = plane(folder.path()).await;
    let candidate = Candidate::baseline(KERNEL);
    let profile = async |profiler: &Profiler, candidate: &Candidate| {
        plane.profile(profiler, candidate, 0, 1).await.profiling
    };
    let reason = |profiling: Profiling| profiling.reason().unwrap_or("none").to_owned();

    // The program runs to its good end, and then there is a table.
    let script = format!("\"$@\" && cp '{fixture}' \"$log\"");
    let working = stand_in(folder.path(), "working", &script);
    let profiling = profile(&working, &candidate).await;
    let done = profiling.profile().unwrap_or_else(|| panic!("{profiling:?}"));
    let names: Vec<&str> = done.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!((names, done.case.as_str()), (vec!["add", "mm"], "short"));
    // Two inputs and an output of 1000 floats, in whole words.
    assert_eq!(done.least_bytes, Some(12_000));
    assert!(!done.incomplete);

    let missing = Profiler::at(folder.path().join("nowhere/ncu"));
    assert!(reason(profile(&missing, &candidate).await).contains("cannot be started"));

    let script = "\"$@\"; echo '==ERROR== ERR_NVGPUCTRPERM - nein' > \"$log\"";
    let refused = stand_in(folder.path(), "refused", script);
    let told = reason(profile(&refused, &candidate).await);
    assert!(told.contains("NVreg_RestrictProfilingToAdminUsers=0"), "{told}");

    let broken = stand_in(folder.path(), "broken", "echo 'libcrypt.so.1 is missing'; exit 127");
    let told = reason(profile(&broken, &candidate).await);
    assert!(told.contains("ended before") && told.contains("libcrypt.so.1"), "{told}");

    let silent = stand_in(folder.path(), "silent", "\"$@\"");
    assert!(reason(profile(&silent, &candidate).await).contains("saw no kernel"));

    let raising = KERNEL.replace("out = torch.empty_like(x)", "raise ValueError('not today')");
    let told = reason(profile(&working, &Candidate::baseline(raising)).await);
    assert!(told.contains("could not be called: ValueError: not today"), "{told}");

    // A profiler that hangs, and a candidate that does: both are gone afterwards.
    let hanging = stand_in(folder.path(), "hanging", "exec sleep 86399")
        .with_patience(Duration::from_secs(2));
    let started = Instant::now();
    let told = reason(profile(&hanging, &candidate).await);
    assert!(told.contains("did not begin within 2 s"), "{told}");
    let sleeping =
        KERNEL.replace("out = torch", "__import__('time').sleep(86399)\n    out = torch");
    let impatient = working.clone().with_patience(Duration::from_secs(15));
    let told = reason(profile(&impatient, &Candidate::baseline(sleeping)).await);
    assert!(told.contains("no answer within 15 s"), "{told}");
    assert!(started.elapsed() < Duration::from_secs(60));
    let own = format!("kernelbrain-scratch-{}-", std::process::id());
    assert!(!running(&["86399"]) && !running(&["profiled.py", &own]));

    // And the plane goes on.
    assert!(profile(&working, &candidate).await.profile().is_some());
    plane.close().await;
}
