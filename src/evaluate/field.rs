//! Who takes part in a verification, from the fork to the end of the last race.

use super::{
    judge::Stop,
    light::Sighting,
    plane::Plane,
    race::{Entrant, Opponents, Times, race},
    statistics::median,
    subject::Subject,
    tuning::Tuning,
    verify::VerifyPlan,
};
use crate::kernel::{Candidate, Gate};

/// Who races: each in a fresh process.
#[derive(Debug)]
pub(super) struct Field<'p> {
    plane: &'p Plane,
    pub(super) challenger: Subject<'p>,
    baseline: Subject<'p>,
    incumbent: Option<Subject<'p>>,
}

impl<'p> Field<'p> {
    pub(super) async fn assemble(
        plane: &'p Plane,
        candidate: &Candidate,
        baseline: &Candidate,
        plan: &VerifyPlan,
    ) -> Result<Self, Stop> {
        let challenger = Subject::start(plane, candidate, Tuning::Usual).await?;
        let baseline = match Subject::start(plane, baseline, Tuning::Usual).await {
            Ok(baseline) => baseline,
            Err(stop) => {
                challenger.end().await;
                return Err(stop);
            }
        };
        let incumbent = match &plan.incumbent {
            // It was the best, so that it starts; where it does not, the race goes on without it.
            Some(incumbent) => Subject::start(plane, incumbent, Tuning::Usual).await.ok(),
            None => None,
        };
        Ok(Self { plane, challenger, baseline, incumbent })
    }

    pub(super) async fn compile(&mut self, cases: &[usize], seed: u64) -> Result<(), Stop> {
        self.challenger.compile(cases, seed).await?;
        self.baseline.compile(cases, seed).await?;
        if let Some(incumbent) = &mut self.incumbent
            && incumbent.compile(cases, seed).await.is_err()
            && let Some(incumbent) = self.incumbent.take()
        {
            incumbent.end().await;
        }
        Ok(())
    }

    pub(super) async fn dismiss(self) {
        self.challenger.end().await;
        self.baseline.end().await;
        if let Some(incumbent) = self.incumbent {
            incumbent.end().await;
        }
    }

    /// Checks everybody on the seeds of the plan, so that who races is right as well. What is to be
    /// noted goes to `notes`.
    pub(super) async fn check(
        &mut self,
        case: usize,
        seeds: &[u64],
        notes: &mut Vec<String>,
    ) -> Result<(), Stop> {
        let name = &self.plane.contract.cases[case].name;
        for &seed in seeds {
            let Err(stop) = self.challenger.check(case, &[seed]).await else { continue };
            // A probe counts only where the baseline passes it on this device.
            let Stop::Rejected(rejection) = stop else { return Err(stop) };
            let counts =
                rejection.gate == Gate::Build || self.baseline.check(case, &[seed]).await.is_ok();
            if counts {
                return Err(rejection.into());
            }
            notes.push(format!("case {name}, seed {seed}: the baseline fails it as well"));
        }
        self.baseline.check(case, &seeds[..1]).await?;
        if let Some(incumbent) = &mut self.incumbent
            && incumbent.check(case, &seeds[..1]).await.is_err()
            && let Some(incumbent) = self.incumbent.take()
        {
            incumbent.end().await;
        }
        Ok(())
    }

    /// One race on a case on which everybody was checked with `seed`.
    pub(super) async fn race(
        &mut self,
        case: usize,
        seed: u64,
        plan: &VerifyPlan,
        notes: &mut Vec<String>,
    ) -> Result<Times, Stop> {
        let name = &self.plane.contract.cases[case].name;
        let opponents = Opponents {
            baseline: Some(&mut self.baseline),
            incumbent: self.incumbent.as_mut(),
            pytorch: plan.with_pytorch,
        };
        let entrant = Entrant { subject: &mut self.challenger, seed, case };
        let times = race(entrant, opponents, plan.timing, plan.rounds()).await?;
        notes.extend(times.failed.iter().map(|(lane, why)| format!("{lane}, case {name}: {why}")));
        notes.extend(disturbance_note(name, &times));
        let lanes = [(&self.baseline.id, &times.baseline), (&self.challenger.id, &times.candidate)];
        for (candidate, latency_us) in lanes.map(|(id, us)| (id, median(us))) {
            let Some(latency_us) = latency_us else { continue };
            let seen = Sighting { candidate, case, seed, latency_us, timing: plan.timing };
            self.plane.check_light(seen).await?;
        }
        Ok(times)
    }
}

/// What a reader must know of disturbed rounds.
pub(super) fn disturbance_note(case: &str, times: &Times) -> Option<String> {
    let why = times.disturbance.as_ref()?;
    let kept = match times.disturbed_kept {
        0 => String::new(),
        kept => format!(" and {kept} kept, since they did not end"),
    };
    Some(format!(
        "case {case}: {} disturbed rounds thrown away{kept}; the last time {why}",
        times.disturbed
    ))
}
