//! Entering a policy: of the calling process, once and for all.

use std::{ffi::OsString, io, os::unix::process::CommandExt, process::Command};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, Scope, make_bitflags, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities, set_no_new_privs};
use serde::Serialize;

use super::{Policy, SandboxError, syscalls};

/// The newest Landlock interface that is used: the one that scopes signals.
const NEWEST: ABI = ABI::V6;

/// Restricts the calling thread, and every process and thread that it starts from now on.
///
/// # Errors
/// Where the kernel does not enforce all of it, unless the policy is best-effort.
pub fn enter(policy: &Policy) -> Result<(), SandboxError> {
    drop_capabilities(policy.profiler).map_err(|error| SandboxError::Capabilities(error.into()))?;
    let level =
        if policy.best_effort { CompatLevel::BestEffort } else { CompatLevel::HardRequirement };
    let execute = AccessFs::Execute;
    let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    Ruleset::default()
        .set_compatibility(level)
        .handle_access(handled_files())?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        // A right that makes no sense for a path (to list a file) is left out of its rule.
        .set_compatibility(CompatLevel::BestEffort)
        .add_rules(path_beneath_rules(&policy.read, read))?
        .add_rules(path_beneath_rules(&policy.write, read | written()))?
        .add_rules(path_beneath_rules(&policy.execute, execute))?
        .restrict_self()?;
    match syscalls::filter() {
        Ok(program) => match seccompiler::apply_filter(&program) {
            Err(_) if policy.best_effort => Ok(()),
            applied => Ok(applied?),
        },
        Err(_) if policy.best_effort => Ok(()),
        Err(error) => Err(error),
    }
}

/// Takes from a process of root what reaches past Landlock: with `CAP_PERFMON` or `CAP_SYS_ADMIN`
/// the kernel shows it the environment of every process, with `CAP_SYS_RAWIO` all memory. Files of
/// other users stay open to it as far as Landlock allows.
fn drop_capabilities(profiler: bool) -> rustix::io::Result<()> {
    let mut kept = CapabilitySet::DAC_OVERRIDE;
    if profiler {
        kept |= CapabilitySet::SYS_ADMIN | CapabilitySet::PERFMON;
    }
    let mut sets = capabilities(None)?;
    sets.permitted &= kept;
    sets.effective &= kept;
    sets.inheritable = CapabilitySet::empty();
    set_capabilities(None, sets)
}

/// All that Landlock can bar. What is handled and granted nowhere cannot be done at all.
fn handled_files() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST)
}

/// What may be done where writing is allowed: everything but making device nodes.
fn written() -> BitFlags<AccessFs> {
    AccessFs::from_write(NEWEST) & !make_bitflags!(AccessFs::{MakeChar | MakeBlock})
}

/// Enters `policy` and becomes the program `argv`; returns only if that fails.
pub fn exec(policy: &Policy, argv: &[OsString]) -> io::Error {
    let Some((program, arguments)) = argv.split_first() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "no program to execute was named");
    };
    // Also where Landlock is missing and nothing below asks for it.
    if let Err(error) = set_no_new_privs(true) {
        return error.into();
    }
    if let Err(error) = enter(policy) {
        return io::Error::other(error);
    }
    let error = Command::new(program).args(arguments).exec();
    io::Error::new(error.kind(), format!("{} cannot be executed: {error}", program.display()))
}

/// What this machine's kernel enforces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Abilities {
    /// Version of the Landlock interface; 0 without Landlock.
    pub landlock_abi: u32,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// What is not protected, one sentence each; empty where the sandbox is whole.
    pub missing: Vec<String>,
}

/// Tries the sandbox out on a thread that ends right after.
pub fn abilities() -> Abilities {
    let tried = std::thread::spawn(|| {
        let landlock = Ruleset::default()
            .handle_access(AccessFs::Execute)
            .and_then(Ruleset::create)
            .and_then(|ruleset| ruleset.restrict_self());
        let seccomp =
            syscalls::filter().and_then(|program| Ok(seccompiler::apply_filter(&program)?));
        (landlock.map(|status| status.landlock), seccomp.is_ok())
    });
    let (landlock, seccomp) = match tried.join() {
        Ok((Ok(LandlockStatus::Available { effective_abi, kernel_abi }), seccomp)) => {
            let abi = kernel_abi.unwrap_or(effective_abi as i32);
            (u32::try_from(abi).unwrap_or(0), seccomp)
        }
        Ok((_, seccomp)) => (0, seccomp),
        Err(_) => (0, false),
    };
    Abilities { landlock_abi: landlock, seccomp, missing: missing(landlock, seccomp) }
}

/// What a candidate could do where the kernel offers only this much.
pub(super) fn missing(landlock_abi: u32, seccomp: bool) -> Vec<String> {
    let mut missing = Vec::new();
    if landlock_abi == 0 {
        missing.push("files outside the scratch folder can be read, written and executed (needs Landlock, Linux 5.13 or later)");
    } else if landlock_abi < 3 {
        missing
            .push("files outside the scratch folder can be truncated (needs Linux 6.2 or later)");
    }
    if landlock_abi < 6 {
        missing.push("other processes of the user can be sent signals (needs Linux 6.12 or later)");
    }
    if !seccomp {
        missing.push("the network can be used, and system calls are not filtered (needs seccomp)");
    }
    missing.into_iter().map(str::to_owned).collect()
}
