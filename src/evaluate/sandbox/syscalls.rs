//! The system calls that no process of the evaluation plane may make, as a BPF program.
//!
//! A list of what is denied, not of what is allowed: CUDA, compilers and Python need most of the
//! rest, and Landlock guards files. A denied call fails with `EPERM` and the process goes on.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::SandboxError;

const EPERM: u32 = 1;
const AF_UNIX: u64 = 1;

/// The x32 interface of an x86_64 kernel: the same calls under numbers with this bit set, which
/// pass the filter's check of the architecture.
const X32: i64 = 0x4000_0000;

/// When a call is denied.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// Unless argument 0, of 32 bits, has this value.
    UnlessFirstIs(u64),
}
use When::{Always, UnlessFirstIs};

/// Name, number on x86_64, number on aarch64.
type Denied = (&'static str, i64, i64, When);

#[rustfmt::skip]
const DENIED: &[Denied] = &[
    // The network. Unix sockets stay: CUDA needs them.
    ("socket", 41, 198, UnlessFirstIs(AF_UNIX)),
    // An io_uring opens sockets and files without a system call that could be filtered.
    ("io_uring_setup", 425, 425, Always),
    ("io_uring_enter", 426, 426, Always),
    ("io_uring_register", 427, 427, Always),
    // Other processes: their memory, descriptors and limits.
    ("ptrace", 101, 117, Always),
    ("process_vm_readv", 310, 270, Always),
    ("process_vm_writev", 311, 271, Always),
    ("pidfd_getfd", 438, 438, Always),
    ("prlimit64", 302, 261, UnlessFirstIs(0)),
    // Files by other ways than their path.
    ("open_by_handle_at", 304, 265, Always),
    ("mount", 165, 40, Always),
    ("umount2", 166, 39, Always),
    ("pivot_root", 155, 41, Always),
    ("chroot", 161, 51, Always),
    ("open_tree", 428, 428, Always),
    ("move_mount", 429, 429, Always),
    ("fsopen", 430, 430, Always),
    ("fsconfig", 431, 431, Always),
    ("fsmount", 432, 432, Always),
    ("fspick", 433, 433, Always),
    ("mount_setattr", 442, 442, Always),
    // Namespaces, in which a process is root.
    ("unshare", 272, 97, Always),
    ("setns", 308, 268, Always),
    // The kernel and the machine.
    ("bpf", 321, 280, Always),
    ("perf_event_open", 298, 241, Always),
    ("userfaultfd", 323, 282, Always),
    ("keyctl", 250, 219, Always),
    ("add_key", 248, 217, Always),
    ("request_key", 249, 218, Always),
    ("init_module", 175, 105, Always),
    ("finit_module", 313, 273, Always),
    ("delete_module", 176, 106, Always),
    ("kexec_load", 246, 104, Always),
    ("kexec_file_load", 320, 294, Always),
    ("reboot", 169, 142, Always),
    ("swapon", 167, 224, Always),
    ("swapoff", 168, 225, Always),
    ("acct", 163, 89, Always),
    ("syslog", 103, 116, Always),
    ("sethostname", 170, 161, Always),
    ("setdomainname", 171, 162, Always),
    // The clocks, which timings are taken from.
    ("settimeofday", 164, 170, Always),
    ("clock_settime", 227, 112, Always),
    ("adjtimex", 159, 171, Always),
    ("clock_adjtime", 305, 266, Always),
];

/// Calls that have a number of their own in the x32 interface.
const DENIED_X32: &[(i64, When)] = &[(521, Always), (528, Always), (539, Always), (540, Always)];

/// The filter for this machine's architecture.
pub(super) fn filter() -> Result<BpfProgram, SandboxError> {
    match std::env::consts::ARCH {
        "x86_64" => program(TargetArch::x86_64),
        "aarch64" => program(TargetArch::aarch64),
        other => Err(SandboxError::Architecture(other)),
    }
}

/// The filter for `arch`.
pub(super) fn program(arch: TargetArch) -> Result<BpfProgram, SandboxError> {
    let mut rules = BTreeMap::new();
    for &(_, x86_64, aarch64, when) in DENIED {
        match arch {
            TargetArch::x86_64 => {
                rules.insert(x86_64, conditions(when)?);
                rules.insert(x86_64 | X32, conditions(when)?);
            }
            _ => {
                rules.insert(aarch64, conditions(when)?);
            }
        }
    }
    if matches!(arch, TargetArch::x86_64) {
        for &(number, when) in DENIED_X32 {
            rules.insert(number | X32, conditions(when)?);
        }
    }
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(EPERM), arch);
    let program = filter.and_then(BpfProgram::try_from).map_err(seccompiler::Error::from)?;
    Ok(program)
}

/// No condition means always.
fn conditions(when: When) -> Result<Vec<SeccompRule>, SandboxError> {
    let UnlessFirstIs(value) = when else { return Ok(Vec::new()) };
    let rule = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(seccompiler::Error::from)?;
    Ok(vec![rule])
}

/// The program as the kernel takes it, `struct sock_filter[]` in this machine's byte order, in hex.
pub(super) fn hex(program: &BpfProgram) -> String {
    program
        .iter()
        .flat_map(|step| {
            let [c0, c1] = step.code.to_ne_bytes();
            let [k0, k1, k2, k3] = step.k.to_ne_bytes();
            [c0, c1, step.jt, step.jf, k0, k1, k2, k3]
        })
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
