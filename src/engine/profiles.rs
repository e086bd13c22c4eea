//! Which evaluations of a run are profiled: few, since each takes some seconds.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    evaluate::{
        Device, Plane,
        profile::{DeviceFacts, Profiled, Profiler, diagnose, doubt, excess},
    },
    kernel::{
        Candidate, CandidateId, Diagnosis, Evaluation, Gate, Move, Profile, Profiling, Rejection,
    },
};

/// A run of less than this, seconds, has better uses for its time than profiles.
const SHORT_RUN: f64 = 45.0;
/// Share of the wall clock that profiles of candidates on the top rung may take, the baseline's
/// and the winner's not counted, and what one is expected to take, seconds.
const SHARE: f64 = 0.1;
const EXPECTED_SECONDS: f64 = 9.0;
/// Candidates that are profiled on the top rung at most.
const MOST: usize = 4;
/// The same where a language model takes part. Its rewrites are profiled and nothing else: what
/// comes next is asked about them, and each is another kernel.
const SHARE_OF_REWRITES: f64 = 0.25;
const MOST_REWRITES: usize = 12;

/// Decides for one run, and remembers what it learnt about the profiler.
#[derive(Clone, Debug)]
pub(super) struct Profiles {
    profiler: Result<Profiler, String>,
    /// The case that is profiled.
    case: usize,
    seed: u64,
    /// Of candidates, rewrites only.
    rewrites: bool,
    /// When the wall clock ends.
    deadline: Option<Instant>,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Debug, Default)]
struct Memory {
    left: usize,
    profiles: HashMap<CandidateId, Profile>,
    /// Why the last one failed, and how many did in a row.
    failure: Option<String>,
    failures: usize,
    /// How many times the baseline's reported time the profiler found.
    usual: Option<f64>,
}

/// A profiler that fails twice in a row will fail again.
const PATIENCE: usize = 2;

impl Profiles {
    /// `wanted` is what the person says, `wall_seconds` what is left of the run, `rewrites` whether
    /// a language model takes part.
    pub(super) fn of_run(
        device: Device,
        wanted: bool,
        wall_seconds: Option<f64>,
        seed: u64,
        rewrites: bool,
    ) -> Self {
        let profiler = match wall_seconds {
            _ if device == Device::Cpu => {
                Err("the cpu device has no hardware counters to read".to_owned())
            }
            _ if !wanted => Err("it was not asked for (--no-profile)".to_owned()),
            Some(seconds) if seconds < SHORT_RUN => Err(format!(
                "{seconds:.0} s of wall clock are too few for it; it needs {SHORT_RUN} s or more"
            )),
            _ => Profiler::find(),
        };
        let (share, most) =
            if rewrites { (SHARE_OF_REWRITES, MOST_REWRITES) } else { (SHARE, MOST) };
        let left = match wall_seconds {
            Some(seconds) => (share * seconds / EXPECTED_SECONDS) as usize,
            None => most,
        };
        let deadline =
            wall_seconds.map(|left| Instant::now() + Duration::from_secs_f64(left.max(0.0)));
        let memory = Memory { left: left.min(most), ..Memory::default() };
        Self { profiler, case: 0, seed, rewrites, deadline, memory: Arc::new(Mutex::new(memory)) }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a candidate that is about to be evaluated on the top rung is profiled beside that.
    pub(super) fn chosen(&self, candidate: &Candidate) -> bool {
        if candidate.parent.is_none() {
            return true;
        }
        if self.rewrites && !matches!(candidate.origin, Move::Rewrite { .. }) {
            return false;
        }
        let mut memory = self.memory();
        let late = self.deadline.is_some_and(|end| {
            Instant::now() + Duration::from_secs_f64(2.0 * EXPECTED_SECONDS) > end
        });
        let chosen = self.profiler.is_ok() && memory.left > 0 && !late;
        memory.left -= usize::from(chosen);
        chosen
    }

    /// Whether a winner is profiled after its verification: unless it was before.
    pub(super) fn lacks(&self, winner: &Candidate) -> bool {
        !self.memory().profiles.contains_key(&winner.id)
    }

    /// What was found of `candidate`, where it was profiled.
    pub(super) fn of(&self, candidate: &Candidate) -> Option<Profile> {
        self.memory().profiles.get(&candidate.id).cloned()
    }

    /// Takes down what the profiler finds of the baseline, which may be more than was reported for
    /// reasons that hold for candidates too.
    pub(super) fn know_baseline(&self, evaluation: &Evaluation) {
        let profile = evaluation.profiling.as_ref().and_then(Profiling::profile);
        if let Some(profile) = profile
            && let Some(us) = evaluation.latency_us(&profile.case)
        {
            self.memory().usual = Some(excess(profile, us));
        }
    }

    /// The final word on what was reported of `candidate`, by the case: a rejection where its
    /// profile contradicts that, and another one as well where one can be made: what is doubted
    /// and cannot be cleared up wins nothing.
    pub(super) async fn contradiction(
        &self,
        plane: &Plane,
        candidate: &Candidate,
        reported_us: impl Fn(&str) -> Option<f64>,
    ) -> Option<Rejection> {
        let first = self.memory().profiles.get(&candidate.id).cloned()?;
        let usual = self.memory().usual;
        let doubt = |profile: &Profile| doubt(profile, reported_us(&profile.case)?, usual);
        let reason = doubt(&first)?;
        let again = self.profile_at_last(plane, candidate).await.profiling;
        let reason = again.profile().map_or(Some(reason), doubt)?;
        Some(Rejection::new(Gate::Integrity, reason).on_case(&first.case))
    }

    /// Profiles `candidate` within the wall clock; the reason why not where that cannot be.
    pub(super) async fn profile(&self, plane: &Plane, candidate: &Candidate) -> Profiled {
        if self.deadline.is_some_and(|end| Instant::now() > end) {
            return missing("the wall clock ended before it".to_owned());
        }
        self.profile_at_last(plane, candidate).await
    }

    /// The same for a winner, whenever it won: its verification was begun in time, and a result
    /// without its explanation is half a result.
    pub(super) async fn profile_at_last(&self, plane: &Plane, candidate: &Candidate) -> Profiled {
        let profiler = match &self.profiler {
            Ok(profiler) => profiler,
            Err(reason) => return missing(reason.clone()),
        };
        let known = {
            let memory = self.memory();
            memory.failure.clone().filter(|_| memory.failures >= PATIENCE)
        };
        if let Some(reason) = known {
            return missing(reason);
        }
        let profiled = plane.profile(profiler, candidate, self.case, self.seed).await;
        let mut memory = self.memory();
        match &profiled.profiling {
            Profiling::Missing { reason } => {
                memory.failure = Some(reason.clone());
                memory.failures += 1;
            }
            Profiling::Done { profile } => {
                memory.profiles.insert(candidate.id.clone(), (**profile).clone());
                memory.failures = 0;
            }
        }
        drop(memory);
        profiled
    }
}

fn missing(reason: String) -> Profiled {
    Profiled { profiling: Profiling::missing(reason), gpu_seconds: 0.0 }
}

/// What a profile means; `None` without one.
pub(super) fn diagnosis(profiling: &Profiling) -> Option<Diagnosis> {
    Some(diagnose(profiling.profile()?, None, &DeviceFacts::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(profiles: &Profiles) -> &str {
        profiles.profiler.as_ref().err().map_or("", String::as_str)
    }

    #[test]
    fn a_run_says_why_it_has_no_profiles() {
        let gpu = Device::Cuda { index: 0, capability: (9, 0) };
        let of = |device, wanted, seconds| Profiles::of_run(device, wanted, seconds, 1, false);
        assert!(reason(&of(Device::Cpu, true, None)).contains("cpu device"));
        assert!(reason(&of(gpu, false, None)).contains("--no-profile"));
        assert!(reason(&of(gpu, true, Some(28.0))).contains("28 s of wall clock are too few"));
    }

    #[test]
    fn the_baseline_is_always_chosen_and_candidates_as_far_as_the_time_goes() {
        let gpu = Device::Cuda { index: 0, capability: (9, 0) };
        let baseline = Candidate::baseline("x = 1");
        let recipe = Move::Recipe { text: "given".into() };
        let rewrite = Move::Rewrite { task: "given".into(), repairs: 0 };
        let chosen = |origin: &Move, rewrites: bool| {
            [Some(60.0), Some(200.0), Some(3600.0), None].map(|seconds| {
                let mut profiles = Profiles::of_run(gpu, true, seconds, 1, rewrites);
                profiles.profiler = Ok(Profiler::at("/bin/true"));
                assert!(profiles.chosen(&baseline));
                let child = |n| Candidate::child(&baseline.id, origin.clone(), format!("x = {n}"));
                (2..40).filter(|n| profiles.chosen(&child(*n))).count()
            })
        };
        assert_eq!(chosen(&recipe, false), [0, 2, MOST, MOST]);
        assert_eq!(chosen(&recipe, true), [0; 4], "they are for rewrites");
        assert_eq!(chosen(&rewrite, true), [1, 5, MOST_REWRITES, MOST_REWRITES]);
    }
}
