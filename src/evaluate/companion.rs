//! The baseline, kept warm in a child of its own for the rungs that time it beside a candidate: it
//! is imported, compiled and given a device context once a plane and not once an evaluation.

use tokio::sync::{Mutex, MutexGuard};

use super::{
    child::{ChildProcess, Launches},
    judge::Stop,
    plane::Plane,
    protocol::Ran,
    subject::Subject,
    tuning::Tuning,
    watch::WatchGuard,
};
use crate::kernel::{Candidate, CandidateId};

/// A place for the baseline's child.
#[derive(Debug, Default)]
pub(super) struct Companion(Mutex<Option<Resting>>);

/// The baseline between two evaluations.
#[derive(Debug)]
struct Resting {
    child: ChildProcess,
    watch: WatchGuard,
    /// Cases that it is compiled for, and has been called on.
    compiled: Vec<usize>,
    called: Vec<usize>,
}

/// The baseline, lent to one evaluation. Goes back with [`Borrowed::put_back`].
#[derive(Debug)]
pub(super) struct Borrowed<'p> {
    pub(super) subject: Subject<'p>,
    /// It broke down: a new one is made when it is wanted again.
    pub(super) failed: bool,
    compiled: Vec<usize>,
    called: Vec<usize>,
    place: MutexGuard<'p, Option<Resting>>,
}

impl Plane {
    /// The baseline, ready to be called on `cases`; `None` where that fails, which is no fault of
    /// the candidate that it was to be compared with, and for the baseline itself.
    pub(super) async fn borrow_baseline(
        &self,
        candidate: &CandidateId,
        cases: &[usize],
        seed: u64,
    ) -> Option<Borrowed<'_>> {
        let baseline = Candidate::baseline(self.config.target.text.clone());
        if baseline.id == *candidate {
            return None;
        }
        let mut place = self.companion.0.lock().await;
        let (mut subject, mut compiled, called) = match place.take() {
            Some(Resting { child, watch, compiled, called }) => {
                (Subject::of(self, child, watch, &baseline), compiled, called)
            }
            None => (
                note(Subject::start(self, &baseline, Tuning::Usual).await)?,
                Vec::new(),
                Vec::new(),
            ),
        };
        let new: Vec<usize> =
            cases.iter().copied().filter(|case| !compiled.contains(case)).collect();
        if !new.is_empty() {
            if note(subject.compile(&new, seed).await).is_none() {
                subject.end().await;
                return None;
            }
            compiled.extend(new);
        }
        Some(Borrowed { subject, failed: false, compiled, called, place })
    }
}

impl Borrowed<'_> {
    /// Its first call on a case, which loads what was compiled and may tune it. What it returns is
    /// known to be right, or else there would be nothing to compare with.
    pub(super) async fn meet(&mut self, case: usize, seed: u64) {
        if self.failed || self.called.contains(&case) {
            return;
        }
        let limit = self.subject.plane.config.limits.call;
        let ran: Result<Ran, _> = match self.subject.inputs(case, seed).await {
            Ok(inputs) => {
                let call = &self.subject.call;
                self.subject.child.run(&inputs, call, Launches::Real, limit).await
            }
            Err(_) => return self.failed = true,
        };
        self.failed = ran.is_err();
        self.called.push(case);
    }

    /// Gives back what it holds on the device; while it still has the GPU turn.
    pub(super) async fn rest(&mut self) {
        let limit = self.subject.plane.config.limits.call;
        self.failed |= self.subject.child.rest(limit).await.is_err();
    }

    /// Back to its place, for the next one.
    pub(super) async fn put_back(mut self) {
        if self.failed {
            return self.subject.end().await;
        }
        let Subject { child, watch, .. } = self.subject;
        let (compiled, called) = (self.compiled, self.called);
        *self.place = Some(Resting { child, watch, compiled, called });
    }
}

fn note<T>(result: Result<T, Stop>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Stop::Rejected(rejection)) => {
            tracing::debug!(%rejection, "the baseline cannot take part");
            None
        }
        Err(Stop::Fault(error)) => {
            tracing::debug!(%error, "the baseline cannot take part");
            None
        }
    }
}
