//! The last word on a survivor: fresh processes, fresh seeds, every case, interleaved in one GPU
//! turn with the baseline, eager PyTorch and `torch.compile`.

use std::time::Instant;

use super::{
    error::EvaluateError,
    judge::Stop,
    plane::Plane,
    protocol::Timing,
    statistics::{median, noise_floor, ratio},
    subject::Subject,
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
    /// After these seconds a case gets no further rounds.
    pub case_seconds: f64,
    /// Whether eager PyTorch and `torch.compile` are timed as well.
    pub with_pytorch: bool,
    /// KernelOPT's γ: the least speedup over the baseline that counts (section 4.4; 1.03).
    pub gamma: f64,
    /// Accept a winner that is slower than the baseline on some case.
    pub allow_regression: bool,
}

/// Times of one case, a value a round, microseconds.
#[derive(Debug, Default)]
struct Rounds {
    candidate: Vec<f64>,
    baseline: Vec<f64>,
    eager: Vec<f64>,
    compile: Vec<f64>,
}

/// Everything measured in a verification.
#[derive(Debug, Default)]
struct Measured {
    cases: Vec<Rounds>,
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
        let mut measured = Measured::default();
        let mut verdict = match self.race(candidate, baseline, plan, &mut measured).await {
            Ok(()) => Verdict::Accepted,
            Err(Stop::Rejected(rejection)) => Verdict::Rejected(rejection),
            Err(Stop::Fault(error)) => return Err(error),
        };
        let comparisons = self.comparisons(&measured);
        let vs_baseline = self.overall(&measured, |rounds| &rounds.baseline);
        if verdict == Verdict::Accepted
            && let Some(rejection) = performance(vs_baseline, &comparisons, plan)
        {
            verdict = Verdict::Rejected(rejection);
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
            vs_eager: self.overall(&measured, |rounds| &rounds.eager),
            vs_compile: self.overall(&measured, |rounds| &rounds.compile),
            cost: Cost {
                gpu_seconds: measured.gpu_seconds,
                wall_seconds: started.elapsed().as_secs_f64(),
            },
            notes: measured.notes,
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
        let mut challenger = Subject::start(self, candidate).await?;
        let mut incumbent = match Subject::start(self, baseline).await {
            Ok(incumbent) => incumbent,
            Err(stop) => {
                challenger.end().await;
                return Err(stop);
            }
        };
        let cases: Vec<usize> = (0..self.contract.cases.len()).collect();
        let result = async {
            challenger.compile(&cases, plan.seeds[0]).await?;
            incumbent.compile(&cases, plan.seeds[0]).await?;
            let turn = self.turn.take().await;
            let mut result = Ok(());
            for &case in &cases {
                result =
                    self.race_case(case, &mut challenger, &mut incumbent, plan, measured).await;
                if result.is_err() {
                    break;
                }
            }
            measured.gpu_seconds = turn.seconds();
            result
        }
        .await;
        challenger.end().await;
        incumbent.end().await;
        result
    }

    async fn race_case(
        &self,
        case: usize,
        challenger: &mut Subject<'_>,
        incumbent: &mut Subject<'_>,
        plan: &VerifyPlan,
        measured: &mut Measured,
    ) -> Result<(), Stop> {
        for &seed in &plan.seeds {
            let Err(stop) = challenger.check(case, &[seed]).await else { continue };
            // A probe counts only where the baseline passes it on this device.
            let Stop::Rejected(rejection) = stop else { return Err(stop) };
            if rejection.gate == Gate::Build || incumbent.check(case, &[seed]).await.is_ok() {
                return Err(rejection.into());
            }
            let name = &self.contract.cases[case].name;
            measured.notes.push(format!("case {name}, seed {seed}: the baseline fails it as well"));
        }
        // One compared burst each, so that what is timed is right as well, and warm.
        let seed = plan.seeds[0];
        challenger.time(case, seed, plan.timing).await?;
        incumbent.check(case, &[seed]).await?;
        if case == 0 {
            challenger.check_kernels_matter(case, seed).await?;
        }

        let mut rounds = Rounds::default();
        let mut with_compile = plan.with_pytorch;
        let started = Instant::now();
        for round in 0..plan.rounds {
            if round >= plan.least_rounds && started.elapsed().as_secs_f64() > plan.case_seconds {
                break;
            }
            // New values for every round, the same ones for everybody in it.
            let round_seed = seed.wrapping_add(u64::from(round)) & 0xffff_ffff;
            let (candidate, _) = challenger.time(case, round_seed, plan.timing).await?;
            let inputs = challenger.inputs(case, round_seed).await?;
            let baseline = incumbent.burst(case, &inputs, plan.timing).await?;
            push(&mut rounds.candidate, &candidate.device_us);
            push(&mut rounds.baseline, &baseline.device_us);
            if !plan.with_pytorch {
                continue;
            }
            let mut referee = self.referee.lock().await;
            let parameters = &self.contract.cases[case];
            let eager = referee.time(case, parameters, seed, "eager", plan.timing).await?;
            push(&mut rounds.eager, &eager.device_us);
            if with_compile {
                match referee.time(case, parameters, seed, "compile", plan.timing).await {
                    Ok(timed) => push(&mut rounds.compile, &timed.device_us),
                    Err(error) => {
                        // It is there to compare with, not to be proved.
                        with_compile = false;
                        let name = &parameters.name;
                        measured.notes.push(format!("torch.compile, case {name}: {error}"));
                    }
                }
            }
        }
        measured.cases.push(rounds);
        Ok(())
    }

    fn comparisons(&self, measured: &Measured) -> Vec<CaseComparison> {
        let compare = |(index, rounds): (usize, &Rounds)| {
            Some(CaseComparison {
                case: self.contract.cases[index].name.clone(),
                candidate_us: median(&rounds.candidate)?,
                baseline_us: median(&rounds.baseline)?,
                eager_us: median(&rounds.eager),
                compile_us: median(&rounds.compile),
                vs_baseline: ratio(&log_ratios(&rounds.baseline, &rounds.candidate)?)?,
                vs_eager: log_ratios(&rounds.eager, &rounds.candidate).and_then(|r| ratio(&r)),
                vs_compile: log_ratios(&rounds.compile, &rounds.candidate).and_then(|r| ratio(&r)),
                noise: noise_floor(&rounds.baseline),
            })
        };
        measured.cases.iter().enumerate().filter_map(compare).collect()
    }

    /// The speedup over all cases: in each round the weighted mean of the cases' log ratios.
    /// `None` unless every case has it.
    fn overall(&self, measured: &Measured, other: fn(&Rounds) -> &Vec<f64>) -> Option<Ratio> {
        if measured.cases.len() < self.contract.cases.len() {
            return None;
        }
        let per_case: Vec<Vec<f64>> = measured
            .cases
            .iter()
            .map(|rounds| log_ratios(other(rounds), &rounds.candidate))
            .collect::<Option<_>>()?;
        let rounds = per_case.iter().map(Vec::len).min()?;
        let weights: Vec<f64> = self.contract.cases.iter().map(|case| case.weight).collect();
        let total: f64 = weights.iter().sum();
        let means: Vec<f64> = (0..rounds)
            .map(|round| {
                let sum: f64 = per_case.iter().zip(&weights).map(|(r, w)| r[round] * w).sum();
                sum / total
            })
            .collect();
        ratio(&means)
    }
}

fn push(times: &mut Vec<f64>, burst: &[f64]) {
    times.extend(median(burst));
}

/// Round by round; `None` unless both were timed in every round.
fn log_ratios(other: &[f64], candidate: &[f64]) -> Option<Vec<f64>> {
    let whole = !other.is_empty() && other.len() == candidate.len();
    whole.then(|| other.iter().zip(candidate).map(|(o, c)| (o / c).ln()).collect())
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
    if overall.median < plan.gamma || overall.low <= 1.0 {
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
            case_seconds: 10.0,
            with_pytorch: false,
            gamma: 1.03,
            allow_regression: false,
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
