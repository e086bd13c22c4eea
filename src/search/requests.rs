//! Requests for candidates, from the moment they are opened to their answer.

use std::collections::HashSet;

use super::{
    Event, SearchError, State,
    ports::{Answer, Generator, Proposal, Request, Ticket},
    recorder::Recorder,
    state::OpenRequest,
};
use crate::kernel::{Candidate, CandidateId, Diagnosis};

/// The tickets of this session. The requests themselves are part of the state: a session that
/// finds one open asks again.
#[derive(Debug, Default)]
pub(super) struct Requests {
    tickets: Vec<Asked>,
}

#[derive(Debug)]
struct Asked {
    request: OpenRequest,
    ticket: Ticket,
    /// Somebody outside must answer.
    awaited: bool,
}

impl Requests {
    /// Submits what is open and takes the answers that are there, in the order of the requests.
    /// Whether there were any.
    pub(super) async fn advance(
        &mut self,
        recorder: &mut Recorder<'_>,
        generator: &mut dyn Generator,
    ) -> Result<bool, SearchError> {
        if recorder.state.requests().is_empty() || !wanted(recorder) {
            return Ok(false);
        }
        let asked = &self.tickets;
        let open: Vec<OpenRequest> = recorder
            .state
            .requests()
            .iter()
            .filter(|open| !asked.iter().any(|asked| asked.request == **open))
            .cloned()
            .collect();
        for request in open {
            if let Some(question) = question(recorder.state, &request) {
                let ticket = generator.submit(question);
                self.tickets.push(Asked { request, ticket, awaited: false });
            }
        }
        let mut answered = false;
        for mut asked in std::mem::take(&mut self.tickets) {
            match generator.poll(asked.ticket) {
                Answer::Ready(proposals) => {
                    let events = answer(recorder.state, &asked.request, proposals);
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
    let Some(rung) = request.rung else {
        let diagnosis = state.baseline_evaluation().and_then(|e| e.diagnosis.clone());
        return Some(Request::Seeds { baseline: state.baseline().clone(), diagnosis, at_most });
    };
    let parent = state.record(&request.parent)?;
    let mut evaluation = parent.measured_on(rung)?.clone();
    if evaluation.diagnosis.is_none() {
        evaluation.diagnosis = nearest_diagnosis(state, &request.parent);
    }
    Some(Request::Children { parent: parent.candidate().clone(), evaluation, at_most })
}

/// What held back a candidate when it was last profiled, else its parent and so on: a move changes
/// one thing, and what it did not change is still there.
fn nearest_diagnosis(state: &State, candidate: &CandidateId) -> Option<Diagnosis> {
    let mut next = state.record(candidate);
    while let Some(record) = next {
        let diagnosed = record.evaluations().iter().rev().find_map(|e| e.diagnosis.clone());
        if diagnosed.is_some() {
            return diagnosed;
        }
        next = state.record(record.candidate().parent.as_ref()?);
    }
    state.baseline_evaluation()?.diagnosis.clone()
}

/// The events of an answer: every proposal becomes a candidate or a discarded move.
fn answer(state: &State, request: &OpenRequest, proposals: Vec<Proposal>) -> Vec<Event> {
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
    events.push(Event::Answered { parent: request.parent.clone(), rung: request.rung });
    events
}
