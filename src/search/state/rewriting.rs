//! Which rewrites a run asks a language model for.
//!
//! Whoever is promoted far enough opens requests. Questions are few, so that they go to the best
//! parents there are when one can be asked, not to the first that were promoted: the first answers are
//! the best so far when they arrive, and are overtaken a moment later.

use super::{OpenRequest, Record, Standing, State};
use crate::kernel::{CandidateId, Gate, Move, Rejection, RequestKind};

impl State {
    /// Opens requests for `count` rewrites of `parent`; how many.
    pub(super) fn request_rewrites(
        &mut self,
        parent: &CandidateId,
        rung: Option<usize>,
        count: u32,
    ) -> u32 {
        let Some(rewrites) = self.plan.generation.rewrites else { return 0 };
        let room = rewrites.most.saturating_sub(self.rewrites);
        let mut opened = 0;
        let count = if rewrites.best_first && room > 0 { count } else { count.min(room) };
        for number in 0..count {
            let kind = RequestKind::Rewrite(number);
            let request = OpenRequest { parent: parent.clone(), rung, kind, at_most: 1 };
            opened += u32::from(self.ask(request));
        }
        if !rewrites.best_first {
            self.rewrites += opened;
        }
        opened
    }

    /// Asks for rewrites of a candidate that was promoted from `rung`. What recipes alone made comes
    /// sooner than any answer, and would take the questions that are for what answers lead to: it
    /// gets a quarter of all at most.
    pub(super) fn request_rewritten_children(&mut self, number: usize, rung: usize) {
        let Some(rewrites) = self.plan.generation.rewrites else { return };
        let id = self.records[number].candidate.id.clone();
        if rewrites.best_first || self.comes_of_a_rewrite(number) {
            self.request_rewrites(&id, Some(rung), rewrites.children);
            return;
        }
        let left = (rewrites.most / 4).saturating_sub(self.rewrites_of_recipes);
        let asked = self.request_rewrites(&id, Some(rung), rewrites.children.min(left));
        self.rewrites_of_recipes += asked;
    }

    /// Whether a language model wrote the candidate, or one that it descends from.
    fn comes_of_a_rewrite(&self, number: usize) -> bool {
        let mut next = self.records.get(number);
        while let Some(record) = next {
            if matches!(record.candidate.origin, Move::Rewrite { .. }) {
                return true;
            }
            next = record.candidate.parent.as_ref().and_then(|parent| self.record(parent));
        }
        false
    }

    /// Whether a candidate that was promoted from `rung` is rewritten in turn: questions are few and
    /// dear, recipes many and alike. So only past the lowest rung, whose word counts little, and of
    /// what recipes made only the best.
    pub(super) fn is_worth_rewriting(&self, number: usize, rung: usize) -> bool {
        let lowest = rung == 0 && self.rungs.len() > 1;
        let rewritten = matches!(self.records[number].candidate.origin, Move::Rewrite { .. });
        let best = self.rungs[rung].promoted.first();
        !lowest && (rewritten || best.is_some_and(|place| place.number == number))
    }

    /// Sends a rewrite that a gate rejected back, unless that was done often enough. What the clock
    /// or the profiler found is not the text's fault.
    pub(super) fn request_repair(&mut self, number: usize, rung: usize, rejection: &Rejection) {
        let Some(rewrites) = self.plan.generation.rewrites else { return };
        let candidate = &self.records[number].candidate;
        let Move::Rewrite { repairs, .. } = candidate.origin else { return };
        let curable = matches!(rejection.gate, Gate::Policy | Gate::Build | Gate::Correctness);
        if curable && repairs < rewrites.repairs {
            let (parent, kind) = (candidate.id.clone(), RequestKind::Repair(repairs + 1));
            self.ask(OpenRequest { parent, rung: Some(rung), kind, at_most: 1 });
        }
    }

    /// Counts a question that is asked, where those that are opened were not counted.
    pub(super) fn count_question(
        &mut self,
        parent: &CandidateId,
        rung: Option<usize>,
        kind: RequestKind,
    ) {
        let best_first = self.plan.generation.rewrites.is_some_and(|rewrites| rewrites.best_first);
        if !best_first || !matches!(kind, RequestKind::Rewrite(_)) {
            return;
        }
        self.rewrites += 1;
        let of_recipes = |number: &usize| !self.comes_of_a_rewrite(*number);
        if rung.is_some() && self.numbers.get(parent).is_some_and(of_recipes) {
            self.rewrites_of_recipes += 1;
        }
        let most = self.plan.generation.rewrites.map_or(0, |rewrites| rewrites.most);
        if self.rewrites >= most {
            // That was the last one.
            let rewrite = |it: &OpenRequest| matches!(it.kind, RequestKind::Rewrite(_));
            self.requests.retain(|it| it.debit.is_some() || !rewrite(&it.request));
        }
    }

    /// Whether an open request may be asked for: the run has questions left for such a parent, and
    /// nothing was found to be wrong with it.
    pub(in crate::search) fn may_ask(&self, request: &OpenRequest) -> bool {
        let Some(rewrites) = self.plan.generation.rewrites.filter(|it| it.best_first) else {
            return true;
        };
        if !matches!(request.kind, RequestKind::Rewrite(_)) || self.asked_for(request) {
            return true;
        }
        let stands = |number: &usize| {
            let for_recipes = self.rewrites_of_recipes < rewrites.most / 4;
            self.records[*number].rejection().is_none()
                && (for_recipes || self.comes_of_a_rewrite(*number))
        };
        let parent_stands = || self.numbers.get(&request.parent).is_some_and(stands);
        self.rewrites < rewrites.most && (request.rung.is_none() || parent_stands())
    }

    /// What is asked for first, the highest first: what an earlier session asked, recipes and
    /// repairs; then rewrites of the baseline; then those of the fastest parents.
    pub(in crate::search) fn precedence(&self, request: &OpenRequest) -> f64 {
        let best_first = self.plan.generation.rewrites.is_some_and(|rewrites| rewrites.best_first);
        let rewrite = matches!(request.kind, RequestKind::Rewrite(_));
        if !best_first || !rewrite || self.asked_for(request) {
            return f64::INFINITY;
        }
        if request.rung.is_none() {
            return f64::MAX;
        }
        let place = self.record(&request.parent).and_then(Record::place);
        place.map_or(f64::NEG_INFINITY, |(_, place)| place.log_ratio)
    }

    /// Whether a question about a child should wait: rewrites are being measured, which may turn
    /// out to be better parents, and of which the profiler may have something to say.
    pub(in crate::search) fn may_find_better_parents(&self) -> bool {
        let best_first = self.plan.generation.rewrites.is_some_and(|rewrites| rewrites.best_first);
        let rising = |record: &Record| {
            matches!(record.standing, Standing::Queued { .. } | Standing::Evaluating { .. })
                && matches!(record.candidate.origin, Move::Rewrite { .. })
        };
        best_first && !self.under_way.is_empty() && self.records.iter().any(rising)
    }
}
