//! Kernels that misbehave. The baseline is not judged by the static policy, so each of these
//! really runs.

use std::time::Duration;

use crate::support::{Desk, Ran};

/// `optimize` of a right kernel that does something besides; `further` may say how long it may.
fn optimized(at_import: &str, in_call: &str, further: &[&str]) -> (Desk, Ran) {
    let desk = Desk::tiny_with(at_import, in_call);
    let ran =
        desk.run(desk.optimize(&[&["--budget", "60s", "--evaluations", "2"], further].concat()));
    (desk, ran)
}

/// The reason of a run that failed because its baseline did.
fn failure(at_import: &str, in_call: &str, further: &[&str]) -> String {
    let (desk, ran) = optimized(at_import, in_call, further);
    ran.exits_with(2).says("The baseline fails its own contract");
    let report = desk.report();
    assert_eq!(report["outcome"], "failed");
    report["reason"].as_str().unwrap().to_owned()
}

#[test]
fn printing_is_not_answering() {
    let noise = "
import os, sys
def shout():
    print('\\x1b[2J\\x07garbage' * 2000)
    sys.stderr.write('\\x00\\xff' * 5000)
    os.write(1, b'{\"id\": 1, \"ok\": true, \"result\": {}}\\n' * 500)
    os.write(2, b'\\xff\\xfe\\x00' * 5000)
shout()
";
    let (_desk, ran) = optimized(noise, "shout()", &[]);
    ran.exits_with(0);
    assert!(!ran.stderr.contains("garbage") && !ran.stdout.contains("garbage"));
}

#[test]
fn writing_into_every_descriptor_harms_the_writer_alone() {
    let in_call = "
import os
for descriptor in range(64):
    try: os.write(descriptor, b'{\"id\": 3, \"ok\": true, \"result\": {}}\\n')
    except OSError: pass
";
    let (desk, ran) = optimized("", in_call, &[]);
    assert!(matches!(ran.status, Some(0 | 2)), "{}", ran.printed());
    if ran.status == Some(2) {
        assert_eq!(desk.report()["outcome"], "failed");
    }
}

#[test]
fn sleeping_for_ever() {
    let sleep = "import time\ntime.sleep(3600)";
    let said = failure(sleep, "", &["--candidate-timeout", "3s"]);
    assert!(said.contains("importing it did not end within 3 s"), "{said}");
    let said = failure("", sleep, &["--candidate-timeout", "3s"]);
    assert!(said.contains("calling it did not end within 3 s"), "{said}");
    assert!(said.contains("(case tiny)"), "{said}");
}

#[test]
fn ending_the_process() {
    let mut said = String::new();
    for (what, statement) in
        [("sys.exit", "import sys; sys.exit(0)"), ("os._exit", "import os; os._exit(0)")]
    {
        said.push_str(&format!("{what} at import: {}\n", failure(statement, "", &[])));
        said.push_str(&format!("{what} in a call: {}\n", failure("", statement, &[])));
    }
    insta::assert_snapshot!("hostile_exits", said);
}

#[test]
fn being_killed_by_a_signal() {
    let mut said = String::new();
    for signal in ["SIGSEGV", "SIGKILL"] {
        let statement = format!("import os, signal; os.kill(os.getpid(), signal.{signal})");
        said.push_str(&format!("{signal}: {}\n", failure("", &statement, &[])));
    }
    let crash = "import ctypes; ctypes.string_at(0)";
    said.push_str(&format!("null pointer at import: {}\n", failure(crash, "", &[])));
    insta::assert_snapshot!("hostile_signals", said);
}

/// Ten children share the machine's memory, so that one may have the least there is: 4 GiB.
const LITTLE_MEMORY: [&str; 2] = ["--children", "10"];

#[test]
fn allocating_all_memory() {
    let private = "
held = []
while True: held.append(bytes(1) * (64 << 20))
";
    let said = failure("", private, &LITTLE_MEMORY);
    assert!(said.contains("MemoryError") || said.contains("of memory"), "{said}");
    // Shared pages count for no resource limit; the watch over the family sees them.
    let shared = "
import mmap
held = []
while True:
    held.append(mmap.mmap(-1, 64 << 20))
    held[-1].write(bytes(64 << 20))
";
    let said = failure("", shared, &LITTLE_MEMORY);
    assert!(said.contains("more than the 4.0 GiB a candidate may use"), "{said}");
}

#[test]
fn forking_without_end() {
    let forks = "
import os, time
for _ in range(60):
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
time.sleep(600)
";
    let said = failure("", forks, &[]);
    assert!(said.contains("processes at once") || said.contains("BlockingIOError"), "{said}");
}

#[test]
fn pages_that_forks_share_are_counted_once() {
    let forks = "
import os, signal, time
pids = []
for _ in range(30):
    pids.append(os.fork())
    if pids[-1] == 0:
        time.sleep(600)
        os._exit(0)
time.sleep(1)
for pid in pids:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
";
    let (_desk, ran) = optimized(forks, "", &LITTLE_MEMORY);
    ran.exits_with(0);
}

#[test]
fn a_daemon_left_behind_does_not_outlive_its_candidate() {
    let daemon = "
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir('/')
        time.sleep(600)
    os._exit(0)
os.wait()
";
    // That the run leaves no process behind is asked of every one of these.
    let (_desk, ran) = optimized(daemon, daemon.trim(), &[]);
    ran.exits_with(0);
}

#[test]
fn killed_while_a_candidate_hangs_nothing_is_left() {
    let hang = "
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
os.fork()
time.sleep(600)
";
    let desk = Desk::tiny_with(hang, "");
    let mut running =
        desk.start(desk.optimize(&["--budget", "300s", "--candidate-timeout", "300s"]));
    running.until("\nrun ");
    std::thread::sleep(Duration::from_secs(1));
    running.kill();
}
