use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use seccompiler::{BpfProgram, TargetArch};

use super::{
    Confinement, Ground, Limits, Policy, Toolchain, abilities, devices,
    enter::missing,
    syscalls::{hex, program},
};

fn ground() -> Ground {
    Ground {
        python: vec!["/home/ada/venv".into()],
        readable: vec!["/home/ada/project".into()],
        writable: vec!["/tmp/shared".into()],
        gpu: false,
        best_effort: false,
        profiler: false,
    }
}

fn limits() -> Limits {
    Limits { memory_bytes: 4 << 30, file_bytes: 1 << 30, open_files: 1024 }
}

/// Runs a filter as the kernel does: the answer to system call `number` with `first` as argument 0.
fn answer(filter: &BpfProgram, arch: u32, number: u32, first: u64) -> u32 {
    const ALLOW: u32 = 0x7fff_0000;
    let mut data = [number.to_le_bytes(), arch.to_le_bytes(), [0; 4], [0; 4]].concat();
    data.extend(first.to_le_bytes());
    data.extend([0; 40]);
    let (mut accumulator, mut at) = (0_u32, 0_usize);
    loop {
        let step = &filter[at];
        at += 1;
        let skip = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
        match step.code {
            0x20 => {
                let from = step.k as usize;
                accumulator = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
            }
            0x05 => at += step.k as usize,
            0x15 => at += skip(accumulator == step.k),
            0x25 => at += skip(accumulator > step.k),
            0x35 => at += skip(accumulator >= step.k),
            0x06 => return if step.k == ALLOW { 0 } else { step.k },
            other => panic!("instruction {other:#x} is not expected in a filter"),
        }
    }
}

const EPERM: u32 = 0x0005_0001;
const KILL: u32 = 0x8000_0000;

#[test]
fn on_x86_64_only_unix_sockets_can_be_made() {
    let filter = program(TargetArch::x86_64).unwrap();
    let x86_64 = 0xc000_003e;
    let socket = |family| answer(&filter, x86_64, 41, family);
    assert_eq!(socket(1), 0, "AF_UNIX");
    for (family, name) in [(2, "AF_INET"), (10, "AF_INET6"), (16, "AF_NETLINK"), (17, "AF_PACKET")]
    {
        assert_eq!(socket(family), EPERM, "{name}");
    }
    // The kernel looks at the lower half of the argument only.
    assert_eq!(socket(0x1_0000_0002), EPERM);
    assert_eq!(answer(&filter, x86_64, 41 | 0x4000_0000, 2), EPERM, "by the x32 interface");
}

#[test]
fn other_processes_and_the_kernel_are_out_of_reach_on_both_architectures() {
    for (arch, audit, calls) in [
        (TargetArch::x86_64, 0xc000_003e, [101, 310, 425, 165, 272, 175, 227]),
        (TargetArch::aarch64, 0xc000_00b7, [117, 270, 425, 40, 97, 105, 112]),
    ] {
        let filter = program(arch).unwrap();
        for number in calls {
            assert_eq!(answer(&filter, audit, number, 0), EPERM, "call {number}");
        }
        assert_eq!(answer(&filter, audit, 424, 0), 0, "pidfd_send_signal is not on the list");
        assert_eq!(answer(&filter, 0x4000_0003, 1, 0), KILL, "a 32-bit call ends the process");
    }
}

#[test]
fn limits_of_this_process_may_be_set_and_those_of_others_not() {
    let filter = program(TargetArch::x86_64).unwrap();
    assert_eq!(answer(&filter, 0xc000_003e, 302, 0), 0);
    assert_eq!(answer(&filter, 0xc000_003e, 302, 1234), EPERM);
}

#[test]
fn a_filter_is_written_as_the_kernel_takes_it() {
    let filter = program(TargetArch::x86_64).unwrap();
    let text = hex(&filter);
    assert_eq!(text.len(), filter.len() * 16);
    // Load the architecture; if it is x86_64 skip one; kill.
    assert_eq!(
        &text[..48],
        "20000000040000001500010 03e0000c0".replace(' ', "") + "0600000000000080"
    );
}

/// The harness's own tests confine children with the filter, and have no Rust to ask for it.
#[test]
fn the_filters_that_the_harness_is_tested_with_are_these() {
    for (arch, name) in [(TargetArch::x86_64, "x86_64"), (TargetArch::aarch64, "aarch64")] {
        let file = format!("{}/tests/harness/seccomp-{name}.hex", env!("CARGO_MANIFEST_DIR"));
        let expected = hex(&program(arch).unwrap());
        let found = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(found.trim(), expected, "{file} must hold the filter");
    }
}

#[test]
fn a_candidate_reads_its_packages_but_neither_home_nor_programs() {
    let policy = Policy::candidate(&ground(), &Toolchain { programs: vec!["/usr/bin/ld".into()] });
    assert!(policy.read.contains(&"/home/ada/venv".into()));
    assert!(policy.read.contains(&"/home/ada/project".into()), "the checkout of an in-tree target");
    for hidden in
        ["/", "/home", "/home/ada", "/root", "/usr", "/usr/bin", "/bin", "/etc", "/tmp", "/dev"]
    {
        assert!(!policy.read.contains(&hidden.into()), "{hidden}");
    }
    assert_eq!(policy.execute, [PathBuf::from("/usr/bin/ld")]);
    assert!(policy.map.contains(&"/tmp/shared".into()));
    assert!(!policy.write.contains(&"/tmp/shared".into()));
    assert!(policy.write.contains(&"/proc/self".into()));
    assert!(!policy.write.contains(&"/proc".into()), "/proc/sys is a way out for root");
    assert!(
        !policy.write.contains(&"/home/ada/project".into()),
        "nothing in a checkout is written"
    );
}

#[test]
fn other_processes_execute_what_they_read_and_write_to_their_ground() {
    let policy = Policy::process(&ground());
    assert_eq!(policy.execute, policy.read);
    assert!(policy.read.contains(&"/usr".into()));
    assert!(!policy.write.iter().any(|path| path.starts_with("/home")));
}

#[test]
fn a_gpu_process_opens_its_devices_and_no_disk() {
    let dev = tempfile::tempdir().unwrap();
    for name in ["null", "nvidia0", "nvidiactl", "nvidia-uvm", "sda", "mem", "kvm"] {
        fs::write(dev.path().join(name), "").unwrap();
    }
    fs::create_dir(dev.path().join("shm")).unwrap();
    let names = |gpu| -> Vec<_> {
        let found = devices(dev.path(), gpu);
        found.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(true), ["null", "nvidia-uvm", "nvidia0", "nvidiactl", "shm"]);
    assert_eq!(names(false), ["null"]);
}

#[test]
fn the_compiler_is_asked_for_what_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let bin = root.join("triton/backends/nvidia/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(root.join("assembler"), "").unwrap();
    let compiler = root.join("cc");
    let script = format!(
        "#!/bin/sh\ncase $1 in *=as) echo {}/assembler;; *) echo ${{1#*=}};; esac\n",
        root.display()
    );
    fs::write(&compiler, script).unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();

    let tools = Toolchain::find(std::slice::from_ref(&root), Some(&compiler));
    for expected in [bin, root.join("assembler"), compiler] {
        assert!(tools.programs.contains(&expected), "{expected:?} in {tools:?}");
    }
    let names: Vec<_> =
        tools.programs.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    for program in ["curl", "python3", "env"] {
        assert!(!names.contains(&program), "{program}");
    }
    // A compiler that is a script needs its interpreter.
    let shell = fs::canonicalize("/bin/sh").unwrap();
    assert!(tools.programs.contains(&shell), "{tools:?}");
    assert!(
        tools.programs.iter().all(|path| path.canonicalize().unwrap() == *path),
        "links are resolved"
    );
}

#[test]
fn a_confinement_reads_as_the_protocol_says() {
    let policy =
        Policy { best_effort: true, ..Policy::candidate(&ground(), &Toolchain::default()) };
    let confinement = policy.confinement(limits()).unwrap();
    let json = serde_json::to_value(&confinement).unwrap();
    let names: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "read",
            "write",
            "execute",
            "map",
            "best_effort",
            "profiler",
            "seccomp",
            "memory_bytes",
            "file_bytes",
            "open_files"
        ]
    );
    assert_eq!(json["memory_bytes"], 4_u64 << 30);
    assert_eq!(serde_json::from_value::<Confinement>(json).unwrap(), confinement);
}

#[test]
fn a_policy_survives_the_way_to_the_process_that_enters_it() {
    let policy = Policy::process(&ground());
    let text = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
}

#[test]
fn what_a_kernel_lacks_is_said_in_words() {
    assert!(missing(7, true).is_empty());
    let old = missing(4, true);
    assert_eq!(old.len(), 1);
    assert!(old[0].contains("signals") && old[0].contains("6.12"), "{old:?}");
    assert!(missing(2, true)[0].contains("truncated"));
    let none = missing(0, false);
    assert!(none[0].contains("Landlock") && none.last().unwrap().contains("network"), "{none:?}");
}

#[test]
fn trying_out_the_sandbox_leaves_this_process_free() {
    let abilities = abilities();
    assert_eq!(abilities.missing, missing(abilities.landlock_abi, abilities.seccomp));
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "still writable").unwrap();
    std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
}
