//! The fold: what each event does to the state.

use super::{OpenRequest, Pending, Record, Standing, State, Trajectory, UnderWay};
use crate::{
    kernel::{Candidate, CandidateId, Evaluation, Move, RequestKind, Verdict, Verification},
    search::{Decision, Event, Limits, Outcome, Place, Spend, log_ratio},
};

/// An event that cannot have happened in this state: the journal is not of this plan, or damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "event {index} of the run's journal does not fit what came before ({what}); the journal is \
     damaged or belongs to another run: start a new run"
)]
pub struct Misfit {
    /// Position of the event, from 0.
    pub index: usize,
    what: String,
}

impl State {
    /// Takes `event` into account. After an error the state must not be used any more.
    pub fn apply(&mut self, event: &Event) -> Result<(), Misfit> {
        match self.fold(event) {
            Ok(()) => {
                self.events += 1;
                Ok(())
            }
            Err(what) => Err(Misfit { index: self.events, what }),
        }
    }

    fn fold(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::BaselineMeasured { evaluation } => self.baseline_measured(evaluation),
            Event::CandidateAdded { candidate } => self.added(candidate)?,
            Event::MoveDiscarded { text, reason, .. } => {
                self.discarded += 1;
                if text.starts_with("rewrite") && !self.unused_rewrites.contains(reason) {
                    self.unused_rewrites.push(reason.clone());
                }
            }
            Event::Asked { parent, rung, kind, estimate } => {
                let open = self.open(parent, *rung, *kind)?;
                if self.requests[open].debit.replace(*estimate).is_some() {
                    return Err("a question that was asked already".to_owned());
                }
                self.account.debit(estimate);
                self.count_question(parent, *rung, *kind);
                self.repairs += usize::from(matches!(kind, RequestKind::Repair(_)));
            }
            Event::Answered { parent, rung, kind, spent } => {
                // What was not answered cost nothing.
                let answered = spent.tokens > 0 && matches!(kind, RequestKind::Rewrite(_));
                self.rewritten += usize::from(answered);
                let open = self.open(parent, *rung, *kind)?;
                let Pending { debit, .. } = self.requests.remove(open);
                self.account.correct(&debit.unwrap_or_default(), spent);
            }
            Event::Debited { candidate, rung, estimate } => {
                self.debited(candidate, *rung, estimate)?;
            }
            Event::Evaluated { evaluation, spent } => self.evaluated(evaluation, spent)?,
            Event::Settled { candidate, rung } => self.settled(candidate, *rung)?,
            Event::Abandoned => self.abandoned()?,
            Event::Decided { candidate, rung, decision } => {
                self.decided(candidate, *rung, decision)?;
            }
            Event::Verified { verification, spent } => self.verified(verification, spent)?,
            Event::Ticked { wall_seconds } => self.account.pass(*wall_seconds),
            Event::Resumed { reset } => self.resumed(reset.as_deref()),
            Event::LimitsChanged { limits, max_candidates, rewrites } => {
                self.limits_changed(*limits, *max_candidates, *rewrites)?;
            }
            Event::Warned { text } => self.warnings.push(text.clone()),
            Event::Ended { outcome } => {
                if let Outcome::Improved { best } = outcome {
                    let number = self.number(best)?;
                    self.records[number].standing = Standing::Winner;
                }
                self.outcome = Some(outcome.clone());
            }
        }
        Ok(())
    }

    fn limits_changed(
        &mut self,
        limits: Limits,
        max_candidates: usize,
        most: Option<u32>,
    ) -> Result<(), String> {
        let before = self.plan.allowance();
        let changed = self.plan.change_limits(limits, max_candidates, most);
        changed.map_err(|error| error.to_string())?;
        let now = self.plan.allowance();
        let changes: Vec<String> = (before.into_iter().zip(now))
            .filter(|((_, before), (_, now))| before != now)
            .map(|((what, before), (_, now))| format!("{what} {now} (before: {before})"))
            .collect();
        if !changes.is_empty() {
            self.warnings.push(format!("the run was given other limits: {}", changes.join(", ")));
        }
        Ok(())
    }

    fn number(&self, candidate: &CandidateId) -> Result<usize, String> {
        self.numbers.get(candidate).copied().ok_or_else(|| format!("unknown candidate {candidate}"))
    }

    fn baseline_measured(&mut self, evaluation: &Evaluation) {
        let estimate = self.baseline_debit.take().unwrap_or_default();
        let actual =
            Spend { gpu_seconds: evaluation.cost.gpu_seconds, evaluations: 1, ..Spend::default() };
        self.account.correct(&estimate, &actual);
        self.after_baseline = self.account.spent();
        self.baseline_evaluation = Some(evaluation.clone());
        if !evaluation.accepted() {
            return;
        }
        self.trajectory.push(Trajectory {
            wall_seconds: self.account.spent().wall_seconds,
            speedup: 1.0,
            candidate: self.baseline.id.clone(),
        });
        self.weigh_baseline(evaluation);
        if !self.seeded {
            self.seeded = true;
            let baseline = self.baseline.id.clone();
            self.request(baseline.clone(), None, self.plan.generation.seeds);
            let rewrites = self.plan.generation.rewrites.map_or(0, |rewrites| rewrites.seeds);
            self.request_rewrites(&baseline, None, rewrites);
        }
    }

    /// Asks for at most `at_most` recipes, and no more than the run may still have candidates; the
    /// rewrites that may come keep their places.
    fn request(&mut self, parent: CandidateId, rung: Option<usize>, at_most: usize) {
        let is_rewrite = |record: &&Record| matches!(record.candidate.origin, Move::Rewrite { .. });
        let rewritten = self.records.iter().filter(is_rewrite).count();
        let most = self.plan.generation.rewrites.map_or(0, |rewrites| rewrites.most as usize);
        let taken = self.records.len() + most.saturating_sub(rewritten);
        let room = self.plan.generation.max_candidates.saturating_sub(taken);
        self.ask(OpenRequest {
            parent,
            rung,
            kind: RequestKind::Recipes,
            at_most: at_most.min(room),
        });
    }

    /// Opens a request, unless it is open or for nothing; whether it was opened.
    pub(super) fn ask(&mut self, request: OpenRequest) -> bool {
        let new = request.at_most > 0
            && self.requests().all(|open| {
                (&open.parent, open.rung, open.kind)
                    != (&request.parent, request.rung, request.kind)
            });
        if new {
            self.requests.push(Pending { request, debit: None });
        }
        new
    }

    /// Position of an open request.
    fn open(
        &self,
        parent: &CandidateId,
        rung: Option<usize>,
        kind: RequestKind,
    ) -> Result<usize, String> {
        let mut open = self.requests();
        open.position(|it| (&it.parent, it.rung, it.kind) == (parent, rung, kind))
            .ok_or_else(|| "an answer that nobody asked for".to_owned())
    }

    fn added(&mut self, candidate: &Candidate) -> Result<(), String> {
        if self.knows(&candidate.id) {
            return Err(format!("candidate {} is added twice", candidate.id));
        }
        let number = self.records.len();
        self.numbers.insert(candidate.id.clone(), number);
        let record = Record::new(candidate.clone(), number, self.urgency(candidate));
        self.rungs[0].queue.insert(record.key);
        self.records.push(record);
        Ok(())
    }

    /// A rewrite was dear and is looked at first; then what recipes make of rewrites, by what those
    /// were measured at; then everything else in its order.
    fn urgency(&self, candidate: &Candidate) -> f64 {
        let is_rewrite = |it: &Candidate| matches!(it.origin, Move::Rewrite { .. });
        if is_rewrite(candidate) {
            return f64::INFINITY;
        }
        let parent = candidate.parent.as_ref().and_then(|parent| self.record(parent));
        let rewritten = parent.filter(|parent| is_rewrite(&parent.candidate));
        rewritten.and_then(Record::place).map_or(0.0, |(_, place)| place.log_ratio.max(0.0))
    }

    fn debited(&mut self, id: &CandidateId, rung: usize, estimate: &Spend) -> Result<(), String> {
        if *id == self.baseline.id {
            self.baseline_debit = Some(*estimate);
        } else if rung == self.rungs.len() {
            self.verification_debit = Some(*estimate);
        } else {
            let number = self.number(id)?;
            let record = &mut self.records[number];
            let state = self.rungs.get_mut(rung).ok_or("a rung that the ladder lacks")?;
            if !state.queue.remove(&record.key) {
                return Err(format!("candidate {id} was not queued on rung {rung}"));
            }
            state.under_way += 1;
            state.tally.entered += 1;
            record.standing = Standing::Evaluating { rung };
            let estimate = *estimate;
            self.under_way.push_back(UnderWay { number, rung, estimate, arrived: None });
        }
        self.begun = true;
        self.account.debit(estimate);
        Ok(())
    }

    fn evaluated(&mut self, evaluation: &Evaluation, spent: &Spend) -> Result<(), String> {
        let number = self.number(&evaluation.candidate)?;
        let job = self
            .under_way
            .iter_mut()
            .find(|job| job.number == number && job.rung == evaluation.rung)
            .filter(|job| job.arrived.is_none())
            .ok_or_else(|| format!("no evaluation of {} was due", evaluation.candidate))?;
        job.arrived = Some((evaluation.clone(), *spent));
        self.account.pass(spent.wall_seconds);
        Ok(())
    }

    fn settled(&mut self, id: &CandidateId, rung: usize) -> Result<(), String> {
        let number = self.number(id)?;
        let job = self
            .place_to_settle()
            .filter(|place| {
                let job = &self.under_way[*place];
                job.number == number && job.rung == rung
            })
            .and_then(|place| self.under_way.remove(place));
        let (estimate, (evaluation, spent)) = job
            .and_then(|job| Some((job.estimate, job.arrived?)))
            .ok_or_else(|| format!("the evaluation of {id} is settled out of turn"))?;
        self.account.correct(&estimate, &spent);
        let state = &mut self.rungs[rung];
        state.under_way -= 1;
        state.results += 1;
        state.cost.add(&evaluation.cost);
        state.tally.gpu_seconds += evaluation.cost.gpu_seconds;
        state.tally.wall_seconds += evaluation.cost.wall_seconds;
        let record = &mut self.records[number];
        match &evaluation.verdict {
            Verdict::Rejected(rejection) => {
                state.tally.rejected += 1;
                record.standing = Standing::Rejected { rung, rejection: rejection.clone() };
            }
            Verdict::Accepted => {
                let ratio = self
                    .baseline_evaluation
                    .as_ref()
                    .and_then(|baseline| log_ratio(&evaluation, baseline, &self.plan.cases));
                let place = Place { log_ratio: ratio.unwrap_or(f64::NEG_INFINITY), number };
                state.tally.measured += 1;
                state.waiting.insert(place);
                record.place = Some((rung, place));
                record.standing = Standing::Waiting { rung };
            }
        }
        let place = record.place.filter(|_| evaluation.accepted()).map(|(_, place)| place);
        record.evaluations.push(evaluation.clone());
        if let Verdict::Rejected(rejection) = &evaluation.verdict {
            self.request_repair(number, rung, rejection);
        }
        self.weigh(&evaluation, place);
        Ok(())
    }

    /// What had arrived counts; the rest was for nothing and stays spent at its estimate.
    fn abandoned(&mut self) -> Result<(), String> {
        let (arrived, lost): (Vec<_>, Vec<_>) =
            self.under_way.drain(..).partition(|job| job.arrived.is_some());
        for job in lost {
            self.rungs[job.rung].under_way -= 1;
            let reason = "given up: the verification needed the rest of the budget".to_owned();
            self.records[job.number].standing = Standing::Pruned { rung: job.rung, reason };
            self.cut_short = true;
        }
        self.under_way.extend(arrived);
        while let Some(job) = self.under_way.front() {
            let (id, rung) = (self.records[job.number].candidate.id.clone(), job.rung);
            self.settled(&id, rung)?;
        }
        Ok(())
    }

    fn decided(
        &mut self,
        id: &CandidateId,
        rung: usize,
        decision: &Decision,
    ) -> Result<(), String> {
        let number = self.number(id)?;
        let out_of_turn = || format!("a decision about {id} that was not due on rung {rung}");
        let record = &mut self.records[number];
        let standing = record.standing.clone();
        match (decision, standing) {
            (Decision::Promote { .. }, Standing::Waiting { rung: on }) if on == rung => {
                let (_, place) = record.place.ok_or_else(out_of_turn)?;
                record.promotions += 1;
                record.key = place;
                self.rungs[rung].promote(place);
                if let Some(above) = self.rungs.get_mut(rung + 1) {
                    above.queue.insert(place);
                    record.standing = Standing::Queued { rung: rung + 1 };
                } else {
                    record.standing = Standing::Survivor;
                    self.step_up(place);
                }
                self.request(id.clone(), Some(rung), self.plan.generation.children);
                if self.is_worth_rewriting(number, rung) {
                    self.request_rewritten_children(number, rung);
                }
            }
            (Decision::Prune { reason }, Standing::Waiting { rung: on }) if on == rung => {
                if let Some((_, place)) = record.place {
                    self.rungs[rung].waiting.remove(&place);
                }
                record.standing = Standing::Pruned { rung, reason: reason.clone() };
            }
            (Decision::Prune { reason }, Standing::Queued { rung: on }) if on == rung => {
                self.rungs[rung].queue.remove(&record.key);
                record.standing = Standing::Pruned { rung, reason: reason.clone() };
                self.cut_short = true;
            }
            _ => return Err(out_of_turn()),
        }
        Ok(())
    }

    /// Adds a step to the trajectory if the survivor is the best so far.
    fn step_up(&mut self, place: Place) {
        let speedup = place.speedup();
        if self.trajectory.last().is_some_and(|best| speedup > best.speedup) {
            self.trajectory.push(Trajectory {
                wall_seconds: self.account.spent().wall_seconds,
                speedup,
                candidate: self.records[place.number].candidate.id.clone(),
            });
        }
    }

    fn verified(&mut self, verification: &Verification, spent: &Spend) -> Result<(), String> {
        let number = self.number(&verification.candidate)?;
        let estimate = self.verification_debit.take().unwrap_or_default();
        self.account.correct(&estimate, spent);
        self.account.pass(spent.wall_seconds);
        if let Verdict::Rejected(rejection) = &verification.verdict {
            self.records[number].standing = Standing::Refuted { rejection: rejection.clone() };
            self.request_repair(number, self.rungs.len(), rejection);
        }
        self.verifications.push(verification.clone());
        Ok(())
    }

    fn resumed(&mut self, reset: Option<&str>) {
        self.outcome = None;
        let lost = self.under_way.iter().filter(|job| job.arrived.is_none());
        for estimate in lost
            .map(|job| &job.estimate)
            .chain(&self.baseline_debit)
            .chain(&self.verification_debit)
        {
            self.account.lose(estimate);
        }
        if let Some(reason) = reset {
            self.make_timings_void(reason);
        }
    }
}
