use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::{
    requirement::{Requirement, pinned},
    *,
};
use crate::gpu::{Gpu, ProfilingPermission};

/// A program that answers as `python -I -c …` would, or not.
fn fake_python(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("python");
    // Copied into place: a file that is open for writing cannot be executed, and another test's
    // fork may hold it open for a moment.
    fs::write(folder.join("python.new"), format!("#!/bin/sh\n{script}\n")).unwrap();
    let made = std::process::Command::new("install")
        .args(["-m", "755", "python.new", "python"])
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(made.success());
    assert!(fs::metadata(&path).unwrap().permissions().mode() & 0o100 != 0);
    path
}

/// With these versions (JSON); the one without torch has no headers either.
fn answering(folder: &Path, torch: &str, numpy: &str) -> PathBuf {
    let packages =
        format!(r#"{{"torch": {torch}, "triton": "3.6.0", "numpy": {numpy}, "pyyaml": "6.0.2"}}"#);
    let has_header = torch != "null";
    let json = format!(
        r#"{{"python": "3.12.3", "header": "/include/Python.h", "has_header": {has_header}, "packages": {packages}}}"#
    );
    // Checks how it is called, too: isolated, with a program, asked for the pinned packages.
    let script = format!(
        "[ \"$1 $2\" = '-I -c' ] || exit 9\nshift 3\n[ \"$*\" = 'torch triton numpy pyyaml' ] || exit 8\n\
         echo '{json}'"
    );
    fake_python(folder, &script)
}

/// A machine with everything that does not depend on the machine that runs the tests.
fn host(folder: &Path, python: PathBuf) -> Host {
    fs::write(folder.join("gcc"), "").unwrap();
    Host {
        python,
        database: folder.join("data/kernelbrain.db"),
        sandbox: SandboxAbilities { landlock: 7, missing: vec![] },
        path: Some(folder.as_os_str().to_owned()),
        cc: None,
        visible: None,
        gpus: Err(NoGpu("no NVIDIA driver: its library libnvidia-ml.so.1 is not installed".into())),
        profiling: ProfilingPermission::Unknown,
        ncu: None,
    }
}

fn h200() -> Inventory {
    let gpu = Gpu {
        index: 0,
        uuid: "GPU-1a2b".into(),
        name: "NVIDIA H200".into(),
        compute_capability: Some((9, 0)),
        memory_total: 140 << 30,
        memory_free: 139 << 30,
        mig: false,
        processes: vec![],
    };
    Inventory { driver_version: "570.86.15".into(), gpus: vec![gpu] }
}

/// The rendered diagnosis, with the folder and the disk's size replaced.
fn shown(diagnosis: &Diagnosis, folder: &Path) -> String {
    let text = render(diagnosis, false).replace(folder.to_str().unwrap(), "FOLDER");
    let lines = text.lines().map(|line| match line.split_once("free space") {
        Some((before, _)) => format!("{before}free space"),
        None => line.trim_end().to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_machine_without_a_gpu_is_ready_for_the_cpu_device() {
    let folder = tempfile::tempdir().unwrap();
    let python = answering(folder.path(), "\"2.11.0+cpu\"", "\"2.3.5\"");
    let diagnosis = examine(&host(folder.path(), python)).await;
    assert!(diagnosis.can_run());
    insta::assert_snapshot!("cpu_machine", shown(&diagnosis, folder.path()));
}

#[tokio::test]
async fn a_gpu_machine_is_told_what_else_it_could_have() {
    let folder = tempfile::tempdir().unwrap();
    let python = answering(folder.path(), "\"2.9.1+cu128\"", "\"2.4.1\"");
    let mut host = host(folder.path(), python);
    host.gpus = Ok(h200());
    host.sandbox = SandboxAbilities { landlock: 3, missing: vec!["TCP".into(), "signals".into()] };
    let diagnosis = examine(&host).await;
    assert!(diagnosis.can_run(), "numpy 2.4 matters to the cpu device only");
    insta::assert_snapshot!("gpu_machine", shown(&diagnosis, folder.path()));
}

#[tokio::test]
async fn what_stands_in_the_way_is_called_missing() {
    let folder = tempfile::tempdir().unwrap();
    let python = answering(folder.path(), "null", "\"2.4.0\"");
    let mut host = host(folder.path(), python);
    host.database = "/proc/kernelbrain/kernelbrain.db".into();
    let diagnosis = examine(&host).await;
    assert!(!diagnosis.can_run());
    let missing = |name: &str| {
        let check = diagnosis.checks.iter().find(|check| check.name == name).unwrap();
        (check.status == Status::Missing).then(|| check.advice.clone().unwrap())
    };
    assert!(missing("torch").unwrap().contains("-m pip install 'torch==2.11.0'"));
    assert!(missing("numpy").unwrap().ends_with("-m pip install 'numpy<2.4'"));
    assert_eq!(missing("triton"), None);
    assert!(render(&diagnosis, false).ends_with("must be there first.\n"));
}

#[tokio::test]
async fn a_python_that_is_none_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let troubles = [
        ("echo 'I am a teapot'", "does not behave like Python"),
        ("echo 'no module named \u{1b}[31mencodings' >&2; exit 3", "ended with exit status: 3"),
        ("kill -9 $$", "signal: 9"),
    ];
    for (script, expected) in troubles {
        let checks = python::checks(&fake_python(folder.path(), script), false).await;
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].status, Status::Missing);
        assert!(checks[0].found.contains(expected), "{}", checks[0].found);
        let text = render(&Diagnosis { checks }, false);
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    let nowhere = python::checks(Path::new("/nowhere/python"), false).await;
    assert!(nowhere[0].found.contains("cannot be started"), "{}", nowhere[0].found);
    assert!(nowhere[0].advice.as_ref().unwrap().contains("KERNELBRAIN_PYTHON"));
}

#[tokio::test]
async fn a_python_that_hangs_is_given_up_and_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("echo $$ > {}/pid; exec sleep 600", folder.path().display());
    let python = fake_python(folder.path(), &script);
    let patience = std::time::Duration::from_millis(500);
    let error = python::run(&python, "", [""; 0], patience).await.unwrap_err();
    assert!(error.contains("does not answer"), "{error}");
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    let alive = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    for _ in 0..500 {
        if !alive() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the hanging process {pid} was left behind");
}

#[tokio::test]
async fn trying_out_reports_what_python_said() {
    let folder = tempfile::tempdir().unwrap();
    let works = try_out(&fake_python(folder.path(), "echo a kernel ran"), true).await;
    let lines: Vec<_> = works.iter().map(|check| (&*check.name, &*check.found)).collect();
    assert_eq!(lines, [("cpu device", "a kernel ran"), ("cuda device", "a kernel ran")]);
    let script = "echo 'AssertionError: torch is built without CUDA' >&2; exit 1";
    let fails = try_out(&fake_python(folder.path(), script), false).await;
    assert_eq!(fails.len(), 1);
    assert!(fails[0].found.contains("built without CUDA"), "{}", fails[0].found);
}

#[tokio::test]
async fn on_a_gpu_triton_needs_pythons_header() {
    let folder = tempfile::tempdir().unwrap();
    let headerless = answering(folder.path(), "null", "\"2.3.5\"");
    let named = |checks: Vec<Check>| checks.into_iter().find(|check| check.name == "Python.h");
    assert_eq!(named(python::checks(&headerless, false).await), None);
    let check = named(python::checks(&headerless, true).await).unwrap();
    assert_eq!(check.status, Status::Missing);
    assert!(check.advice.unwrap().contains("python3-dev"));
}

#[test]
fn a_busy_a_hidden_and_an_unprofilable_gpu_are_warnings() {
    let mut inventory = h200();
    inventory.gpus[0].processes = vec![41, 42];
    let check = host::gpus(&Ok(inventory.clone()), None);
    assert_eq!(check.status, Status::Warn);
    assert!(check.found.contains("in use by 2 processes"), "{}", check.found);
    let check = host::gpus(&Ok(inventory), Some(""));
    assert!(check.found.contains("CUDA_VISIBLE_DEVICES"), "{}", check.found);
    let check = host::profiler(None, ProfilingPermission::Everyone);
    assert!(check.found.contains("not found"), "{}", check.found);
    let check = host::profiler(Some(Path::new("/x/ncu")), ProfilingPermission::Everyone);
    assert_eq!(check, Check::ok("Nsight Compute", "/x/ncu"));
}

#[test]
fn without_landlock_the_sandbox_is_never_ok() {
    let check = host::sandbox(&SandboxAbilities::default());
    assert_eq!(check.status, Status::Warn);
    assert!(check.advice.unwrap().contains("--sandbox best-effort"));
}

#[test]
fn versions_are_compared_as_versions() {
    let names: Vec<_> = pinned().iter().map(Requirement::text).collect();
    assert_eq!(names, ["torch==2.11.0", "triton==3.6.0", "numpy<2.4", "pyyaml>=6"]);
    let admits = |requirement, version| Requirement::read(requirement).unwrap().admits(version);
    assert!(admits("torch==2.11.0", "2.11.0+cu128"));
    assert!(!admits("torch==2.11.0", "2.9.0"));
    assert!(!admits("torch==2.11.0", "2.11.0rc1"));
    assert!(admits("numpy<2.4  # why", "2.3.12"));
    assert!(!admits("numpy<2.4", "2.4.0"));
    assert!(!admits("numpy<2.4", "2.10"));
    assert!(admits("pyyaml>=6", "6.0.2"));
    assert!(admits("pyyaml>=6", "6.0.post1"));
    assert_eq!(Requirement::read("# only a comment"), None);
}
