//! A run in the world made of numbers, and what came of it.
#![allow(dead_code, reason = "shared with the benchmark, which uses a part")]

use kernelbrain::{
    kernel::{Candidate, CandidateId},
    search::{Event, Outcome, Plan, Search, SearchError, State, Stop, World, log_ratio},
};

use crate::world::{BASELINE, Lab, Memory, Moves, TestClock, cases};

/// A run to be made: change what the test is about, then run it.
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) lab: Lab,
    pub(crate) moves: Moves,
    pub(crate) clock: TestClock,
    pub(crate) journal: Memory,
    pub(crate) stop: Stop,
}

/// What came of it.
pub(crate) struct Ran {
    pub(crate) outcome: Result<Outcome, SearchError>,
    pub(crate) state: State,
    pub(crate) lab: Lab,
    pub(crate) moves: Moves,
    pub(crate) events: Vec<Event>,
}

impl Run {
    /// `seeds` candidates from the baseline, `children` from each promoted one, `count` cases,
    /// `window` jobs at once.
    pub(crate) fn new(seeds: usize, children: usize, count: usize, window: usize) -> Self {
        let clock = TestClock::default();
        let plan = Plan::new(cases(count), window);
        let lab = Lab::new(plan.clone(), clock.clone());
        let moves = Moves::new(seeds, children);
        Self { plan, lab, moves, clock, journal: Memory::default(), stop: Stop::never() }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) async fn go(self) -> Ran {
        self.go_on(Vec::new(), None).await
    }

    /// Goes on from the `events` of an earlier session.
    pub(crate) async fn go_on(self, events: Vec<Event>, reset: Option<&str>) -> Ran {
        self.watched(events, reset, |_, _| {}).await
    }

    pub(crate) async fn watched(
        mut self,
        events: Vec<Event>,
        reset: Option<&str>,
        mut watch: impl FnMut(&State, &Event) + Send,
    ) -> Ran {
        self.lab.follow(&self.plan);
        let baseline = Candidate::baseline(BASELINE);
        let reset = reset.map(str::to_owned);
        let mut search = Search::resume(self.plan, baseline, &events, reset).expect("it fits");
        self.journal.events = events;
        let outcome = search
            .run(World {
                evaluator: &mut self.lab,
                generator: &mut self.moves,
                journal: &mut self.journal,
                clock: &self.clock,
                observer: &mut watch,
                stop: self.stop,
            })
            .await;
        let state = search.state().clone();
        Ran { outcome, state, lab: self.lab, moves: self.moves, events: self.journal.events }
    }
}

impl Ran {
    pub(crate) fn outcome(&self) -> &Outcome {
        self.outcome.as_ref().expect("the search came to an outcome")
    }

    pub(crate) fn reason(&self) -> String {
        match self.outcome() {
            Outcome::Improved { best } => format!("improved: {best}"),
            Outcome::NoImprovement { reason }
            | Outcome::Parked { reason }
            | Outcome::Failed { reason } => reason.clone(),
        }
    }

    pub(crate) fn source(&self, id: &CandidateId) -> String {
        self.state.record(id).expect("a known candidate").candidate().source.to_string()
    }

    /// Source of the verified winner.
    pub(crate) fn winner(&self) -> String {
        match self.outcome() {
            Outcome::Improved { best } => self.source(best),
            other => panic!("no improvement: {other:?}"),
        }
    }

    /// Candidates in the order they were added.
    pub(crate) fn candidates(&self) -> Vec<String> {
        self.state.records().iter().map(|r| r.candidate().source.to_string()).collect()
    }

    /// Decisions in the order they were made.
    pub(crate) fn decisions(&self) -> Vec<&Event> {
        self.events.iter().filter(|event| matches!(event, Event::Decided { .. })).collect()
    }

    /// Pairs of candidate and rung, in the order they were debited.
    pub(crate) fn submissions(&self) -> Vec<(CandidateId, usize)> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Debited { candidate, rung, .. } => Some((candidate.clone(), *rung)),
                _ => None,
            })
            .collect()
    }

    /// Entered and promoted, a rung.
    pub(crate) fn funnel(&self) -> Vec<(usize, usize)> {
        self.state.tallies().map(|tally| (tally.entered, tally.promoted)).collect()
    }

    /// Log ratio on the top rung of `record`, from its own measurements.
    pub(crate) fn measured_gain(&self, id: &CandidateId) -> Option<f64> {
        let evaluation = self.state.record(id)?.measured()?;
        let baseline = self.state.baseline_evaluation()?;
        log_ratio(evaluation, baseline, &self.state.plan().cases)
    }
}
