//! Candidates that do their worst, one after another on one evaluation plane. After each of them
//! an honest one must be judged as ever, and nothing may be left of it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use kernelbrain::{
    engine::{Selection, machine},
    evaluate::{Device, Fidelity, Plane, PlaneConfig, Quota, TimeLimits, Timing, VerifyPlan},
    kernel::{Candidate, Evaluation, Gate, Move, Verdict},
};
use rustix::process::{Pid, Signal, kill_process};

const CONTRACT: &str = include_str!("cli/support/tiny_contract.py");
const HONEST: &str = include_str!("cli/support/softmax_kernel.py");

/// A plane for a tiny contract on the cpu, and how many honest candidates it has seen.
struct Ward {
    plane: Plane,
    honest: u32,
    _folder: tempfile::TempDir,
}

impl Ward {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (source, contract) = (folder.path().join("kernel.py"), folder.path().join("test.py"));
        fs::write(&source, HONEST).unwrap();
        fs::write(&contract, CONTRACT).unwrap();
        let named = machine::named_python(None);
        let limit = Duration::from_secs(10);
        let config = PlaneConfig {
            target: Selection::Files { source, contract }.resolve().unwrap(),
            device: Device::Cpu,
            interpreter: machine::find_python(named.as_deref()).unwrap(),
            launcher: PathBuf::from(env!("CARGO_BIN_EXE_kernelbrain")),
            best_effort: false,
            children: 2,
            limits: TimeLimits {
                import: limit,
                compile: limit,
                call: limit,
                referee: Duration::from_secs(60),
            },
            quota: Quota { memory_bytes: 640 << 20, processes: 8, disk_bytes: 64 << 20 },
        };
        Self { plane: Plane::start(config).await.unwrap(), honest: 0, _folder: folder }
    }

    async fn judge(&self, source: String) -> Evaluation {
        let fidelity = Fidelity {
            cases: vec![0],
            seeds: vec![1],
            timing: Timing { warmup: 0, repeat: 1, enough_us: 1_000_000, flush_bytes: 0 },
            quiet: true,
            hopeless_at: None,
            rounds: None,
            observe: true,
        };
        self.plane.evaluate(&Candidate::baseline(source), 0, &fidelity).await.unwrap()
    }

    /// A right kernel that differs from all before it, and must be found right.
    async fn honest_one(&mut self) -> Evaluation {
        self.honest += 1;
        let evaluation = self.judge(format!("{HONEST}\nNUMBER = {}\n", self.honest)).await;
        assert_eq!(evaluation.verdict, Verdict::Accepted, "after {} others", self.honest - 1);
        assert_eq!(evaluation.cases.len(), 1);
        assert_eq!(evaluation.same_program_as, None);
        evaluation
    }

    /// Why a right kernel with `statements` in its call is rejected; then an honest one is judged.
    async fn misbehaving(&mut self, statements: &str) -> (Gate, String) {
        let begun = Instant::now();
        let honest = HONEST.replace("def kernel_function", "def _honest");
        let body = statements.trim().replace('\n', "\n    ");
        let source =
            format!("{honest}\n\ndef kernel_function(x):\n    {body}\n    return _honest(x)\n");
        let evaluation = self.judge(source).await;
        let rejection = evaluation.rejection().unwrap_or_else(|| panic!("accepted: {statements}"));
        // A verdict within the limit of a step, and what ending a process takes.
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        assert_eq!(children_of(self.zygote()), [0_i32; 0], "left behind by {statements}");
        self.honest_one().await;
        (rejection.gate, rejection.reason.clone())
    }

    fn zygote(&self) -> i32 {
        self.process("zygote.py")
    }

    /// The child of this process that runs a script of the harness.
    fn process(&self, script: &str) -> i32 {
        let runs = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .split('\0')
                .any(|word| Path::new(word).file_name().is_some_and(|name| name == script))
        };
        // The processes of another test's plane have the same names and the same parent.
        let mut found = children_of(i32::try_from(std::process::id()).unwrap());
        found.retain(runs);
        assert_eq!(found.len(), 1, "{script}: {found:?}");
        found[0]
    }

    async fn close(self) {
        let me = i32::try_from(std::process::id()).unwrap();
        self.plane.close().await;
        let left: Vec<i32> = children_of(me)
            .into_iter()
            .filter(|pid| {
                fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c.contains("python"))
            })
            .collect();
        assert_eq!(left, [0_i32; 0]);
    }
}

fn children_of(parent: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).unwrap();
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()
        })
        .collect()
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// What candidates do in their call, and what it is rejected for.
const MISDEEDS: [(&str, &str); 8] = [
    ("import time\ntime.sleep(600)", "calling it did not end within 10 s"),
    ("import os\nos.abort()", "signal 6 (abort)"),
    ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", "PermissionError"),
    (
        "import os, time\nfor _ in range(30):\n    if os.fork() == 0: time.sleep(600)\ntime.sleep(600)",
        "processes at once",
    ),
    (
        "import mmap\nheld = []\nwhile True:\n    held.append(mmap.mmap(-1, 32 << 20))\n    \
         held[-1].write(bytes(32 << 20))",
        "GiB of memory",
    ),
    // Pages that no process has mapped belong to nobody's size.
    (
        "import os, time\nheld = [os.memfd_create('hidden') for _ in range(24)]\n\
         for file in held: os.write(file, bytes(64 << 20))\ntime.sleep(600)",
        "GiB of memory",
    ),
    (
        "import time\nfor number in range(12):\n    with open(str(number), 'wb') as file: \
         file.write(bytes(8 << 20))\ntime.sleep(600)",
        "GiB of files",
    ),
    // Nor do files without a name lie in any folder.
    (
        "import tempfile, time\nheld = [tempfile.TemporaryFile() for _ in range(12)]\n\
         for file in held:\n    file.write(bytes(8 << 20))\n    file.flush()\ntime.sleep(600)",
        "GiB of files",
    ),
];

/// All in one test: they share a plane on purpose, and tell its processes by their parent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_candidate_does_the_next_one_is_judged_as_ever() {
    let mut ward = Ward::open().await;
    let observed = ward.honest_one().await.observed.unwrap();
    assert_eq!(observed.repeatable, Some(true));
    assert!(observed.first_call_ms.unwrap() > 0.0);
    assert!(observed.bounds.unwrap().starts_with("no write outside of tensors"));

    for (statements, evidence) in MISDEEDS {
        let (gate, reason) = Box::pin(ward.misbehaving(statements)).await;
        assert!(reason.contains(evidence), "{reason}");
        let by_exception = evidence == "PermissionError";
        assert_eq!(gate, if by_exception { Gate::Correctness } else { Gate::Build }, "{reason}");
    }

    Box::pin(lost_processes_are_replaced(&mut ward)).await;
    ward.close().await;
}

/// Nothing a candidate can do ends them; something else may.
async fn lost_processes_are_replaced(ward: &mut Ward) {
    // Between evaluations.
    let before = ward.process("referee.py");
    kill(before);
    ward.honest_one().await;
    assert_ne!(ward.process("referee.py"), before);

    // During one, which is repeated.
    let slow = HONEST
        .replace("rows, cols = x.shape", "import time; time.sleep(1.5); rows, cols = x.shape");
    let judging = ward.judge(slow);
    let killing = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        kill(ward.process("zygote.py"));
    };
    let (evaluation, ()) = tokio::join!(judging, killing);
    assert_eq!(evaluation.verdict, Verdict::Accepted);
    ward.honest_one().await;

    // One that is lost with every candidate's evaluation was lost by the candidate.
    let slow =
        HONEST.replace("rows, cols = x.shape", "import time; time.sleep(2); rows, cols = x.shape");
    let judging = ward.judge(format!("{slow}\nAGAIN = True\n"));
    let killing = async {
        let mut killed = 0;
        let mut last = 0;
        while killed < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let parents = children_of(i32::try_from(std::process::id()).unwrap());
            let zygote = parents.into_iter().find(|pid| *pid != last && has_children(*pid));
            if let Some(pid) = zygote {
                last = pid;
                killed += 1;
                kill(pid);
            }
        }
    };
    let (evaluation, ()) = tokio::join!(judging, killing);
    let rejection = evaluation.rejection().expect("it loses the zygote every time");
    assert_eq!(rejection.gate, Gate::Build);
    assert!(
        rejection
            .reason
            .starts_with("the zygote ended while this candidate was evaluated, and again"),
        "{}",
        rejection.reason
    );
    ward.honest_one().await;
    Box::pin(verification_survives_too(ward)).await;
}

fn has_children(pid: i32) -> bool {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    children.is_ok_and(|children| !children.trim().is_empty())
}

async fn verification_survives_too(ward: &Ward) {
    let baseline = Candidate::baseline(HONEST);
    let winner = Candidate::child(
        &baseline.id,
        Move::Recipe { text: "none".into() },
        HONEST.replace("BLOCK = 32", "BLOCK = 64"),
    );
    let plan = VerifyPlan {
        seeds: vec![7],
        timing: Timing { warmup: 0, repeat: 1, enough_us: 1_000_000, flush_bytes: 0 },
        rounds: 5,
        least_rounds: 5,
        case_seconds: 5.0,
        with_pytorch: false,
        gamma: 1.0,
        allow_regression: true,
        incumbent: None,
        proof: None,
        decisive_rounds: 5,
    };
    let verifying = ward.plane.verify(&winner, &baseline, &plan);
    let killing = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        kill(ward.process("referee.py"));
    };
    let (verification, ()) = tokio::join!(verifying, killing);
    let verification = verification.unwrap();
    assert_eq!(verification.comparisons.len(), 1, "{:?}", verification.verdict);
}
