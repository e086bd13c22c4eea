//! The loop: the paper's algorithm 1, asynchronous, resumable and reproducible.

use std::{collections::VecDeque, time::Duration};

use super::{
    Event, Limit, Misfit, Observer, Outcome, Plan, PlanError, Scheduler, Spend, State, Stop,
    ports::{Clock, Evaluator, Generator, Job, Journal, JournalError, PlaneError},
    promotion,
    recorder::Recorder,
    requests::Requests,
    timekeeping::{Until, timekeeping},
};
use crate::kernel::{Candidate, Evaluation};

/// How often the passing of time is recorded while nothing else happens.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// How often a generator that is still at work is asked.
const POLL: Duration = Duration::from_millis(20);

/// Why a search stopped before it had an outcome. Its journal is intact: it can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("the evaluation plane broke down: {0}")]
    Plane(#[from] PlaneError),
    #[error("the run's journal could not be written: {0}")]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Misfit(#[from] Misfit),
    #[error("interrupted; the run's state is kept and it can be resumed")]
    Interrupted,
    #[error("the budget ended before the baseline was measured ({limit}); allow more")]
    BudgetEndedBeforeBaseline { limit: Limit },
}

/// Everything outside that a search works with.
#[expect(missing_debug_implementations, reason = "the ports are trait objects")]
pub struct World<'a> {
    pub evaluator: &'a mut dyn Evaluator,
    pub generator: &'a mut dyn Generator,
    pub journal: &'a mut dyn Journal,
    pub clock: &'a dyn Clock,
    pub observer: &'a mut dyn Observer,
    pub stop: Stop,
}

/// A search: its state and who decides.
#[derive(Debug)]
pub struct Search {
    state: State,
    scheduler: Box<dyn Scheduler>,
    reset: Option<String>,
}

impl Search {
    /// A new run.
    pub fn new(plan: Plan, baseline: Candidate) -> Result<Self, PlanError> {
        let scheduler = plan.scheduler.build();
        Ok(Self { state: State::new(plan, baseline)?, scheduler, reset: None })
    }

    /// A run as its journal's `events` left it. `reset` says that device, driver or triton have
    /// changed since, so that timings are void.
    pub fn resume<'e>(
        plan: Plan,
        baseline: Candidate,
        events: impl IntoIterator<Item = &'e Event>,
        reset: Option<String>,
    ) -> Result<Self, ResumeError> {
        let mut search = Self::new(plan, baseline)?;
        for event in events {
            search.state.apply(event)?;
        }
        search.reset = reset;
        Ok(search)
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Searches until there is an outcome. A finished run gives the outcome it has; a parked one
    /// goes on. Every decision is in the journal before it is acted on, so that the run can be
    /// killed at any moment.
    pub async fn run(&mut self, world: World<'_>) -> Result<Outcome, SearchError> {
        match self.state.outcome() {
            None | Some(Outcome::Parked { .. }) => {}
            Some(outcome) => return Ok(outcome.clone()),
        }
        let resumed = self.state.begun();
        let requests = Requests::of(&self.state);
        let World { evaluator, generator, journal, clock, observer, stop } = world;
        let mut session = Session {
            recorder: Recorder::new(&mut self.state, journal, clock, observer),
            scheduler: &*self.scheduler,
            evaluator,
            generator,
            stop,
            requests,
            ready: VecDeque::new(),
            running: 0,
        };
        if resumed {
            let reset = self.reset.take();
            session.recorder.record(&[Event::Resumed { reset }]).await?;
        }
        let outcome = session.run().await?;
        session.end(outcome).await
    }
}

/// A run cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Misfit(#[from] Misfit),
}

/// One process's part of a run.
pub(super) struct Session<'a> {
    pub(super) recorder: Recorder<'a>,
    scheduler: &'a dyn Scheduler,
    pub(super) evaluator: &'a mut dyn Evaluator,
    generator: &'a mut dyn Generator,
    pub(super) stop: Stop,
    requests: Requests,
    /// Debited jobs that the evaluator has no room for yet.
    ready: VecDeque<Job>,
    /// Jobs that the evaluator has.
    running: usize,
}

impl Session<'_> {
    async fn run(&mut self) -> Result<Outcome, SearchError> {
        if let Some(outcome) = self.measure_baseline().await? {
            return Ok(outcome);
        }
        // What an earlier session had under way comes first, in its order.
        let state = &*self.recorder.state;
        self.ready = state
            .jobs_under_way()
            .filter(|job| job.arrived.is_none())
            .map(|job| Job {
                candidate: state.numbered(job.number).candidate().clone(),
                rung: job.rung,
            })
            .collect();
        loop {
            self.search().await?;
            if self.recorder.state.verification_presses(self.recorder.unrecorded()) {
                self.abandon().await?;
                return self.verify_survivors().await;
            }
            let awaited = self.requests.awaited(&self.recorder);
            if awaited > 0 {
                let reason = format!(
                    "nothing left to do until {awaited} request{} for candidates {} answered",
                    if awaited == 1 { "" } else { "s" },
                    if awaited == 1 { "is" } else { "are" },
                );
                return Ok(Outcome::Parked { reason });
            }
            let verified = self.verify_survivors().await?;
            // Whoever stood behind a survivor that was refuted has a chance now, and a rewrite goes
            // back to its author.
            let refuted = matches!(verified, Outcome::NoImprovement { .. });
            if refuted && self.second_chance().await? {
                continue;
            }
            if refuted {
                self.close().await?;
                return self.verify_survivors().await;
            }
            self.close().await?;
            return Ok(verified);
        }
    }

    /// Makes, evaluates and promotes candidates until nothing is left to do, or a verification
    /// presses.
    async fn search(&mut self) -> Result<(), SearchError> {
        loop {
            if self.stop.requested() {
                return self.interrupted().await;
            }
            if self.decide().await? {
                continue;
            }
            if self.recorder.state.verification_presses(self.recorder.unrecorded()) {
                return Ok(());
            }
            self.requests.advance(&mut self.recorder, self.generator).await?;
            if self.decide_when_drained().await? {
                continue;
            }
            self.fill().await?;
            if self.settle().await? {
                continue;
            }
            if self.running > 0 {
                self.await_evaluation().await?;
            } else if self.requests.pending(&self.recorder) {
                tokio::time::sleep(POLL).await;
            } else if self.requests.has_more_to_ask(&self.recorder) {
                // A few are asked at a time: before the run parks, all that may wait outside.
                continue;
            } else if self.requests.awaited(&self.recorder) > 0 || !self.second_chance().await? {
                // While answers are awaited others may still come to be better.
                return Ok(());
            }
        }
    }

    /// Promotes one more where no survivor is left that is faster than the baseline; whether there
    /// is more to do.
    async fn second_chance(&mut self) -> Result<bool, SearchError> {
        if !self.requests.unasked(&self.recorder).is_empty() {
            return Ok(true);
        }
        let chance = promotion::second_chance(self.recorder.state, self.scheduler);
        self.carry(chance).await
    }

    /// Gives up what is under way, and whatever waits for it.
    async fn abandon(&mut self) -> Result<(), SearchError> {
        if self.recorder.state.under_way() > 0 {
            self.ready.clear();
            self.evaluator.abandon().await;
            self.running = 0;
            self.recorder.record(&[Event::Abandoned]).await?;
            self.decide().await?;
        }
        self.close().await
    }

    /// The last decisions before the survivors are verified.
    async fn close(&mut self) -> Result<(), SearchError> {
        let prunings = promotion::closing(self.recorder.state);
        self.carry(prunings).await?;
        Ok(())
    }

    /// Measures the baseline unless it was; an outcome if it fails its contract.
    async fn measure_baseline(&mut self) -> Result<Option<Outcome>, SearchError> {
        if self.recorder.state.baseline_evaluation().is_none() {
            let debited = self.recorder.state.baseline_debited();
            match self.recorder.state.exhausted() {
                Some(Limit::Evaluations) if debited => {}
                Some(limit) => return Err(SearchError::BudgetEndedBeforeBaseline { limit }),
                None => {}
            }
            let baseline = self.recorder.state.baseline().clone();
            let rung = self.recorder.state.plan().ladder.top();
            if !debited {
                let estimate = Spend { evaluations: 1, ..Spend::default() };
                let candidate = baseline.id.clone();
                self.recorder.record(&[Event::Debited { candidate, rung, estimate }]).await?;
            }
            self.evaluator.submit(Job { candidate: baseline, rung });
            let next = self.evaluator.next();
            let evaluation = tokio::select! {
                biased;
                evaluation = next => evaluation?,
                error = timekeeping(&mut self.recorder, &mut self.stop, Until::WallLimit) => {
                    return Err(error);
                }
            };
            let wall_seconds = self.recorder.take_unrecorded();
            let measured = [Event::Ticked { wall_seconds }, Event::BaselineMeasured { evaluation }];
            self.recorder.record(&measured).await?;
            self.warn().await?;
        }
        let evaluation = self.recorder.state.baseline_evaluation();
        Ok(evaluation.and_then(Evaluation::rejection).map(|rejection| Outcome::Failed {
            reason: format!("the baseline fails its own contract: {rejection}"),
        }))
    }

    /// Makes the decisions that are due while more may come; whether there were any.
    async fn decide(&mut self) -> Result<bool, SearchError> {
        let decisions = promotion::due(self.recorder.state, self.scheduler);
        self.carry(decisions).await
    }

    /// Makes those that are due because nothing more is on its way.
    async fn decide_when_drained(&mut self) -> Result<bool, SearchError> {
        // Recipes on their way will be results; nobody is promoted for want of competition.
        if self.requests.recipes_pending(&self.recorder) {
            return Ok(false);
        }
        let (state, unrecorded) = (&*self.recorder.state, self.recorder.unrecorded());
        let decisions = promotion::due_when_drained(state, self.scheduler, unrecorded);
        self.carry(decisions).await
    }

    async fn carry(&mut self, decisions: Vec<Event>) -> Result<bool, SearchError> {
        if decisions.is_empty() {
            return Ok(false);
        }
        self.recorder.record(&decisions).await?;
        Ok(true)
    }

    /// Debits and submits jobs, the highest rung first, until the window is full.
    async fn fill(&mut self) -> Result<(), SearchError> {
        let hold_back = self.requests.hold_back(&self.recorder);
        while !hold_back && self.recorder.state.under_way() < self.recorder.state.plan().window {
            let Some((job, estimate)) = self.next_job() else { break };
            let (candidate, rung) = (job.candidate.id.clone(), job.rung);
            self.recorder.record(&[Event::Debited { candidate, rung, estimate }]).await?;
            self.ready.push_back(job);
        }
        while self.running < self.evaluator.window().max(1) {
            let Some(job) = self.ready.pop_front() else { break };
            self.evaluator.submit(job);
            self.running += 1;
        }
        Ok(())
    }

    fn next_job(&self) -> Option<(Job, Spend)> {
        let state = &*self.recorder.state;
        let unrecorded = self.recorder.unrecorded();
        let (rung, place) = (0..=state.plan().ladder.top())
            .rev()
            .filter(|rung| state.may_start(*rung))
            .filter_map(|rung| Some((rung, state.queue(rung).next()?)))
            .find(|(rung, _)| state.forbids(*rung, unrecorded).is_none())?;
        let candidate = state.numbered(place.number).candidate().clone();
        Some((Job { candidate, rung }, state.estimate(rung)))
    }

    /// Takes the result into account whose turn it is, if it has arrived.
    async fn settle(&mut self) -> Result<bool, SearchError> {
        let state = &*self.recorder.state;
        let Some(job) = state.next_to_settle() else { return Ok(false) };
        let candidate = state.numbered(job.number).candidate().id.clone();
        let settled = Event::Settled { candidate, rung: job.rung };
        self.recorder.record(&[settled]).await?;
        Ok(true)
    }

    /// Awaits an evaluation, and meanwhile takes answers that make work for an idle window.
    async fn await_evaluation(&mut self) -> Result<(), SearchError> {
        let mut next = self.evaluator.next();
        let evaluation = loop {
            let pending = self.requests.pending(&self.recorder);
            let nap = if pending { POLL } else { TICK };
            tokio::select! {
                biased;
                () = self.stop.wait() => {
                    drop(next);
                    return self.interrupted().await;
                }
                evaluation = &mut next => break evaluation?,
                () = tokio::time::sleep(nap) => {}
            }
            if self.recorder.unrecorded() >= TICK.as_secs_f64() {
                self.recorder.tick().await?;
                if self.recorder.state.verification_presses(0.0) {
                    return Ok(());
                }
            }
            let idle = self.recorder.state.under_way() < self.recorder.state.plan().window;
            let requests = &mut self.requests;
            if requests.advance(&mut self.recorder, self.generator).await? && idle {
                return Ok(());
            }
        };
        drop(next);
        self.running -= 1;
        self.arrived(evaluation).await
    }

    async fn arrived(&mut self, evaluation: Evaluation) -> Result<(), SearchError> {
        let state = &*self.recorder.state;
        let due = state.jobs_under_way().any(|job| {
            job.arrived.is_none()
                && job.rung == evaluation.rung
                && state.numbered(job.number).candidate().id == evaluation.candidate
        });
        if !due {
            return Err(SearchError::Plane(PlaneError(format!(
                "an evaluation of candidate {} on rung {} came that nobody asked for",
                evaluation.candidate, evaluation.rung
            ))));
        }
        let spent = Spend {
            wall_seconds: self.recorder.take_unrecorded(),
            gpu_seconds: evaluation.cost.gpu_seconds,
            evaluations: 1,
            ..Spend::default()
        };
        self.recorder.record(&[Event::Evaluated { evaluation, spent }]).await?;
        self.warn().await
    }

    /// Records what evaluator and generator have to say besides their results.
    pub(super) async fn warn(&mut self) -> Result<(), SearchError> {
        let mut warnings = self.evaluator.take_warnings();
        warnings.extend(self.generator.take_warnings());
        let events: Vec<Event> = warnings.into_iter().map(|text| Event::Warned { text }).collect();
        self.carry(events).await.map(drop)
    }

    async fn interrupted<T>(&mut self) -> Result<T, SearchError> {
        self.recorder.tick().await?;
        Err(SearchError::Interrupted)
    }

    async fn end(&mut self, outcome: Outcome) -> Result<Outcome, SearchError> {
        self.recorder.tick().await?;
        self.warn().await?;
        self.recorder.record(&[Event::Ended { outcome: outcome.clone() }]).await?;
        Ok(outcome)
    }
}
