//! Which recipes to try, in which order: broad coverage first, combinations after it.
//!
//! Recipes come from *lanes*: one a verb, whose queue takes the verb's places in turn, nearest
//! values first, and two of combinations (pairs of the most promising axes, and joint choices of
//! all tile sizes, warps and stages). A cycle takes a few from each lane, so that no verb crowds
//! out the others however many places it has.

use std::collections::{BTreeSet, HashSet, VecDeque};

use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::{
    favour::Favour,
    recipe::{Context, DeviceKind, Idle, Place, Recipe, Step, VERBS, Verb},
};
use crate::kernel::{CandidateId, Diagnosis, syntax::Source};

/// A recipe and the source it makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offspring {
    pub recipe: Recipe,
    pub source: String,
}

/// Proposes recipes for one target. What it proposed once in a run it never proposes again.
#[derive(Debug)]
pub struct Proposer {
    context: Context,
    seed: u64,
    seen: HashSet<CandidateId>,
}

impl Proposer {
    pub fn new(context: Context, seed: u64) -> Self {
        Self { context, seed, seen: HashSet::new() }
    }

    /// Takes note of the kernels that the contract's cases launch.
    pub fn know_launched(&mut self, launched: BTreeSet<String>) {
        self.context.launched = launched;
    }

    /// Counts `id` as proposed, for example after a run was resumed.
    pub fn remember(&mut self, id: CandidateId) {
        self.seen.insert(id);
    }

    /// First candidates from the baseline: all axes, those that its diagnosis points to first.
    pub fn seeds(
        &mut self,
        baseline: &str,
        diagnosis: Option<&Diagnosis>,
        at_most: usize,
    ) -> Vec<Offspring> {
        self.propose(baseline, &Favour::for_seeds(diagnosis), at_most)
    }

    /// Children of a promoted candidate: first what the diagnosis and `move_text`, the recipe that
    /// made it, point to, then the other axes.
    pub fn children(
        &mut self,
        parent: &str,
        move_text: Option<&str>,
        diagnosis: Option<&Diagnosis>,
        at_most: usize,
    ) -> Vec<Offspring> {
        let favour = Favour::for_children(diagnosis, move_text);
        self.propose(parent, &favour, at_most)
    }

    fn propose(&mut self, parent: &str, favour: &Favour, at_most: usize) -> Vec<Offspring> {
        let Ok(source) = Source::parse(parent) else { return Vec::new() };
        let id = CandidateId::of(parent);
        let mut rng = self.generator(&id);
        self.seen.insert(id);
        let mut stages = lanes(&source, &self.context, favour, at_most, &mut rng);
        let mut offspring = Vec::new();
        for lanes in &mut stages {
            let mut draws = DRAWS_PER_OFFSPRING.saturating_mul(at_most).saturating_add(64);
            for cycle in 0.. {
                let mut dry = true;
                for lane in lanes.iter_mut() {
                    if lane.waits > cycle {
                        dry = false;
                        continue;
                    }
                    for _ in 0..lane.slots {
                        if offspring.len() == at_most {
                            return offspring;
                        }
                        let Some(next) = self.draw(lane, &source, &mut draws) else { break };
                        offspring.push(next);
                        dry = false;
                    }
                }
                if dry {
                    break;
                }
            }
        }
        offspring
    }

    /// The lane's next recipe that applies and gives a new source.
    fn draw(&mut self, lane: &mut Lane, parent: &Source, draws: &mut usize) -> Option<Offspring> {
        while lane.left > 0 && *draws > 0 {
            *draws -= 1;
            let recipe = Recipe::of(lane.queue.pop_front()?)?;
            let Ok(source) = recipe.apply_to(parent, &self.context) else { continue };
            if self.seen.insert(CandidateId::of(&source)) {
                lane.left -= 1;
                return Some(Offspring { recipe, source });
            }
        }
        None
    }

    /// Random numbers for one parent, whatever was asked before.
    fn generator(&self, parent: &CandidateId) -> ChaCha8Rng {
        let own = u64::from_str_radix(parent.as_str(), 16).unwrap_or_default();
        ChaCha8Rng::seed_from_u64(self.seed ^ own)
    }
}

/// Recipes of one kind that wait to be tried.
#[derive(Debug)]
struct Lane {
    verb: &'static str,
    queue: VecDeque<Vec<Step>>,
    /// How many it gives in a cycle.
    slots: usize,
    /// Cycles before it gives any.
    waits: usize,
    /// How many it may still give.
    left: usize,
}

/// The lanes for `source`, in the stages in which they are drained. On the cpu, what only a
/// compiler sees comes after everything that the interpreter runs differently.
fn lanes(
    source: &Source,
    context: &Context,
    favour: &Favour,
    at_most: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<Lane>> {
    let on_cpu = context.device == DeviceKind::Cpu;
    let (mut first, mut later) = (Vec::new(), Vec::new());
    let mut axes = Vec::new();
    let idle = Idle::of(source, &context.launched);
    for verb in VERBS {
        let mut places = verb.places(source, context);
        places.retain(|place| !idle.contains(place.line));
        places.shuffle(rng);
        favour.order(verb.name(), &mut places);
        // More programs do not run beside each other in the interpreter: they only cost time.
        let hidden = on_cpu && (!verb.interpreted() || verb.name() == "split");
        if COMBINED.contains(&verb.name()) && !hidden {
            axes.extend(places.iter().cloned().map(|place| (*verb, place)));
        }
        let share = if MAJOR.contains(&verb.name()) { at_most } else { (at_most / 6).max(4) };
        let lane = Lane {
            verb: verb.name(),
            queue: in_turn(&places),
            slots: slots(verb.name()),
            waits: 0,
            left: share,
        };
        if hidden { later.push(lane) } else { first.push(lane) }
    }
    let pairs = pairs(&axes, rng);
    let joint = joint(&axes, rng);
    for queue in [pairs, joint] {
        first.push(Lane { verb: "", queue, slots: 3, waits: 2, left: at_most });
    }
    if favour.from_parent {
        // Children look everywhere, but first where their parent came from or is held back.
        first.shuffle(rng);
        first.iter_mut().for_each(|lane| lane.waits = 0);
    }
    first.sort_by_key(|lane| favour.rank(lane.verb));
    vec![first, later]
}

/// Recipes drawn in a stage for each that is asked for, beyond which the rest is taken to be known already.
const DRAWS_PER_OFFSPRING: usize = 4;

/// Verbs whose share is not capped: their values differ most in what they do.
const MAJOR: [&str; 3] = ["tile", "split", "autotune"];
/// Verbs that depend on each other's values.
const COMBINED: [&str; 6] = ["split", "tile", "warps", "stages", "swizzle", "precision"];

fn slots(verb: &str) -> usize {
    match verb {
        "tile" | "split" | "autotune" => 3,
        "warps" | "pipeline" => 2,
        _ => 1,
    }
}

/// One step of each place in turn, then the next of each.
fn in_turn(places: &[Place]) -> VecDeque<Vec<Step>> {
    let rounds = places.iter().map(|place| place.steps.len()).max().unwrap_or(0);
    let round = |n: usize| places.iter().filter_map(move |place| place.steps.get(n).cloned());
    (0..rounds).flat_map(round).map(|step| vec![step]).collect()
}

type Axis = (&'static dyn Verb, Place);

/// How many values of an axis are combined with others.
const COMBINED_VALUES: usize = 4;

/// Two axes at once, near values first; the order among equally near ones is the seed's.
fn pairs(axes: &[Axis], rng: &mut ChaCha8Rng) -> VecDeque<Vec<Step>> {
    let mut found = Vec::new();
    for (index, (_, first)) in axes.iter().enumerate() {
        for (_, second) in &axes[index + 1..] {
            for (i, a) in first.steps.iter().take(COMBINED_VALUES).enumerate() {
                for (j, b) in second.steps.iter().take(COMBINED_VALUES).enumerate() {
                    found.push((i + j, merged(vec![a.clone(), b.clone()])));
                }
            }
        }
    }
    found.shuffle(rng);
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().map(|(_, steps)| steps).collect()
}

/// How many joint choices are drawn.
const JOINT_DRAWS: usize = 400;

/// Three or more axes at once, drawn at random.
fn joint(axes: &[Axis], rng: &mut ChaCha8Rng) -> VecDeque<Vec<Step>> {
    let usable: Vec<&Place> =
        axes.iter().map(|(_, place)| place).filter(|place| !place.steps.is_empty()).collect();
    if usable.len() < 3 {
        return VecDeque::new();
    }
    let draw = |_| {
        let mut steps = Vec::new();
        for place in &usable {
            let values = place.steps.len().min(COMBINED_VALUES);
            // One chance in three to stay as it is.
            if rng.random_range(0..3) > 0 {
                steps.push(place.steps[rng.random_range(0..values)].clone());
            }
        }
        steps
    };
    let drawn: Vec<Vec<Step>> = (0..JOINT_DRAWS).map(draw).collect();
    let mut known = HashSet::new();
    let joint = drawn.into_iter().filter(|steps| steps.len() >= 3).map(merged);
    joint.filter(|steps| known.insert(steps.clone())).collect()
}

/// Tile sizes go into one step, since only together they may be right.
fn merged(steps: Vec<Step>) -> Vec<Step> {
    let (tiles, mut rest): (Vec<Step>, Vec<Step>) =
        steps.into_iter().partition(|step| step.verb == "tile");
    let words: Vec<_> = tiles.into_iter().flat_map(|step| step.words).collect();
    if !words.is_empty() {
        // After `split`, which may move or rename what the others name, and before the rest.
        let at = rest.iter().take_while(|step| step.verb == "split").count();
        rest.insert(at, Step { verb: "tile".to_owned(), words });
    }
    rest
}

#[cfg(test)]
mod tests;
