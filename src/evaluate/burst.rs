//! A burst: timed calls in a row, each on inputs that the candidate has not seen, under the
//! parent's own clock, the answer of one of them compared afterwards.

use std::time::{Duration, Instant};

use rand::Rng;
use serde_json::Value;

use super::{
    blame::Stage,
    clock::{LEAST_CALLS, Ledger, Look},
    hearing::{Finding, Hearing},
    judge::Stop,
    protocol::{BurstPlan, Ready, Timed, Timing},
    referee::SetsWanted,
    statistics::median,
    subject::Subject,
};
use crate::kernel::{Gate, Rejection};

/// Calls of a burst whose answers a child keeps, for one of them to be chosen afterwards.
const KEEP: u32 = 4;

/// The host time of a call before any was seen, microseconds.
const UNKNOWN_HOST_US: f64 = 100.0;
const LONGEST_WAIT_US: f64 = 100_000.0;

/// What a burst is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Challenge<'a> {
    pub(super) case: usize,
    /// A seed on which the candidate has been called: the sets have its layout.
    pub(super) like: u64,
    /// One a set of inputs; calls take the sets in turn.
    pub(super) seeds: &'a [u64],
    /// Nobody else will ask for these inputs.
    pub(super) passing: bool,
    /// The first `warmup` calls are timed and do not count.
    pub(super) timing: Timing,
    /// Have the answer of one call, drawn after the burst, compared.
    pub(super) judged: bool,
    /// Measure what a burst takes without its calls, once a case.
    pub(super) paced: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    /// One a call that counts, microseconds.
    pub(super) device_us: Vec<f64>,
    pub(super) host_us: Option<f64>,
    pub(super) backward_us: Option<Vec<f64>>,
    /// Deviation of the answer that was compared, in units of the tolerance.
    pub(super) error: f64,
}

/// What a subject knows of its own timing on the case that it is timed on.
#[derive(Debug, Default)]
pub(super) struct Pace {
    case: Option<usize>,
    host_us: Option<f64>,
    /// What surrounds a call in a burst, measured, microseconds.
    around_us: Option<f64>,
    ledger: Ledger,
    /// Bursts that were contradicted while others had the GPU.
    undecided: u32,
}

impl Pace {
    fn on(&mut self, case: usize) -> &mut Self {
        if self.case != Some(case) {
            *self = Self { case: Some(case), ..Self::default() };
        }
        self
    }

    /// The wait covers the host time of a call twice over and a little for everything else.
    fn wait_us(&self) -> f64 {
        let host = self.host_us.unwrap_or(UNKNOWN_HOST_US);
        (2.0 * host + 30.0).clamp(30.0, LONGEST_WAIT_US)
    }
}

impl Subject<'_> {
    /// Warms the candidate up on inputs that it knows and that are in place, and learns how long
    /// the host needs for a call.
    pub(super) async fn warm_up(
        &mut self,
        case: usize,
        inputs: &Value,
        timing: Timing,
    ) -> Result<(), Stop> {
        self.pace.on(case);
        if timing.warmup == 0 {
            return Ok(());
        }
        let plan = self.plan(timing, false);
        let ready = self.make_ready(case, std::slice::from_ref(inputs), &plan).await?;
        self.pace.host_us = ready.host_us.filter(|us| us.is_finite() && *us >= 0.0);
        Ok(())
    }

    /// Times a burst.
    pub(super) async fn burst(&mut self, challenge: &Challenge<'_>) -> Result<Burst, Stop> {
        let Challenge { case, timing, .. } = *challenge;
        self.pace.on(case);
        let (sets, timed) = self.believable(challenge).await?;
        let backward_us = self.time_backward(challenge, sets.len()).await?;
        let error = if challenge.judged { self.judge_one(case, &sets, &timed).await? } else { 0.0 };
        let host_us = timed.host_us.filter(|us| us.is_finite() && *us >= 0.0);
        self.pace.host_us = host_us.or(self.pace.host_us);
        let lead = (timing.warmup as usize).min(timed.device_us.len() - 1);
        Ok(Burst { device_us: timed.device_us[lead..].to_vec(), host_us, backward_us, error })
    }

    /// What was found out over all bursts of a case.
    pub(super) fn close_ledger(&self, case: usize) -> Result<(), Stop> {
        match self.pace.ledger.contradiction() {
            Some(reason) if self.pace.case == Some(case) && !self.others_have_the_gpu() => {
                Err(self.dishonest(case, reason))
            }
            _ => Ok(()),
        }
    }

    /// Why the times on a case prove nothing, if others used the GPU all the while.
    pub(super) fn unconfirmed(&self, case: usize) -> Option<Rejection> {
        let doubtful = self.pace.case == Some(case) && self.pace.undecided > 0;
        let reason = "its times could not be confirmed, since another process was using the GPU all \
                      the while: run again when it does not, or with --wait-for-gpu";
        let name = &self.plane.contract.cases[case].name;
        doubtful.then(|| Rejection::new(Gate::Performance, reason).on_case(name))
    }

    pub(super) fn plan(&self, timing: Timing, judged: bool) -> BurstPlan {
        BurstPlan {
            warmup: timing.warmup,
            repeat: timing.warmup + timing.repeat,
            enough_us: timing.enough_us,
            flush_bytes: timing.flush_bytes,
            wait_us: self.pace.wait_us(),
            keep: if judged { KEEP } else { 0 },
        }
    }

    /// New values for every call, as far as there are sets for them.
    fn plan_for(&self, challenge: &Challenge<'_>, sets: usize) -> BurstPlan {
        let plan = BurstPlan { warmup: 0, ..self.plan(challenge.timing, challenge.judged) };
        if !challenge.passing {
            return plan;
        }
        let least = LEAST_CALLS as u32 + challenge.timing.warmup;
        let fresh = u32::try_from(sets).unwrap_or(u32::MAX).max(least);
        BurstPlan { repeat: plan.repeat.min(fresh), ..plan }
    }

    async fn make_ready(
        &mut self,
        case: usize,
        sets: &[Value],
        plan: &BurstPlan,
    ) -> Result<Ready, Stop> {
        let limit = self.plane.config.limits.call;
        let started = Instant::now();
        let ready = match self.child.ready(sets, &self.call, plan, limit).await {
            Ok(ready) => ready,
            Err(error) => return Err(self.blame_timing(case, error).await),
        };
        self.steps.note("ready", started);
        Ok(ready)
    }

    async fn sets(&self, challenge: &Challenge<'_>) -> Result<Vec<Value>, Stop> {
        let wanted =
            SetsWanted { seeds: challenge.seeds, like: challenge.like, passing: challenge.passing };
        let case = &self.plane.contract.cases[challenge.case];
        let started = Instant::now();
        let mut referee = self.plane.referee.lock().await;
        let sets = referee.sets(challenge.case, case, &wanted).await?;
        self.steps.note("sets", started);
        if let Some(first) = sets.first() {
            self.plane.openings.note(challenge.case, first);
        }
        Ok(sets)
    }

    /// A burst that the clock outside does not contradict, and the sets that it was made on.
    async fn believable(&mut self, challenge: &Challenge<'_>) -> Result<(Vec<Value>, Timed), Stop> {
        let case = challenge.case;
        let mut hearing = Hearing::default();
        loop {
            let sets = self.sets(challenge).await?;
            let plan = &self.plan_for(challenge, sets.len());
            self.make_ready(case, &sets, plan).await?;
            let started = Instant::now();
            let timed = self.time(case, plan).await?;
            let look = Look { timed: &timed, plan, passed_us: micros(started.elapsed()) };
            if let Some(reason) = look.impossible() {
                return Err(self.dishonest(case, reason));
            }
            let calls = timed.device_us.len() as f64;
            let known = self.pace.around_us.map(|around| around * calls);
            let expected = known.unwrap_or_else(|| look.usual_surroundings_us());
            let suspicious = look.unexplained_us(expected).is_some();
            let mut accusation = look.work_after_the_call();
            let suspicious = suspicious || hearing.under_suspicion();
            if suspicious || (challenge.paced && known.is_none()) {
                let without_us = self.surroundings(case, plan).await?;
                accusation = accusation.or_else(|| look.contradiction(without_us));
                self.pace.around_us = Some(without_us / calls);
            }
            match hearing.hear(accusation, || self.others_have_the_gpu()) {
                Finding::Believed => {
                    if let Some(around) = self.pace.around_us {
                        self.pace.ledger.add(&look, around * calls);
                    }
                    return Ok((sets, timed));
                }
                Finding::Undecided => {
                    self.pace.undecided += 1;
                    return Ok((sets, timed));
                }
                Finding::Again(pause) => tokio::time::sleep(pause).await,
                Finding::Dishonest(reason) => return Err(self.dishonest(case, reason)),
            }
        }
    }

    fn others_have_the_gpu(&self) -> bool {
        self.plane.monitor.is_shared()
    }

    async fn time(&mut self, case: usize, plan: &BurstPlan) -> Result<Timed, Stop> {
        let limit = self.plane.config.limits.call;
        let started = Instant::now();
        let timed: Timed = match self.child.time(&self.call, plan, limit).await {
            Ok(timed) => timed,
            Err(error) => return Err(self.blame_timing(case, error).await),
        };
        self.steps.note("time", started);
        let name = &self.plane.contract.cases[case].name;
        self.judge_observed(&timed.observed).map_err(|rejection| rejection.on_case(name))?;
        Ok(timed)
    }

    /// Of a contract with gradients. After the burst, whose time must be explained by its calls alone.
    async fn time_backward(
        &mut self,
        challenge: &Challenge<'_>,
        sets: usize,
    ) -> Result<Option<Vec<f64>>, Stop> {
        if self.plane.contract.grads.is_empty() {
            return Ok(None);
        }
        let (limit, plan) = (self.plane.config.limits.call, self.plan_for(challenge, sets));
        let started = Instant::now();
        let timed = match self.child.backward(&self.call, &plan, limit).await {
            Ok(timed) => timed,
            Err(error) => return Err(self.blame_timing(challenge.case, error).await),
        };
        self.steps.note("backward", started);
        let times = timed.device_us.unwrap_or_default();
        let sound = times.iter().all(|us| us.is_finite() && *us > 0.0);
        Ok((sound && !times.is_empty()).then_some(times))
    }

    /// What the burst takes without its calls, microseconds.
    async fn surroundings(&mut self, case: usize, plan: &BurstPlan) -> Result<f64, Stop> {
        let limit = self.plane.config.limits.call;
        let started = Instant::now();
        match self.child.pace(plan, limit).await {
            Ok(_) => Ok(micros(started.elapsed())),
            Err(error) => Err(self.blame_timing(case, error).await),
        }
    }

    /// Draws one of the kept answers, has it delivered and compared.
    async fn judge_one(&mut self, case: usize, sets: &[Value], timed: &Timed) -> Result<f64, Stop> {
        let calls = timed.device_us.len();
        let kept = timed
            .kept
            .iter()
            .filter(|kept| kept.call < calls && kept.call % sets.len() == kept.set);
        let kept: Vec<_> = kept.collect();
        if kept.is_empty() {
            let reason = "kept no answer of its timed calls";
            return Err(self.dishonest(case, reason.to_owned()));
        }
        let chosen = kept[rand::rng().random_range(0..kept.len())];
        let seed = sets[chosen.set].get("seed").and_then(Value::as_u64).unwrap_or_default();
        let landing = {
            let mut referee = self.plane.referee.lock().await;
            referee.landing(case, &self.plane.contract.cases[case], seed).await?
        };
        let limit = self.plane.config.limits.call;
        let delivered = self.child.deliver(chosen.call, &landing, &self.call, limit).await;
        let delivered = match delivered {
            Ok(delivered) => delivered,
            Err(error) => return Err(self.blame_timing(case, error).await),
        };
        let gradients = delivered.gradients.as_deref();
        let compared = self.compare(case, seed, &delivered.returned, gradients).await;
        compared.map_err(|stop| match stop {
            Stop::Rejected(mut rejection) => {
                rejection.reason = format!("timed call {}: {}", chosen.call + 1, rejection.reason);
                rejection.into()
            }
            fault @ Stop::Fault(_) => fault,
        })
    }

    async fn blame_timing(&mut self, case: usize, error: super::wire::WireError) -> Stop {
        let name = self.plane.contract.cases[case].name.clone();
        self.blame(Stage::Timing { case: &name }, error).await
    }

    fn dishonest(&self, case: usize, reason: String) -> Stop {
        let name = &self.plane.contract.cases[case].name;
        Rejection::new(Gate::Integrity, reason).on_case(name).into()
    }
}

impl Burst {
    /// The median of the calls, microseconds.
    pub(super) fn median_us(&self) -> Option<f64> {
        median(&self.device_us)
    }

    /// The quickest of the calls, microseconds.
    pub(super) fn quickest_us(&self) -> Option<f64> {
        self.device_us.iter().copied().min_by(f64::total_cmp)
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
