//! What the search asks of the world. The engine implements these over real processes and
//! databases; tests implement them over recorded or synthetic data.

use async_trait::async_trait;

use super::{Event, Spend};
use crate::kernel::{Candidate, CandidateId, Diagnosis, Evaluation, Move, Rejection, Verification};

/// An evaluation to be made.
#[derive(Clone, Debug)]
pub struct Job {
    pub candidate: Candidate,
    pub rung: usize,
}

/// The evaluation plane broke down: not a candidate's fault.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlaneError(pub String);

/// Runs candidates through gates and timing.
#[async_trait]
pub trait Evaluator: Send {
    /// Starts a job and returns at once. At most [`Evaluator::window`] are under way.
    fn submit(&mut self, job: Job);

    /// The next job to end, in any order; never called with none under way. Cancel safe: the
    /// future may be dropped before it is ready, and no result is lost by that.
    async fn next(&mut self) -> Result<Evaluation, PlaneError>;

    /// Gives up every job under way: their results do not come any more.
    async fn abandon(&mut self);

    /// How many jobs it pays to have under way.
    fn window(&self) -> usize;

    /// The last word on a survivor: fresh seeds and process, interleaved with the baseline.
    async fn verify(&mut self, candidate: &Candidate) -> Result<Verification, PlaneError>;

    /// What the report must tell and was not told before.
    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// A request for new candidates.
#[derive(Clone, Debug)]
pub enum Request {
    /// First candidates, from the baseline and what holds it back.
    Seeds { baseline: Candidate, diagnosis: Option<Diagnosis>, at_most: usize },
    /// Children of a promoted candidate; a diagnosis travels inside its evaluation. Where the
    /// candidate itself was not profiled it is that of its nearest ancestor.
    Children { parent: Candidate, evaluation: Evaluation, at_most: usize },
    /// One rewrite of `parent` by a language model: the `number`-th of this occasion.
    Rewrite { parent: Candidate, evaluation: Evaluation, number: u32, history: Vec<Attempt> },
    /// What a gate said to a rewrite, back to whoever wrote it: try `attempt`.
    Repair { rejected: Candidate, rejection: Rejection, attempt: u32 },
}

/// A move that was tried, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub candidate: CandidateId,
    /// What it was a change of; `None` for the baseline.
    pub parent: Option<CandidateId>,
    pub origin: Move,
    /// Speed over the baseline's, where it was measured.
    pub speedup: Option<f64>,
    /// Why it ended, if it did.
    pub ended: Option<String>,
}

/// Names a request until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A candidate that a generator proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub parent: CandidateId,
    pub origin: Move,
    /// The whole source, or why the move gave none.
    pub source: Result<String, String>,
}

/// What a ticket's request has come to.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Done, and what it cost; the generator forgets the ticket.
    Ready { proposals: Vec<Proposal>, spent: Spend },
    /// Under way; worth asking again.
    Pending,
    /// Somebody outside must answer first; the run may park.
    Awaited,
}

/// Makes candidates. `submit` returns at once; `poll` never blocks.
pub trait Generator: Send {
    /// What a question is expected to cost in tokens and money.
    fn estimate(&self, request: &Request) -> Spend {
        let _ = request;
        Spend::default()
    }

    fn submit(&mut self, request: Request) -> Ticket;
    fn poll(&mut self, ticket: Ticket) -> Answer;

    /// What the report must tell and was not told before.
    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// An event could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JournalError(pub String);

/// Keeps events, in order, before the search acts on them.
#[async_trait]
pub trait Journal: Send {
    /// All of `events` or none.
    async fn append(&mut self, events: &[Event]) -> Result<(), JournalError>;
}

/// The clock, passed in so that tests own it.
pub trait Clock: Send + Sync {
    /// Seconds since some fixed moment; never goes back.
    fn seconds(&self) -> f64;
}
