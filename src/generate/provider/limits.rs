//! How much one provider may take: time, bytes, tokens, calls at once.

use std::{num::NonZeroUsize, time::Duration};

/// Limits of every call to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the first byte sent to the last byte received, for one call.
    pub time_out: Duration,
    /// How often a call is repeated that failed for a reason that may pass.
    pub retries: u32,
    /// Before the first repetition; it doubles with each, and is lengthened at random by up to its
    /// own length, so that calls which failed together do not come back together.
    pub first_wait: Duration,
    /// Before any repetition. A server that asks for a longer pause ends the call instead.
    pub longest_wait: Duration,
    /// Longest answer as it comes in: the body of a response, the output of a command, a file.
    /// No more than this is ever held in memory.
    pub answer_bytes: usize,
    /// Most tokens that a model may write, where the provider can be told.
    pub output_tokens: u32,
    /// Most calls under way at the same time.
    pub concurrency: NonZeroUsize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Models that reason first take minutes for a whole kernel.
            time_out: Duration::from_secs(600),
            retries: 5,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(120),
            answer_bytes: 2 * 1024 * 1024,
            output_tokens: 32_000,
            concurrency: NonZeroUsize::MIN.saturating_add(3),
        }
    }
}
