//! A world for the search that is made of numbers: what a candidate measures is a function of
//! its source, so that a whole run takes milliseconds and can be repeated exactly.

mod lab;
mod memory;
pub(crate) mod moves;
mod nature;

use std::sync::{Arc, Mutex, PoisonError};

use kernelbrain::{kernel::Case, search::ports::Clock};

pub(crate) use lab::Lab;
pub(crate) use memory::Memory;
pub(crate) use moves::Moves;
pub(crate) use nature::Nature;

pub(crate) const BASELINE: &str = "baseline";

/// A clock that stands still until something takes time.
#[derive(Clone, Default)]
pub(crate) struct TestClock(Arc<Mutex<f64>>);

impl TestClock {
    pub(crate) fn advance(&self, seconds: f64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += seconds;
    }
}

impl Clock for TestClock {
    fn seconds(&self) -> f64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deterministic dice: a number in 0..1 for a text.
pub(crate) fn dice(text: &str) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // Finalizer of MurmurHash3: neighbouring texts get unrelated numbers.
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    ((hash ^ (hash >> 33)) >> 11) as f64 / (1_u64 << 53) as f64
}

pub(crate) fn cases(count: usize) -> Vec<Case> {
    (0..count)
        .map(|index| Case {
            name: format!("case {index}"),
            params: serde_json::Map::new(),
            weight: 1.0,
        })
        .collect()
}
