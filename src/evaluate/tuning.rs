//! How thoroughly a candidate that tunes itself does so.

/// How long `@triton.autotune` looks at each configuration, on a GPU.
///
/// It holds the GPU meanwhile: for 2 to 5 s a candidate as triton does it, which is many times what
/// it takes to rank one.
///
/// A candidate can tell which of both it is in. So whatever a winner is judged by is [`Usual`]: the
/// top rung, its profile, and all of the verification, in which what is proved and what is timed must be
/// the same program.
///
/// [`Usual`]: Tuning::Usual
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tuning {
    /// For a few calls: below the top rung.
    Brief,
    /// As triton does it for whoever calls the kernel.
    Usual,
}

impl Tuning {
    /// As the protocol calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Brief => "brief",
            Self::Usual => "usual",
        }
    }
}
