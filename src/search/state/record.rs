//! What a run knows about one candidate.

use crate::{
    kernel::{Candidate, Evaluation, Gate, Rejection},
    search::Place,
};

/// What has become of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Waits to be evaluated on `rung`.
    Queued { rung: usize },
    /// Is being evaluated on `rung`.
    Evaluating { rung: usize },
    /// Accepted on `rung`; promoted if it comes to be among the best.
    Waiting { rung: usize },
    /// Ended on `rung`, accepted but not good enough or not reached by the budget.
    Pruned { rung: usize, reason: String },
    /// Failed a gate, on `rung`.
    Rejected { rung: usize, rejection: Rejection },
    /// Past the top rung.
    Survivor,
    /// Past the top rung, but rejected by the verification.
    Refuted { rejection: Rejection },
    /// Verified.
    Winner,
}

/// One candidate of a run with everything that happened to it.
#[derive(Clone, Debug)]
pub struct Record {
    pub(super) candidate: Candidate,
    pub(super) standing: Standing,
    /// Settled evaluations in the order they were settled.
    pub(super) evaluations: Vec<Evaluation>,
    /// The place of the last accepted evaluation and its rung, unless it is void.
    pub(super) place: Option<(usize, Place)>,
    /// Its place in a queue: the last that was measured, void or not.
    pub(super) key: Place,
    /// Promotions so far.
    pub(super) promotions: usize,
}

impl Record {
    /// In the queue of the lowest rung at `urgency`, the highest first: 0 for most.
    pub(super) fn new(candidate: Candidate, number: usize, urgency: f64) -> Self {
        Self {
            candidate,
            standing: Standing::Queued { rung: 0 },
            evaluations: Vec::new(),
            place: None,
            key: Place { log_ratio: urgency, number },
            promotions: 0,
        }
    }

    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Settled evaluations, the first first.
    pub fn evaluations(&self) -> &[Evaluation] {
        &self.evaluations
    }

    /// The last accepted evaluation.
    pub fn measured(&self) -> Option<&Evaluation> {
        self.evaluations.iter().rev().find(|evaluation| evaluation.accepted())
    }

    /// The highest rung it was evaluated on.
    pub fn rung(&self) -> Option<usize> {
        self.evaluations.iter().map(|evaluation| evaluation.rung).max()
    }

    /// Measured speed over the baseline's on the cases that both were measured on, by the last
    /// accepted evaluation; more than 1 is faster. `None` after a reset, until measured anew.
    pub fn speedup(&self) -> Option<f64> {
        self.place.map(|(_, place)| place.speedup())
    }

    /// The last accepted evaluation on `rung`.
    pub(in crate::search) fn measured_on(&self, rung: usize) -> Option<&Evaluation> {
        self.evaluations.iter().rev().find(|e| e.accepted() && e.rung == rung)
    }

    /// The rung and place of the last accepted evaluation, unless it is void.
    pub(in crate::search) fn place(&self) -> Option<(usize, Place)> {
        self.place
    }

    /// The gate that rejected it.
    pub fn gate(&self) -> Option<Gate> {
        self.rejection().map(|rejection| rejection.gate)
    }

    pub fn rejection(&self) -> Option<&Rejection> {
        match &self.standing {
            Standing::Rejected { rejection, .. } | Standing::Refuted { rejection } => {
                Some(rejection)
            }
            _ => None,
        }
    }

    /// Why it ended, if it did.
    pub fn reason(&self) -> Option<String> {
        match &self.standing {
            Standing::Pruned { reason, .. } => Some(reason.clone()),
            _ => self.rejection().map(ToString::to_string),
        }
    }
}
