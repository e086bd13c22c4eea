//! How thoroughly a candidate that tunes itself does so.

/// How long `@triton.autotune` looks at each configuration, on a GPU.
///
/// It holds the GPU meanwhile: for 2 to 5 s a candidate as triton does it, which was most of the
/// GPU time of a search whose rewrites tune themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tuning {
    /// For a few calls: where candidates are ranked, compared or profiled.
    Brief,
    /// As triton does it for whoever calls the kernel: where a speed is claimed or the first call is
    /// timed.
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
