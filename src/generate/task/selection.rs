//! Which tasks to give to a model next.
//!
//! 1. **Coverage**: a task on the axis that was tried least comes first, so that a run sees every
//!    lever before it pulls one twice (KernelBrain's first principle). What a diagnosis speaks
//!    against and what experience says to avoid wait as if their axis had been tried more often;
//!    nothing is ruled out for good.
//! 2. **Expected gain** orders tasks whose axes were tried equally often: experience times evidence.
//! 3. **Meltdown**: when the last attempts collapse onto two axes or fewer, others are forced
//!    (KernelOPT, section 4.2).
//!
//! Equal seeds and histories give equal choices.

use std::collections::{BTreeMap, BTreeSet};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{
    Axis, Experience, ExpertTask, Library, Situation, Standing, Tally, condition::Evidence,
};
use crate::kernel::{CandidateId, arch_name};

/// A task that was given to a model, whatever came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub task: String,
    pub axis: Axis,
    pub parent: CandidateId,
}

/// A task that was chosen, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen<'l> {
    pub task: &'l ExpertTask,
    /// One sentence for the log.
    pub reason: String,
}

/// Chooses tasks for one run. Its state is the list of attempts, in order.
#[derive(Clone, Debug)]
pub struct Selector {
    seed: u64,
    attempts: Vec<Attempt>,
}

/// How many of the last attempts are looked at for a meltdown.
const WINDOW: usize = 6;
/// So few axes in a window are a collapse.
const COLLAPSED: usize = 2;
/// Attempts by which a task waits that the diagnosis speaks against.
const WAIT_AGAINST: usize = 2;
/// Attempts by which a task waits that experience says to avoid.
const WAIT_AVOIDED: usize = 4;
/// What a share of lost time that a task addresses adds to its expected gain, at most a few of them.
const EVIDENCE: f64 = 2.0;

impl Selector {
    pub fn new(seed: u64) -> Self {
        Self { seed, attempts: Vec::new() }
    }

    /// Counts an attempt, for example of a run that is resumed.
    pub fn remember(&mut self, attempt: Attempt) {
        self.attempts.push(attempt);
    }

    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// How often each axis was tried.
    pub fn coverage(&self) -> BTreeMap<Axis, usize> {
        let mut tries = BTreeMap::new();
        for attempt in &self.attempts {
            *tries.entry(attempt.axis).or_insert(0) += 1;
        }
        tries
    }

    /// The axes of the last attempts when they have collapsed: a full window on two axes or fewer.
    pub fn meltdown(&self) -> Option<BTreeSet<Axis>> {
        let window = self.attempts.len().checked_sub(WINDOW).map(|from| &self.attempts[from..])?;
        let axes: BTreeSet<Axis> = window.iter().map(|attempt| attempt.axis).collect();
        (axes.len() <= COLLAPSED).then_some(axes)
    }

    /// At most `at_most` tasks for `parent`, each counted as an attempt; none twice for the same
    /// parent. `operator` names the kind of kernel to experience.
    pub fn choose<'l>(
        &mut self,
        library: &'l Library,
        situation: &Situation<'_>,
        experience: &Experience,
        operator: &str,
        parent: &CandidateId,
        at_most: usize,
    ) -> Vec<Chosen<'l>> {
        let arch = arch_name(situation.arch);
        let mut options: Vec<Choice<'l>> = library
            .iter()
            .filter(|task| task.when.holds(situation))
            .filter(|task| !self.was_tried(task, parent))
            .map(|task| Choice::weigh(task, situation, experience.of(&task.name, operator, &arch)))
            .collect();
        let mut rng = self.generator(parent);
        options.iter_mut().for_each(|option| option.lot = rng.random());
        let mut chosen = Vec::new();
        while chosen.len() < at_most {
            let Some((at, forced)) = self.best(&options) else { break };
            let option = options.swap_remove(at);
            let tries = self.tries(option.task.axis);
            self.attempts.push(Attempt {
                task: option.task.name.clone(),
                axis: option.task.axis,
                parent: parent.clone(),
            });
            chosen.push(Chosen { task: option.task, reason: option.reason(tries, forced) });
        }
        chosen
    }

    /// Position of the option to take next, and whether a meltdown forced it.
    fn best(&self, options: &[Choice<'_>]) -> Option<(usize, bool)> {
        let collapsed = self.meltdown().unwrap_or_default();
        let elsewhere = options.iter().any(|option| !collapsed.contains(&option.task.axis));
        let forced = elsewhere && !collapsed.is_empty();
        let open = |option: &Choice<'_>| !forced || !collapsed.contains(&option.task.axis);
        let ranked = options.iter().enumerate().filter(|(_, option)| open(option));
        let first = ranked.min_by(|(_, a), (_, b)| {
            let tries = |option: &Choice<'_>| self.tries(option.task.axis) + option.wait;
            tries(a)
                .cmp(&tries(b))
                .then(b.gain.total_cmp(&a.gain))
                .then(a.lot.cmp(&b.lot))
                .then_with(|| a.task.name.cmp(&b.task.name))
        });
        first.map(|(at, _)| (at, forced))
    }

    fn tries(&self, axis: Axis) -> usize {
        self.attempts.iter().filter(|attempt| attempt.axis == axis).count()
    }

    fn was_tried(&self, task: &ExpertTask, parent: &CandidateId) -> bool {
        self.attempts.iter().any(|it| it.task == task.name && it.parent == *parent)
    }

    /// Random numbers for one parent at one point of the history.
    fn generator(&self, parent: &CandidateId) -> ChaCha8Rng {
        let own = u64::from_str_radix(parent.as_str(), 16).unwrap_or_default();
        ChaCha8Rng::seed_from_u64(self.seed ^ own ^ (self.attempts.len() as u64).rotate_left(32))
    }
}

/// A task that applies.
#[derive(Debug)]
struct Choice<'l> {
    task: &'l ExpertTask,
    /// Attempts by which its turn is put off.
    wait: usize,
    /// Expected gain in log time, times evidence.
    gain: f64,
    evidence: Evidence,
    standing: Standing,
    /// Decides between equals.
    lot: u64,
}

impl<'l> Choice<'l> {
    fn weigh(task: &'l ExpertTask, situation: &Situation<'_>, tally: Option<Tally>) -> Self {
        let tally = tally.unwrap_or_default();
        let evidence = task.when.evidence(task.axis, situation.diagnosis);
        let standing = tally.standing();
        let factor = if let Evidence::For(share) = evidence { 1.0 + EVIDENCE * share } else { 1.0 };
        let against = if evidence == Evidence::Against { WAIT_AGAINST } else { 0 };
        let avoided = if standing == Standing::Avoid { WAIT_AVOIDED } else { 0 };
        Self {
            task,
            wait: against + avoided,
            gain: tally.expected_log_gain(task.gain) * factor,
            evidence,
            standing,
            lot: 0,
        }
    }

    fn reason(&self, tries: usize, forced: bool) -> String {
        let axis = self.task.axis;
        let coverage = match (forced, tries) {
            (true, _) => {
                format!("the last attempts collapsed onto other axes, so {axis} is forced")
            }
            (false, 0) => format!("{axis} was not tried yet"),
            (false, tries) => format!("{axis} was tried {tries} times so far"),
        };
        let evidence = match self.evidence {
            Evidence::None => "",
            Evidence::Against => "; the diagnosis speaks against it",
            Evidence::For(_) => "; the diagnosis speaks for it",
        };
        let standing = match self.standing {
            Standing::Open => "",
            Standing::Use => "; it helped before",
            Standing::Avoid => "; it hardly ever helped before",
        };
        format!("{coverage}{evidence}{standing}")
    }
}
