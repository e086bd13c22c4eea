//! Results faster than light: what of a measurement no sound kernel can reach, and who is to blame.
//!
//! A latency below [`roofline::soonest`] is impossible if the bytes are right. They are those that the
//! reference reads, or what the contract says of them, and either can be more than a kernel needs.
//! So a result is rejected only when the baseline and eager PyTorch stay above the limit, and when the
//! limit holds for the bytes on which the answer was found to depend; otherwise the contract is accused
//! and the case is not checked any more.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use super::{
    error::EvaluateError,
    judge::Stop,
    plane::Plane,
    protocol::{Dependence, Timing},
    statistics::median,
};
use crate::kernel::{
    Bound, CandidateId, Ceilings, Gate, Limiter, Rejection, Work,
    roofline::{self, Soonest},
};

/// What the plane knows of the speed of light.
#[derive(Debug, Default)]
pub(super) struct Light {
    ceilings: OnceLock<Ceilings>,
    cases: Mutex<HashMap<usize, CaseLight>>,
    warnings: Mutex<Vec<String>>,
}

/// What is known of one case.
#[derive(Clone, Debug, Default)]
struct CaseLight {
    work: Option<Work>,
    /// The least that the baseline took, microseconds.
    baseline_us: Option<f64>,
    eager_us: Option<f64>,
    /// Input bytes on which the answer depends, once that was looked into.
    depended_on: Option<u64>,
    /// The contract is wrong about this case.
    unchecked: bool,
}

/// A latency that was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting<'a> {
    pub(super) candidate: &'a CandidateId,
    pub(super) case: usize,
    /// Of the inputs that were timed.
    pub(super) seed: u64,
    pub(super) latency_us: f64,
    /// How it was measured.
    pub(super) timing: Timing,
}

impl Light {
    fn case(&self, case: usize) -> CaseLight {
        lock(&self.cases).get(&case).cloned().unwrap_or_default()
    }

    fn change(&self, case: usize, change: impl FnOnce(&mut CaseLight)) {
        change(lock(&self.cases).entry(case).or_default());
    }

    fn warn(&self, text: String) {
        tracing::info!("{text}");
        lock(&self.warnings).push(text);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Plane {
    /// Says what the device reaches at best. Without it nothing is bounded and nothing impossible.
    pub fn set_ceilings(&self, ceilings: Ceilings) {
        // Ceilings do not change while a plane lives: the first ones stay.
        let _ = self.light.ceilings.set(ceilings);
    }

    pub fn ceilings(&self) -> Option<&Ceilings> {
        self.light.ceilings.get()
    }

    /// What the reference of a case does; `None` before [`Plane::lay_out`], and where it could not be
    /// counted.
    pub fn work(&self, case: usize) -> Option<Work> {
        self.light.case(case).work
    }

    /// The speed-of-light bound of a case, where ceilings and work are known.
    pub fn bound(&self, case: usize) -> Option<Bound> {
        roofline::bound(&self.work(case)?, self.ceilings()?)
    }

    /// What a reader must know and was not told before.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.light.warnings))
    }

    /// What a reader must know, once.
    pub(super) fn warn(&self, text: String) {
        let mut warnings = lock(&self.light.warnings);
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Has the work of a case counted, whose inputs are in place.
    pub(super) async fn count_work(&self, case: usize, seed: u64) {
        let named = &self.contract.cases[case];
        let counted = self.referee.lock().await.work(case, named, seed).await;
        match counted {
            Ok(work) => self.light.change(case, |light| light.work = Some(work)),
            Err(error) => self.light.warn(format!(
                "case {}: no speed of light, since its operations could not be counted: {error}",
                named.name
            )),
        }
    }

    /// Rejects what cannot be; called within the GPU turn.
    pub(super) async fn check_light(&self, seen: Sighting<'_>) -> Result<(), Stop> {
        let light = self.light.case(seen.case);
        let (Some(work), Some(ceilings), false) = (light.work, self.ceilings(), light.unchecked)
        else {
            return Ok(());
        };
        let of_baseline = *seen.candidate == CandidateId::of(&self.config.target.text);
        if of_baseline {
            self.light.change(seen.case, |light| {
                let least = light.baseline_us.unwrap_or(f64::INFINITY).min(seen.latency_us);
                light.baseline_us = Some(least);
            });
        }
        let limit = roofline::soonest(&work, ceilings);
        if seen.latency_us >= limit.us {
            return Ok(());
        }
        let baseline_us = self.light.case(seen.case).baseline_us;
        let eager_us = match (of_baseline, light.eager_us) {
            (true, _) => None,
            (false, Some(known)) => Some(known),
            (false, None) => self.time_eager(&seen).await?,
        };
        let witnesses = Witnesses { baseline_us, eager_us };
        if let Some(witness) = witnesses.against(&limit) {
            self.accuse(seen.case, &work, &limit, &witness);
            return Ok(());
        }
        if limit.limiter == Limiter::Launch {
            return Err(self.impossible(&seen, &limit, &witnesses).into());
        }
        let bytes_in = match light.depended_on {
            Some(known) => known,
            None => self.depended_on(&seen, &work).await?,
        };
        let needed = Work { bytes_in, ..work.clone() };
        let limit = roofline::soonest(&needed, ceilings);
        if seen.latency_us < limit.us {
            return Err(self.impossible(&seen, &limit, &witnesses).into());
        }
        let witness = format!(
            "a result of {:.2} µs reads all that the answer was found to depend on ({bytes_in} bytes)",
            seen.latency_us
        );
        self.accuse(seen.case, &work, &limit, &witness);
        Ok(())
    }

    /// Eager PyTorch on the same inputs; `None` where it cannot be timed.
    async fn time_eager(&self, seen: &Sighting<'_>) -> Result<Option<f64>, EvaluateError> {
        let timing = Timing { warmup: 1, repeat: 7, ..seen.timing };
        let case = &self.contract.cases[seen.case];
        let mut referee = self.referee.lock().await;
        let timed = referee.time(seen.case, case, seen.seed, "eager", timing).await;
        let eager_us = timed.ok().and_then(|timed| median(&timed.device_us));
        self.light.change(seen.case, |light| light.eager_us = eager_us);
        Ok(eager_us)
    }

    /// Bytes of the inputs that the answer depends on, at most those that were counted.
    async fn depended_on(&self, seen: &Sighting<'_>, work: &Work) -> Result<u64, EvaluateError> {
        let case = &self.contract.cases[seen.case];
        let mut referee = self.referee.lock().await;
        let found = referee.dependence(seen.case, case, seen.seed).await?;
        let bytes = certain_bytes(found, work.bytes_in);
        self.light.change(seen.case, |light| light.depended_on = Some(bytes));
        Ok(bytes)
    }

    fn impossible(&self, seen: &Sighting<'_>, limit: &Soonest, witnesses: &Witnesses) -> Rejection {
        let why = match limit.limiter {
            Limiter::Launch => "a launch alone takes".to_owned(),
            _ => format!(
                "the {} that must cross the memory's bus take{}",
                bytes(limit.bytes),
                self.ceilings()
                    .and_then(|ceilings| ceilings.theoretical_gbps)
                    .map_or_else(String::new, |gbps| format!(", at {gbps:.0} GB/s,")),
            ),
        };
        let reason = format!(
            "faster than light: a call took {:.3} µs, but {why} at least {:.3} µs{}",
            seen.latency_us,
            limit.us,
            witnesses.in_words()
        );
        Rejection::new(Gate::Integrity, reason).on_case(&self.contract.cases[seen.case].name)
    }

    /// Blames the contract, and checks the case no more.
    fn accuse(&self, case: usize, work: &Work, limit: &Soonest, witness: &str) {
        self.light.change(case, |light| light.unchecked = true);
        let name = &self.contract.cases[case].name;
        self.light.warn(accusation(name, work, limit, witness));
    }
}

/// Who else was measured on the case, microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Witnesses {
    baseline_us: Option<f64>,
    eager_us: Option<f64>,
}

impl Witnesses {
    fn named(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let named = [("the baseline", self.baseline_us), ("eager PyTorch", self.eager_us)];
        named.into_iter().filter_map(|(name, us)| Some((name, us?)))
    }

    /// The one that breaks the limit as well, in words.
    fn against(&self, limit: &Soonest) -> Option<String> {
        self.named()
            .find(|(_, us)| *us < limit.us)
            .map(|(name, us)| format!("{name} takes {us:.2} µs"))
    }

    fn in_words(&self) -> String {
        let said: Vec<String> =
            self.named().map(|(name, us)| format!("{name} takes {us:.2} µs")).collect();
        if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
    }
}

fn accusation(case: &str, work: &Work, limit: &Soonest, witness: &str) -> String {
    let source = if work.declared.iter().any(|name| name == "bytes") {
        "the contract's `bytes` says more than a call needs"
    } else {
        "more was counted than a call needs: state it with `bytes(**case)` in the contract"
    };
    format!(
        "case {case}: {witness}, although {} must move and take at least {:.2} µs; {source}. The case \
         is not checked against the speed of light",
        bytes(work.bytes()),
        limit.us
    )
}

fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}

/// Of `counted` bytes those that are needed for certain: no more than there are, times the lower end of
/// Wilson's 95 % interval for the share of sectors that mattered.
fn certain_bytes(found: Dependence, counted: u64) -> u64 {
    const Z: f64 = 1.96;
    if found.sampled == 0 {
        return 0;
    }
    let n = f64::from(found.sampled);
    let share = f64::from(found.needed.min(found.sampled)) / n;
    let middle = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let low = ((middle - spread) / (1.0 + Z * Z / n)).clamp(0.0, 1.0);
    (low * counted.min(found.bytes) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(us: f64) -> Soonest {
        Soonest { us, limiter: Limiter::Traffic, bytes: 4_000_000_000 }
    }

    #[test]
    fn whoever_breaks_the_limit_as_well_speaks_against_it() {
        let witnesses = Witnesses { baseline_us: Some(900.0), eager_us: Some(1200.0) };
        assert_eq!(witnesses.against(&limit(800.0)), None);
        let word = witnesses.against(&limit(1000.0)).unwrap();
        assert_eq!(word, "the baseline takes 900.00 µs");
        let eager = Witnesses { baseline_us: None, eager_us: Some(700.0) };
        assert!(eager.against(&limit(800.0)).unwrap().contains("eager"));
    }

    #[test]
    fn an_accusation_names_what_to_change() {
        let mut work = Work { bytes_in: 400_000_000_000, ..Work::default() };
        let counted = accusation("tall", &work, &limit(81_300.0), "the baseline takes 1011.00 µs");
        assert!(counted.contains("state it with `bytes(**case)`"), "{counted}");
        work.declared.push("bytes".into());
        let declared = accusation("tall", &work, &limit(81_300.0), "the baseline takes 1011.00 µs");
        assert_eq!(
            declared,
            "case tall: the baseline takes 1011.00 µs, although 400.00 GB must move and take at least \
             81300.00 µs; the contract's `bytes` says more than a call needs. The case is not checked \
             against the speed of light"
        );
    }

    #[test]
    fn only_bytes_that_surely_matter_count_against_a_kernel() {
        let found = |sampled, needed| Dependence { sampled, needed, bytes: 1_000_000 };
        let of = |needed| certain_bytes(found(48, needed), 1_000_000);
        assert!((900_000..950_000).contains(&of(48)), "{}", of(48));
        assert!((350_000..400_000).contains(&of(24)), "{}", of(24));
        assert_eq!(certain_bytes(found(0, 0), 1_000_000), 0);
        assert!(
            certain_bytes(found(48, 48), 100_000_000) < 1_000_000,
            "a contract's own bytes too"
        );
    }
}
