//! The last word on a survivor: fresh processes, fresh seeds, every case, interleaved in one GPU
//! turn with the baseline, eager PyTorch and `torch.compile`.

use std::time::Instant;

use super::{
    course::Rounds,
    error::EvaluateError,
    field::Field,
    judge::Stop,
    plane::Plane,
    probes::ProofPlan,
    protocol::Timing,
    race::{Times, log_ratios},
    statistics::{median, noise_floor, weighted_ratio},
    supervision::Trial,
};
use crate::kernel::{
    Candidate, CaseComparison, Cost, Gate, Ratio, Rejection, Verdict, Verification,
};

/// What a verification consists of.
#[derive(Clone, Debug)]
pub struct VerifyPlan {
    /// Seeds that the search has not used.
    pub seeds: Vec<u64>,
    /// Calls of one round.
    pub timing: Timing,
    /// Most rounds of a case.
    pub rounds: u32,
    /// Rounds of a case that are made even when time runs out.
    pub least_rounds: u32,
    /// Rounds of a case after which its interval may end the race.
    pub decisive_rounds: u32,
    /// After these seconds a case gets no further rounds.
    pub case_seconds: f64,
    /// Whether eager PyTorch and `torch.compile` are timed as well.
    pub with_pytorch: bool,
    /// KernelOPT's γ: the least speedup over the baseline that counts (section 4.4; 1.03).
    pub gamma: f64,
    /// Accept a winner that is slower than the baseline on some case.
    pub allow_regression: bool,
    /// The best so far, to race against as well.
    pub incumbent: Option<Candidate>,
    /// What is proved before anything is timed.
    pub proof: Option<ProofPlan>,
}

/// Everything measured in a verification.
#[derive(Debug, Default)]
struct Measured {
    cases: Vec<Times>,
    notes: Vec<String>,
    gpu_seconds: f64,
}

impl Plane {
    /// Verifies `candidate` against `baseline` on every case of the contract.
    pub async fn verify(
        &self,
        candidate: &Candidate,
        baseline: &Candidate,
        plan: &VerifyPlan,
    ) -> Result<Verification, EvaluateError> {
        let started = Instant::now();
        let mut trial = Trial::begin(self).await;
        let (raced, mut measured) = loop {
            let mut measured = Measured::default();
            let raced = Box::pin(self.race(candidate, baseline, plan, &mut measured)).await;
            if let Some(settled) = trial.settle(raced).await {
                break (settled, measured);
            }
        };
        drop(trial);
        let mut verdict = match raced {
            Ok(()) => Verdict::Accepted,
            Err(Stop::Rejected(rejection)) => Verdict::Rejected(rejection),
            Err(Stop::Fault(error)) => return Err(error),
        };
        let comparisons = self.comparisons(&measured);
        let vs_baseline = self.overall(&measured.cases, |times| &times.baseline);
        if verdict == Verdict::Accepted
            && let Some(rejection) = performance(vs_baseline, &comparisons, plan)
        {
            verdict = Verdict::Rejected(rejection);
        }
        if verdict == Verdict::Accepted {
            match self.check_archs(candidate).await? {
                Ok(notes) => measured.notes.extend(notes),
                Err(rejection) => verdict = Verdict::Rejected(rejection),
            }
        }
        if verdict == Verdict::Accepted
            && let Some(outcome) = self.run_repository_tests(candidate).await?
        {
            match outcome {
                Ok(note) => measured.notes.push(note),
                Err(rejection) => verdict = Verdict::Rejected(rejection),
            }
        }
        Ok(Verification {
            candidate: candidate.id.clone(),
            verdict,
            comparisons,
            vs_baseline,
            vs_eager: self.overall(&measured.cases, |times| &times.eager),
            vs_compile: self.overall(&measured.cases, |times| &times.compile),
            cost: Cost {
                gpu_seconds: measured.gpu_seconds,
                wall_seconds: started.elapsed().as_secs_f64(),
            },
            notes: measured.notes,
            profiling: None,
            review: None,
        })
    }

    async fn race(
        &self,
        candidate: &Candidate,
        baseline: &Candidate,
        plan: &VerifyPlan,
        measured: &mut Measured,
    ) -> Result<(), Stop> {
        self.check_policy(candidate)?;
        if let Some(proof) = &plan.proof {
            let proof = self.prove(candidate, Some(baseline), &plan.seeds, proof).await?;
            measured.notes.extend(proof.notes);
            measured.gpu_seconds += proof.cost.gpu_seconds;
            if let Verdict::Rejected(rejection) = proof.verdict {
                return Err(rejection.into());
            }
        }
        let mut field = Field::assemble(self, candidate, baseline, plan).await?;
        let result = async {
            let cases: Vec<usize> = (0..self.contract.cases.len()).collect();
            field.compile(&cases, plan.seeds[0]).await?;
            let turn = self.turn.take().await;
            let mut result = Ok(());
            for case in cases {
                result = verify_case(&mut field, case, plan, measured).await;
                if result.is_err() {
                    break;
                }
            }
            measured.gpu_seconds += turn.seconds();
            result
        }
        .await;
        field.dismiss().await;
        result
    }

    fn comparisons(&self, measured: &Measured) -> Vec<CaseComparison> {
        let names = self.contract.cases.iter().map(|case| case.name.as_str());
        measured
            .cases
            .iter()
            .zip(names)
            .filter_map(|(times, case)| comparison(case, times))
            .collect()
    }

    /// The speedup over all cases; `None` unless every case has it.
    pub(super) fn overall(&self, raced: &[Times], other: fn(&Times) -> &Vec<f64>) -> Option<Ratio> {
        if raced.len() < self.contract.cases.len() {
            return None;
        }
        let per_case: Vec<Vec<f64>> = raced
            .iter()
            .map(|times| log_ratios(other(times), &times.candidate))
            .collect::<Option<_>>()?;
        let weights = self.contract.cases.iter().map(|case| case.weight);
        let cases: Vec<(&[f64], f64)> = per_case.iter().map(Vec::as_slice).zip(weights).collect();
        weighted_ratio(&cases)
    }
}

async fn verify_case(
    field: &mut Field<'_>,
    case: usize,
    plan: &VerifyPlan,
    measured: &mut Measured,
) -> Result<(), Stop> {
    field.check(case, &plan.seeds, &mut measured.notes).await?;
    if case == 0 {
        field.challenger.check_kernels_matter(case, plan.seeds[0]).await?;
    }
    let seed = plan.seeds[0];
    let times = field.race(case, seed, plan, &mut measured.notes).await?;
    if let Some(unconfirmed) = field.challenger.unconfirmed(case) {
        return Err(unconfirmed.into());
    }
    measured.cases.push(times);
    Ok(())
}

impl VerifyPlan {
    /// Whether a speedup is an improvement: γ reached, and the interval above 1.
    pub(super) fn claims(&self, speedup: &Ratio) -> bool {
        speedup.median >= self.gamma && speedup.low > 1.0
    }

    pub(super) fn rounds(&self) -> Rounds {
        Rounds {
            most: self.rounds,
            least: self.least_rounds,
            decisive: self.decisive_rounds,
            seconds: self.case_seconds,
            gamma: self.gamma,
            paired: true,
        }
    }
}

/// The lanes of a case side by side; `None` where the baseline was not timed.
pub(super) fn comparison(case: &str, times: &Times) -> Option<CaseComparison> {
    Some(CaseComparison {
        case: case.to_owned(),
        candidate_us: median(&times.candidate)?,
        baseline_us: median(&times.baseline)?,
        eager_us: median(&times.eager),
        compile_us: median(&times.compile),
        vs_baseline: times.speedup(&times.baseline)?,
        vs_eager: times.speedup(&times.eager),
        vs_compile: times.speedup(&times.compile),
        incumbent_us: median(&times.incumbent),
        vs_incumbent: times.speedup(&times.incumbent),
        disturbed: times.disturbed,
        noise: noise_floor(&times.baseline),
    })
}

/// The performance gate: γ reached, the interval above 1, and no case slower beyond noise.
fn performance(
    overall: Option<Ratio>,
    comparisons: &[CaseComparison],
    plan: &VerifyPlan,
) -> Option<Rejection> {
    let Some(overall) = overall else {
        return Some(Rejection::new(Gate::Performance, "not every case could be timed"));
    };
    if !plan.claims(&overall) {
        let reason = format!(
            "{:.3}x the baseline's speed (95 % interval {:.3} to {:.3}, {} rounds); \
             at least {:.2}x and an interval above 1 are asked for",
            overall.median, overall.low, overall.high, overall.rounds, plan.gamma
        );
        return Some(Rejection::new(Gate::Performance, reason));
    }
    if plan.allow_regression {
        return None;
    }
    let slower = comparisons.iter().find(|comparison| {
        let noise = comparison.noise.max(0.005);
        comparison.vs_baseline.high < 1.0 && comparison.vs_baseline.median.ln() < -2.0 * noise
    })?;
    let reason = format!(
        "slower than the baseline on this case: {:.3}x (95 % interval {:.3} to {:.3}), \
         {:.2} µs against {:.2} µs; --allow-regression accepts that",
        slower.vs_baseline.median,
        slower.vs_baseline.low,
        slower.vs_baseline.high,
        slower.candidate_us,
        slower.baseline_us
    );
    Some(Rejection::new(Gate::Performance, reason).on_case(&slower.case))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(median: f64, low: f64, high: f64) -> Ratio {
        Ratio { median, low, high, rounds: 15 }
    }

    fn plan() -> VerifyPlan {
        VerifyPlan {
            seeds: vec![1],
            timing: Timing { warmup: 1, repeat: 3, enough_us: 1_000_000, flush_bytes: 0 },
            rounds: 15,
            least_rounds: 5,
            decisive_rounds: 7,
            case_seconds: 10.0,
            with_pytorch: false,
            gamma: 1.03,
            allow_regression: false,
            incumbent: None,
            proof: None,
        }
    }

    fn case(vs_baseline: Ratio, noise: f64) -> CaseComparison {
        CaseComparison {
            case: "wide".into(),
            candidate_us: 110.0,
            baseline_us: 100.0,
            eager_us: None,
            compile_us: None,
            vs_baseline,
            vs_eager: None,
            vs_compile: None,
            incumbent_us: None,
            vs_incumbent: None,
            disturbed: 0,
            noise,
        }
    }

    #[test]
    fn a_gain_must_reach_gamma_with_its_interval_above_one() {
        assert_eq!(performance(Some(ratio(1.10, 1.08, 1.12)), &[], &plan()), None);
        for too_little in [ratio(1.02, 1.01, 1.03), ratio(1.20, 0.99, 1.50)] {
            let rejection = performance(Some(too_little), &[], &plan()).unwrap();
            assert_eq!(rejection.gate, Gate::Performance);
        }
        assert!(performance(None, &[], &plan()).is_some());
    }

    #[test]
    fn one_case_slower_beyond_noise_rejects_unless_it_is_allowed() {
        let overall = Some(ratio(1.5, 1.4, 1.6));
        let slower = [case(ratio(0.91, 0.90, 0.92), 0.002)];
        let rejection = performance(overall, &slower, &plan()).unwrap();
        assert_eq!(rejection.case.as_deref(), Some("wide"));
        let within_noise = [case(ratio(0.97, 0.96, 0.99), 0.03)];
        assert_eq!(performance(overall, &within_noise, &plan()), None);
        let allowed = VerifyPlan { allow_regression: true, ..plan() };
        assert_eq!(performance(overall, &slower, &allowed), None);
    }
}
