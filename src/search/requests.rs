//! Requests for candidates, from the moment they are opened to their answer.

use std::collections::HashSet;

use super::{
    Event, Limit, Outcome, Record, Remaining, SearchError, Spend, State,
    ports::{Answer, Attempt, Generator, Proposal, Request, Ticket},
    recorder::Recorder,
    state::OpenRequest,
};
use crate::kernel::{Candidate, CandidateId, Diagnosis, Evaluation, Move, RequestKind};

/// Share of what is left of a limit at the start of a session that is spent while somebody outside
/// has questions to answer: the rest is for what comes of the answers.
const SPENT_MEANWHILE: f64 = 0.4;

/// The tickets of this session. The requests themselves are part of the state: a session that
/// finds one open asks again.
#[derive(Debug, Default)]
pub(super) struct Requests {
    tickets: Vec<Asked>,
    /// What was left when the session began.
    at_first: Option<Remaining>,
    /// The session goes on from a run that was parked, and no answer has come yet.
    parked: bool,
}

#[derive(Debug)]
struct Asked {
    request: OpenRequest,
    ticket: Ticket,
    /// Somebody outside must answer.
    awaited: bool,
}

impl Requests {
    /// For a session that begins at `state`.
    pub(super) fn of(state: &State) -> Self {
        let parked = matches!(state.outcome(), Some(Outcome::Parked { .. }));
        Self { tickets: Vec::new(), at_first: Some(state.remaining()), parked }
    }

    /// Whether nothing more is begun until somebody outside has answered: what is left of the
    /// budget is kept for the answers. A run that was parked waits from the start.
    pub(super) fn hold_back(&self, recorder: &Recorder<'_>) -> bool {
        let asked = |it: &Asked| it.request.kind.asks_a_model();
        if self.parked {
            return self.tickets.iter().any(asked) && wanted(recorder);
        }
        self.awaited(recorder) > 0 && self.has_spent_its_share(recorder)
    }

    fn has_spent_its_share(&self, recorder: &Recorder<'_>) -> bool {
        let Some(first) = self.at_first else { return false };
        let now = recorder.state.remaining();
        let spent = |first: Option<f64>, now: Option<f64>| {
            first.zip(now).is_some_and(|(first, now)| first - now > SPENT_MEANWHILE * first)
        };
        let count = |count: Option<u64>| count.map(|count| count as f64);
        let wall = now.wall_seconds.map(|left| left - recorder.unrecorded());
        spent(first.wall_seconds, wall)
            || spent(first.gpu_seconds, now.gpu_seconds)
            || spent(count(first.evaluations), count(now.evaluations))
    }

    /// Submits what is open and takes the answers that are there, in the order of the requests.
    /// Whether there were any.
    pub(super) async fn advance(
        &mut self,
        recorder: &mut Recorder<'_>,
        generator: &mut dyn Generator,
    ) -> Result<bool, SearchError> {
        if recorder.state.requests().len() == 0 || !wanted(recorder) {
            return Ok(false);
        }
        let mut answered = self.submit(recorder, generator).await?;
        for mut asked in std::mem::take(&mut self.tickets) {
            match generator.poll(asked.ticket) {
                Answer::Ready { proposals, spent } => {
                    self.parked &= !asked.request.kind.asks_a_model();
                    let events = answer(recorder.state, &asked.request, proposals, spent);
                    recorder.record(&events).await?;
                    answered = true;
                    continue;
                }
                Answer::Pending => asked.awaited = false,
                Answer::Awaited => asked.awaited = true,
            }
            self.tickets.push(asked);
        }
        Ok(answered)
    }

    /// Submits what is open, questions to a language model as far as they fit beside those that
    /// wait for their answers; whether one was declined because the budget lacks it.
    async fn submit(
        &mut self,
        recorder: &mut Recorder<'_>,
        generator: &mut dyn Generator,
    ) -> Result<bool, SearchError> {
        let is_new = |open: &&OpenRequest| self.tickets.iter().all(|it| it.request != **open);
        let mut open: Vec<OpenRequest> =
            recorder.state.requests().filter(is_new).cloned().collect();
        let precedence = |request: &OpenRequest| recorder.state.precedence(request);
        open.sort_by(|a, b| precedence(b).total_cmp(&precedence(a)));
        let mut declined = false;
        for request in open {
            let model = request.kind.asks_a_model();
            if model && !self.can_ask(&request, recorder.state) {
                continue;
            }
            let Some(question) = question(recorder.state, &request) else { continue };
            if model {
                let estimate = generator.estimate(&question);
                if !recorder.state.asked_for(&request) {
                    let limits = &recorder.state.plan().limits;
                    let lacking = limits.forbids_question(&recorder.state.spend(), &estimate);
                    if let Some(limit) = lacking {
                        // What is under way may turn out to be cheaper than feared.
                        if self.in_flight() > 0 {
                            continue;
                        }
                        recorder.record(&decline(&request, limit)).await?;
                        declined = true;
                        continue;
                    }
                    let OpenRequest { parent, rung, kind, .. } = request.clone();
                    recorder.record(&[Event::Asked { parent, rung, kind, estimate }]).await?;
                }
            }
            let ticket = generator.submit(question);
            self.tickets.push(Asked { request, ticket, awaited: false });
        }
        Ok(declined)
    }

    /// Whether there is a question whose turn it is, beside those that wait for somebody outside.
    pub(super) fn has_more_to_ask(&self, recorder: &Recorder<'_>) -> bool {
        let state = &*recorder.state;
        let its_turn = |open: &OpenRequest| open.kind.asks_a_model() && self.can_ask(open, state);
        self.unasked(recorder).iter().any(its_turn)
    }

    /// Open requests that the run still has use for and nobody was asked yet in this session.
    pub(super) fn unasked(&self, recorder: &Recorder<'_>) -> Vec<OpenRequest> {
        if !wanted(recorder) {
            return Vec::new();
        }
        let is_new = |open: &&OpenRequest| {
            let asked = self.tickets.iter().any(|it| it.request == **open);
            !asked && recorder.state.may_ask(open) && question(recorder.state, open).is_some()
        };
        recorder.state.requests().filter(is_new).cloned().collect()
    }

    /// Whether it is a question's turn.
    fn can_ask(&self, request: &OpenRequest, state: &State) -> bool {
        let Some(rewrites) = state.plan().generation.rewrites else { return false };
        if self.in_flight() >= rewrites.in_flight.max(1) || !state.may_ask(request) {
            return false;
        }
        // Those just asked may be for somebody outside as well.
        let unanswered = self.tickets.iter().filter(|it| it.request.kind.asks_a_model()).count();
        let outside = self.tickets.iter().any(|it| it.awaited);
        let room = !outside || rewrites.awaited.is_none_or(|most| unanswered < most.max(1));
        let of_a_child = request.rung.is_some() && matches!(request.kind, RequestKind::Rewrite(_));
        state.asked_for(request) || room && !(of_a_child && state.may_find_better_parents())
    }

    /// Questions that a language model is at.
    fn in_flight(&self) -> usize {
        self.tickets.iter().filter(|it| it.request.kind.asks_a_model() && !it.awaited).count()
    }

    /// Whether recipes are being made that the run still has use for: they come at once, so that
    /// decisions can wait for them. A language model takes its time.
    pub(super) fn recipes_pending(&self, recorder: &Recorder<'_>) -> bool {
        let recipes = |it: &Asked| !it.awaited && !it.request.kind.asks_a_model();
        self.tickets.iter().any(recipes) && wanted(recorder)
    }

    /// Whether an answer is being made that the run still has use for.
    pub(super) fn pending(&self, recorder: &Recorder<'_>) -> bool {
        self.tickets.iter().any(|asked| !asked.awaited) && wanted(recorder)
    }

    /// How many answers, that the run still has use for, only somebody outside can give.
    pub(super) fn awaited(&self, recorder: &Recorder<'_>) -> usize {
        if !wanted(recorder) {
            return 0;
        }
        self.tickets.iter().filter(|asked| asked.awaited).count()
    }
}

/// Whether a new candidate could still be added and evaluated.
fn wanted(recorder: &Recorder<'_>) -> bool {
    let state = &recorder.state;
    state.stopped().is_none()
        && state.records().len() < state.plan().generation.max_candidates
        && state.forbids(0, recorder.unrecorded()).is_none()
}

/// What to ask the generator; `None` if the parent's evaluation is not known any more.
fn question(state: &State, request: &OpenRequest) -> Option<Request> {
    let at_most = request.at_most;
    if let (RequestKind::Recipes, None) = (request.kind, request.rung) {
        let diagnosis = state.baseline_evaluation().and_then(|e| e.diagnosis.clone());
        return Some(Request::Seeds { baseline: state.baseline().clone(), diagnosis, at_most });
    }
    if let RequestKind::Repair(attempt) = request.kind {
        let record = state.record(&request.parent)?;
        let (rejected, rejection) = (record.candidate().clone(), record.rejection()?.clone());
        return Some(Request::Repair { rejected, rejection, attempt });
    }
    let (parent, mut evaluation) = match request.rung {
        None => (state.baseline().clone(), state.baseline_evaluation()?.clone()),
        Some(rung) => {
            let record = state.record(&request.parent)?;
            (record.candidate().clone(), record.measured_on(rung)?.clone())
        }
    };
    if evaluation.diagnosis.is_none() {
        let own = state.record(&request.parent).and_then(diagnosed);
        evaluation.profiling = own.and_then(|it| it.profiling.clone());
        evaluation.diagnosis = nearest_diagnosis(state, &request.parent);
    }
    Some(match request.kind {
        RequestKind::Rewrite(number) => {
            Request::Rewrite { parent, evaluation, number, history: history(state) }
        }
        _ => Request::Children { parent, evaluation, at_most },
    })
}

/// Everything that was tried, in order.
fn history(state: &State) -> Vec<Attempt> {
    let attempt = |record: &Record| Attempt {
        candidate: record.candidate().id.clone(),
        parent: record.candidate().parent.clone(),
        origin: record.candidate().origin.clone(),
        speedup: record.speedup(),
        ended: record.reason(),
    };
    state.records().iter().map(attempt).collect()
}

/// The events that end a request for want of `limit`.
fn decline(request: &OpenRequest, limit: Limit) -> [Event; 2] {
    let OpenRequest { parent, rung, kind, .. } = request.clone();
    let reason = format!("not asked for: the budget of {limit} does not allow another question");
    [
        Event::MoveDiscarded { parent: parent.clone(), text: "rewrite".to_owned(), reason },
        Event::Answered { parent, rung, kind, spent: Spend::default() },
    ]
}

/// The last evaluation for which a candidate was profiled.
fn diagnosed(record: &Record) -> Option<&Evaluation> {
    record.evaluations().iter().rev().find(|evaluation| evaluation.diagnosis.is_some())
}

/// What held back a candidate when it was last profiled, else its parent and so on: a recipe changes
/// one thing, and what it did not change is still there. A rewrite changes everything.
fn nearest_diagnosis(state: &State, candidate: &CandidateId) -> Option<Diagnosis> {
    let mut next = state.record(candidate);
    while let Some(record) = next {
        if let Some(evaluation) = diagnosed(record) {
            return evaluation.diagnosis.clone();
        }
        if matches!(record.candidate().origin, Move::Rewrite { .. }) {
            return None;
        }
        next = state.record(record.candidate().parent.as_ref()?);
    }
    state.baseline_evaluation()?.diagnosis.clone()
}

/// The events of an answer: every proposal becomes a candidate or a discarded move.
fn answer(
    state: &State,
    request: &OpenRequest,
    proposals: Vec<Proposal>,
    spent: Spend,
) -> Vec<Event> {
    let mut room = state.plan().generation.max_candidates.saturating_sub(state.records().len());
    let mut new: HashSet<CandidateId> = HashSet::new();
    let mut events = Vec::with_capacity(proposals.len() + 1);
    for Proposal { parent, origin, source } in proposals {
        let discard = |reason: String| Event::MoveDiscarded {
            parent: parent.clone(),
            text: origin.to_string(),
            reason,
        };
        events.push(match source {
            Err(reason) => discard(reason),
            Ok(source) => {
                let candidate = Candidate::child(&parent, origin.clone(), source);
                if candidate.id == state.baseline().id {
                    discard("changes nothing: the result is the baseline".to_owned())
                } else if state.knows(&candidate.id) || new.contains(&candidate.id) {
                    discard(format!("the same source as candidate {}", candidate.id.short()))
                } else if room == 0 {
                    discard("the run has as many candidates as it may have".to_owned())
                } else {
                    room -= 1;
                    new.insert(candidate.id.clone());
                    Event::CandidateAdded { candidate }
                }
            }
        });
    }
    let OpenRequest { parent, rung, kind, .. } = request.clone();
    events.push(Event::Answered { parent, rung, kind, spent });
    events
}
