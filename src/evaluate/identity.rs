//! Which program was measured on which rung, so that none is measured twice.
//!
//! A candidate's child says which program it is, and a child is not believed. What a forged identity
//! gains is another program's numbers on a rung of the search, no more: a rejection is never shared,
//! so that nobody's verdict can be spoilt, and a winner is verified by a measurement of its own
//! (`verify.rs` knows nothing of identities), where its real program fails.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::judge::Fidelity;
use crate::kernel::Evaluation;

/// A program on a rung.
type Key = (usize, [u8; 32]);

/// What has been measured, and what is being measured now.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs(Arc<Mutex<HashMap<Key, Known>>>);

#[derive(Debug)]
enum Known {
    UnderWay(watch::Receiver<()>),
    Measured(Box<(Fidelity, Evaluation)>),
}

/// What to do with a candidate whose program is known by now.
#[derive(Debug)]
pub(super) enum Claim {
    /// Nobody has measured it: measure it, and tell here.
    Measure(Ticket),
    /// It was measured and accepted.
    Measured(Box<Evaluation>),
    /// It is being measured: ask again when that has ended.
    Wait(Measuring),
}

/// The right to measure a program; given back when dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    programs: Programs,
    key: Key,
    fidelity: Fidelity,
    _ended: watch::Sender<()>,
}

/// A measurement of somebody else's.
#[derive(Debug)]
pub(super) struct Measuring(watch::Receiver<()>);

impl Measuring {
    /// Returns when it has ended, whatever came of it.
    pub(super) async fn ended(mut self) {
        // Nothing is ever sent: the error says that the ticket is gone.
        self.0.changed().await.ok();
    }
}

impl Programs {
    /// Claims the program whose identity on each case of the rung is in `identities`; `None` where
    /// one is unknown, since then it may be any program.
    pub(super) fn claim(
        &self,
        rung: usize,
        fidelity: &Fidelity,
        identities: &[Option<String>],
    ) -> Option<Claim> {
        let key = (rung, fold(identities)?);
        let mut known = self.lock();
        match known.get(&key) {
            Some(Known::Measured(measured)) if measured.0 == *fidelity => {
                return Some(Claim::Measured(Box::new(measured.1.clone())));
            }
            Some(Known::UnderWay(ended)) => return Some(Claim::Wait(Measuring(ended.clone()))),
            Some(Known::Measured(_)) | None => {}
        }
        let (sender, receiver) = watch::channel(());
        known.insert(key, Known::UnderWay(receiver));
        let programs = self.clone();
        Some(Claim::Measure(Ticket { programs, key, fidelity: fidelity.clone(), _ended: sender }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Keeps what was measured for others of the same program, unless it was rejected.
    pub(super) fn keep(self, evaluation: &Evaluation) {
        if evaluation.accepted() {
            let measured = Box::new((self.fidelity.clone(), evaluation.clone()));
            self.programs.lock().insert(self.key, Known::Measured(measured));
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut known = self.programs.lock();
        if matches!(known.get(&self.key), Some(Known::UnderWay(_))) {
            known.remove(&self.key);
        }
    }
}

/// One digest of all cases. What a child says may be of any length, and is not kept.
fn fold(identities: &[Option<String>]) -> Option<[u8; 32]> {
    if identities.is_empty() {
        return None;
    }
    let mut digest = Sha256::new();
    for identity in identities {
        let identity = identity.as_ref()?;
        digest.update((identity.len() as u64).to_le_bytes());
        digest.update(identity);
    }
    Some(digest.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evaluate::Timing,
        kernel::{CandidateId, Cost, Gate, Rejection, Verdict},
    };

    fn fidelity() -> Fidelity {
        Fidelity {
            cases: vec![0],
            seeds: vec![1],
            timing: Timing { warmup: 1, repeat: 3, enough_us: 1, flush_bytes: 0 },
            quiet: false,
            hopeless_at: None,
            rounds: None,
            observe: false,
        }
    }

    fn evaluation(verdict: Verdict) -> Evaluation {
        Evaluation {
            candidate: CandidateId::of("x = 1"),
            rung: 0,
            verdict,
            cases: Vec::new(),
            build: Vec::new(),
            diagnosis: None,
            disturbed: 0,
            profiling: None,
            cost: Cost { gpu_seconds: 1.0, wall_seconds: 2.0 },
            same_program_as: None,
            observed: None,
            ended_at: None,
        }
    }

    fn known(name: &str) -> Vec<Option<String>> {
        vec![Some(name.into())]
    }

    fn measure(programs: &Programs, name: &str) -> Ticket {
        match programs.claim(0, &fidelity(), &known(name)) {
            Some(Claim::Measure(ticket)) => ticket,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_second_waits_for_the_first_and_gets_its_measurement() {
        let programs = Programs::default();
        let ticket = measure(&programs, "a");
        let Some(Claim::Wait(waiting)) = programs.claim(0, &fidelity(), &known("a")) else {
            panic!("measured twice");
        };
        let waiter = tokio::spawn(waiting.ended());
        ticket.keep(&evaluation(Verdict::Accepted));
        waiter.await.unwrap();
        let Some(Claim::Measured(found)) = programs.claim(0, &fidelity(), &known("a")) else {
            panic!("forgotten");
        };
        assert_eq!(*found, evaluation(Verdict::Accepted));
    }

    #[test]
    fn a_rejection_is_nobody_elses_and_a_broken_off_measurement_is_made_anew() {
        let programs = Programs::default();
        let rejection = Rejection::new(Gate::Correctness, "wrong");
        measure(&programs, "a").keep(&evaluation(Verdict::Rejected(rejection)));
        drop(measure(&programs, "a"));
        measure(&programs, "a").keep(&evaluation(Verdict::Accepted));
    }

    #[test]
    fn another_rung_program_or_fidelity_is_measured_and_the_unknown_always() {
        let programs = Programs::default();
        measure(&programs, "a").keep(&evaluation(Verdict::Accepted));
        drop(measure(&programs, "b"));
        let measured_elsewhere = programs.claim(1, &fidelity(), &known("a"));
        assert!(matches!(measured_elsewhere, Some(Claim::Measure(_))));
        let other = Fidelity { seeds: vec![2], ..fidelity() };
        assert!(matches!(programs.claim(0, &other, &known("a")), Some(Claim::Measure(_))));
        assert!(programs.claim(0, &fidelity(), &[Some("a".into()), None]).is_none());
        assert!(programs.claim(0, &fidelity(), &[]).is_none());
    }
}
