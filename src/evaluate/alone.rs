//! A kernel that has no baseline, raced against eager PyTorch and `torch.compile`: the same inputs
//! for all in every round, in one GPU turn.

use super::{
    course::Rounds,
    error::EvaluateError,
    field::disturbance_note,
    judge::Stop,
    plane::Plane,
    race::{Entrant, Opponents, Times, race},
    statistics::median,
    subject::Subject,
    tuning::Tuning,
    verify::VerifyPlan,
};
use crate::kernel::{Candidate, Ratio, Verdict};

/// What such a race found.
#[derive(Clone, Debug)]
pub struct AgainstPytorch {
    pub verdict: Verdict,
    pub cases: Vec<CaseAgainstPytorch>,
    /// Over all cases, weighted; absent unless every case has it.
    pub vs_eager: Option<Ratio>,
    pub vs_compile: Option<Ratio>,
    pub notes: Vec<String>,
}

/// One case of it.
#[derive(Clone, Debug)]
pub struct CaseAgainstPytorch {
    pub case: String,
    pub candidate_us: f64,
    pub eager_us: Option<f64>,
    pub compile_us: Option<f64>,
    pub vs_eager: Option<Ratio>,
    pub vs_compile: Option<Ratio>,
}

impl Plane {
    /// Times `candidate`, eager PyTorch and `torch.compile` in turn on every case. Speedups of the
    /// candidate come with an interval over rounds; nothing is asked of them.
    pub async fn race_pytorch(
        &self,
        candidate: &Candidate,
        plan: &VerifyPlan,
    ) -> Result<AgainstPytorch, EvaluateError> {
        let (mut raced, mut notes) = (Vec::new(), Vec::new());
        let verdict = match self.race_alone(candidate, plan, &mut raced, &mut notes).await {
            Ok(()) => Verdict::Accepted,
            Err(Stop::Rejected(rejection)) => Verdict::Rejected(rejection),
            Err(Stop::Fault(error)) => return Err(error),
        };
        let case = |(index, times): (usize, &Times)| {
            Some(CaseAgainstPytorch {
                case: self.contract.cases[index].name.clone(),
                candidate_us: median(&times.candidate)?,
                eager_us: median(&times.eager),
                compile_us: median(&times.compile),
                vs_eager: times.speedup(&times.eager),
                vs_compile: times.speedup(&times.compile),
            })
        };
        Ok(AgainstPytorch {
            verdict,
            cases: raced.iter().enumerate().filter_map(case).collect(),
            vs_eager: self.overall(&raced, |times| &times.eager),
            vs_compile: self.overall(&raced, |times| &times.compile),
            notes,
        })
    }

    async fn race_alone(
        &self,
        candidate: &Candidate,
        plan: &VerifyPlan,
        raced: &mut Vec<Times>,
        notes: &mut Vec<String>,
    ) -> Result<(), Stop> {
        let mut subject = Subject::start(self, candidate, Tuning::Usual).await?;
        let result = async {
            let cases: Vec<usize> = (0..self.contract.cases.len()).collect();
            subject.compile(&cases, plan.seeds[0]).await?;
            let turn = self.turn.take().await;
            let (seed, rounds) = (plan.seeds[0], Rounds { paired: false, ..plan.rounds() });
            for case in cases {
                subject.check(case, &[seed]).await?;
                let opponents = Opponents { pytorch: plan.with_pytorch, ..Opponents::default() };
                let entrant = Entrant { subject: &mut subject, seed, case };
                let times = race(entrant, opponents, plan.timing, rounds).await?;
                let name = &self.contract.cases[case].name;
                let failed = times.failed.iter();
                notes.extend(failed.map(|(lane, why)| format!("{lane}, case {name}: {why}")));
                notes.extend(disturbance_note(name, &times));
                raced.push(times);
            }
            drop(turn);
            Ok(())
        }
        .await;
        subject.end().await;
        result
    }
}
