//! What candidates are like.

use kernelbrain::{
    kernel::{
        BottleneckClass, CaseMeasurement, Cost, Diagnosis, Evaluation, Gate, Rejection, Verdict,
    },
    search::{Plan, ports::Job},
};

use super::{BASELINE, dice};

/// What candidates are like.
#[derive(Clone, Debug)]
pub(crate) struct Nature {
    pub(crate) seed: u64,
    /// Natural logarithm of the greatest and the least speedup of a candidate.
    pub(crate) gain: (f64, f64),
    /// Relative noise of a timing, a rung.
    pub(crate) noise: Vec<f64>,
    /// Share of candidates rejected at each rung.
    pub(crate) rejected: Vec<f64>,
    /// Whether the baseline fails its contract.
    pub(crate) broken_baseline: bool,
    /// Sources whose verification fails.
    pub(crate) refuted: Vec<String>,
    /// The gate that refutes them.
    pub(crate) refuted_by: Gate,
    /// Every verification fails.
    pub(crate) all_refuted: bool,
    /// Sources that end so are rejected by this gate.
    pub(crate) flawed: Option<(&'static str, Gate)>,
    /// The rung on which evaluations are profiled; their only finding is the source.
    pub(crate) profiled_on: Option<usize>,
    /// Costs of an evaluation on each rung, and of a verification last.
    pub(crate) seconds: Vec<f64>,
}

impl Default for Nature {
    fn default() -> Self {
        Self {
            seed: 1,
            gain: (-0.5, 0.9),
            noise: vec![0.05, 0.02, 0.005],
            rejected: vec![0.25, 0.1, 0.0],
            broken_baseline: false,
            refuted: Vec::new(),
            refuted_by: Gate::Performance,
            all_refuted: false,
            flawed: None,
            profiled_on: None,
            seconds: vec![0.1, 0.3, 1.0, 4.0],
        }
    }
}

impl Nature {
    fn dice(&self, of: &str, source: &str) -> f64 {
        dice(&format!("{} {of} {source}", self.seed))
    }

    /// How much faster `source` really is: natural logarithm of the speedup.
    pub(crate) fn true_gain(&self, source: &str) -> f64 {
        if source == BASELINE {
            return 0.0;
        }
        let (least, most) = self.gain;
        least + (most - least) * self.dice("gain", source)
    }

    pub(crate) fn rejection(&self, source: &str, rung: usize) -> Option<Rejection> {
        if source == BASELINE {
            return self
                .broken_baseline
                .then(|| Rejection::new(Gate::Correctness, "differs from the reference by 3.2"));
        }
        if let Some((end, gate)) = self.flawed.filter(|(end, _)| source.ends_with(end)) {
            return Some(Rejection::new(gate, format!("it ends with {end}")));
        }
        let unlucky = self.dice(&format!("rejected on {rung}"), source) < self.rejected[rung];
        let gate = match rung {
            0 if self.dice("gate", source) < 0.3 => Gate::Build,
            _ => Gate::Correctness,
        };
        unlucky.then(|| Rejection::new(gate, "as the dice fell"))
    }

    pub(crate) fn evaluate(&self, job: &Job, plan: &Plan) -> Evaluation {
        let source = &*job.candidate.source;
        let cases = plan.ladder.cases_for(job.rung, &plan.cases);
        let cases = cases.into_iter().map(|index| {
            let name = &plan.cases[index].name;
            let roll = self.dice(&format!("{name} on {}", job.rung), source) * 2.0 - 1.0;
            let noise = self.noise[job.rung] * roll;
            let latency_us = 1000.0 * (index + 1) as f64 * (noise - self.true_gain(source)).exp();
            CaseMeasurement {
                case: name.clone(),
                latency_us,
                baseline_us: None,
                host_us: None,
                backward_us: None,
                error: None,
            }
        });
        let rejection = self.rejection(source, job.rung);
        let seconds = self.seconds[job.rung];
        Evaluation {
            candidate: job.candidate.id.clone(),
            rung: job.rung,
            cases: if rejection.is_none() { cases.collect() } else { Vec::new() },
            verdict: rejection.map_or(Verdict::Accepted, Verdict::Rejected),
            build: Vec::new(),
            disturbed: 0,
            diagnosis: (self.profiled_on == Some(job.rung)).then(|| Diagnosis {
                class: BottleneckClass::Latency,
                findings: vec![source.to_owned()],
                suggestions: Vec::new(),
                details: Vec::new(),
                amplification: None,
            }),
            profiling: None,
            cost: Cost { gpu_seconds: seconds / 2.0, wall_seconds: seconds },
            same_program_as: None,
            observed: None,
            ended_at: None,
        }
    }
}
