//! Which kernels the baseline launches, so that nobody looks for gains in others.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use super::{plane::Plane, protocol::Ran};

/// Names of the kernels that calls of the baseline launched, on the way back too.
#[derive(Debug, Default)]
pub(super) struct Launched(Mutex<BTreeSet<String>>);

impl Plane {
    /// Names of the kernels that the contract's cases launch, as far as the baseline was called here.
    pub fn launched(&self) -> BTreeSet<String> {
        self.launched.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes note of what a call of the baseline launched in `case`, and warns where nothing of it is the
    /// source's: whoever named the entry or the source may have meant another.
    pub(super) fn note_launched(&self, case: &str, ran: &Ran) {
        let now: BTreeSet<&String> = ran.launched.iter().chain(&ran.launched_back).collect();
        let mut known = self.launched.0.lock().unwrap_or_else(PoisonError::into_inner);
        let news = now.iter().any(|name| !known.contains(*name));
        let kernels = self.policy.baseline().kernels();
        let own = kernels.iter().any(|kernel| now.iter().any(|name| *name == kernel.name()));
        if news && !kernels.is_empty() && !own {
            let names: Vec<&str> = now.iter().map(|name| name.as_str()).collect();
            let file = self.config.target.source.display();
            self.warn(format!(
                "case {case} launches {}, and none of them is a kernel of {file}: changes there may not be \
                 measured",
                names.join(", ")
            ));
        }
        known.extend(now.into_iter().cloned());
    }
}
