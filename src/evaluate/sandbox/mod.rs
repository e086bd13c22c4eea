//! What a process of the evaluation plane may touch, and the means that hold it to that.
//!
//! Two layers, both inherited by everything that a process starts and never lifted again:
//! Landlock decides which files may be read, written and executed and keeps signals and abstract
//! sockets inside; seccomp takes away the system calls that Landlock does not cover (sockets other
//! than Unix ones, `ptrace`, mounts, kernel modules …).
//!
//! A process of the evaluation plane and the repository's own tests enter a [`Policy::process`]
//! through [`exec`]; a candidate's process adds a narrower [`Policy::candidate`] on top, by itself,
//! in Python (`harness/confine.py`), from the [`Confinement`] that the zygote is given.

mod enter;
mod policy;
mod syscalls;
mod tools;

#[cfg(test)]
mod tests;

pub use enter::{Abilities, abilities, enter, exec};
pub use policy::{Confinement, Ground, Limits, Policy, readable_folder};
pub use tools::{Toolchain, devices};

/// A sandbox could not be prepared or entered.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(
        "this kernel does not enforce what the sandbox asks for ({0}); use Linux 6.12 or later with \
         Landlock enabled, or accept less with `--sandbox best-effort`"
    )]
    Landlock(#[from] landlock::RulesetError),
    #[error(
        "the system call filter could not be installed ({0}); the kernel needs CONFIG_SECCOMP_FILTER"
    )]
    Seccomp(#[from] seccompiler::Error),
    #[error("the kernel refused to take capabilities away ({0})")]
    Capabilities(std::io::Error),
    #[error("there is no system call filter for the {0} architecture; use x86_64 or aarch64")]
    Architecture(&'static str),
}
