//! The last gate of a winner, where a run has one: a second language model's opinion.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{facts::contract_text, run_plan::RunPlan};
use crate::{
    generate::{
        conversation::Usage,
        prompt::PromptError,
        provider::{Provider, price::Price},
        review::{MeasuredCase, ReviewInputs, ReviewPrompter, Reviewed, review},
    },
    kernel::{
        Bound, Candidate, CaseComparison, Contract, Gate, Profile, Profiling, Rejection, Review,
        Target, Verdict, Verification,
    },
};

/// What a reviewer is told of every winner of a run.
#[derive(Clone, Debug)]
pub struct ReviewFacts {
    pub target: Target,
    pub contract: Contract,
    /// The contract's own text, where it can be read.
    pub reference: Option<String>,
    /// Speed-of-light bounds of the cases, in the contract's order.
    pub bounds: Vec<Option<Bound>>,
    /// Name of the device.
    pub device: Option<String>,
    pub baseline: Candidate,
}

impl ReviewFacts {
    /// Of a run on `device`. Reads the contract's file.
    pub fn of_run(plan: &RunPlan, target: &Target, device: &str) -> Self {
        Self {
            contract: plan.contract.clone(),
            reference: contract_text(&target.contract),
            bounds: plan.bounds.clone(),
            device: Some(device.to_owned()),
            baseline: Candidate::baseline(target.text.clone()),
            target: target.clone(),
        }
    }
}

/// Tokens of a question, estimated; enough for two files of a thousand lines and what belongs to them.
const BUDGET: usize = 60_000;

/// Reviews the winners of a run.
#[derive(Debug)]
pub struct Reviewer {
    provider: Arc<dyn Provider>,
    prompter: ReviewPrompter,
    facts: ReviewFacts,
    price: Option<Price>,
}

/// How long a reviewer may take: it is asked when the search is over, and its opinion is one more,
/// not the proof.
const PATIENCE: Duration = Duration::from_secs(180);

impl Reviewer {
    /// With a user's templates from the folder `templates`, where there is one.
    ///
    /// # Errors
    /// A template cannot be read.
    pub fn new(
        provider: Arc<dyn Provider>,
        facts: ReviewFacts,
        templates: Option<&Path>,
    ) -> Result<Self, PromptError> {
        let prompter = templates.map_or_else(ReviewPrompter::new, ReviewPrompter::with_folder)?;
        Ok(Self { provider, prompter, facts, price: None })
    }

    /// At a price.
    #[must_use]
    pub fn at(mut self, price: Option<Price>) -> Self {
        self.price = price;
        self
    }

    /// Adds a review to the `verification` of a candidate that has passed every other gate, and turns
    /// it into a rejection where the label withholds the result. `profile` is the candidate's, unless
    /// the verification has one.
    ///
    /// Where there is no review the verification stays what it is, with a note that says so: the
    /// gates rest on measurements, and nobody's silence refutes them.
    pub async fn judge(
        &self,
        candidate: &Candidate,
        profile: Option<Profile>,
        verification: &mut Verification,
    ) {
        if !verification.accepted() {
            return;
        }
        let begun = Instant::now();
        let inputs = self.inputs(candidate, profile, verification);
        let asked = review(&*self.provider, &self.prompter, &inputs, BUDGET);
        let Ok(answered) = tokio::time::timeout(PATIENCE, asked).await else {
            let seconds = PATIENCE.as_secs();
            let note = format!("not reviewed: {} said nothing for {seconds} s", self.name());
            verification.notes.push(note);
            verification.cost.wall_seconds += begun.elapsed().as_secs_f64();
            return;
        };
        match answered {
            Ok(Reviewed::Done(mut review)) => {
                let usage = Usage {
                    input: review.input_tokens,
                    cached_input: 0,
                    output: review.output_tokens,
                };
                review.usd = self.price.map_or(0.0, |price| price.cost(&usage));
                if review.label.withholds() {
                    verification.verdict = Verdict::Rejected(rejection(&review));
                }
                verification.review = Some(review);
            }
            Ok(Reviewed::Awaited(id)) => verification.notes.push(format!(
                "not reviewed: {} has not answered conversation {id} yet",
                self.name()
            )),
            Err(error) => verification.notes.push(format!("not reviewed: {error}")),
        }
        verification.cost.wall_seconds += begun.elapsed().as_secs_f64();
    }

    fn name(&self) -> String {
        format!("{}:{}", self.provider.name(), self.provider.model())
    }

    fn inputs(
        &self,
        candidate: &Candidate,
        profile: Option<Profile>,
        verification: &Verification,
    ) -> ReviewInputs {
        let ReviewFacts { target, contract, reference, device, baseline, .. } = &self.facts;
        let file = target
            .source
            .file_name()
            .map_or_else(|| target.name.clone(), |name| name.to_string_lossy().into_owned());
        let profiled = verification.profiling.as_ref().and_then(Profiling::profile);
        ReviewInputs {
            target: target.name.clone(),
            file,
            entry: target.entry.function.clone().or_else(|| contract.entries.first().cloned()),
            device: device.clone(),
            contract: contract.clone(),
            reference: reference.clone(),
            baseline: baseline.source.clone(),
            winner: candidate.source.clone(),
            measured: verification.comparisons.iter().map(|it| self.measured(it)).collect(),
            lineage: lineage(candidate, baseline),
            profile: profiled.cloned().or(profile),
        }
    }

    fn measured(&self, compared: &CaseComparison) -> MeasuredCase {
        let cases = &self.facts.contract.cases;
        let at = cases.iter().position(|case| case.name == compared.case);
        MeasuredCase {
            case: compared.case.clone(),
            baseline_us: compared.baseline_us,
            winner_us: compared.candidate_us,
            eager_us: compared.eager_us,
            compile_us: compared.compile_us,
            bound: at.and_then(|at| self.facts.bounds.get(at).copied().flatten()),
        }
    }
}

/// The way to `candidate` as far as it tells itself: its own move, and whether others came before.
fn lineage(candidate: &Candidate, baseline: &Candidate) -> Vec<String> {
    let direct = candidate.parent.as_ref().is_none_or(|parent| *parent == baseline.id);
    let earlier = (!direct).then(|| "earlier moves".to_owned());
    earlier.into_iter().chain([candidate.origin.to_string()]).collect()
}

fn rejection(review: &Review) -> Rejection {
    let reasons = match &*review.reasons.join(" ") {
        "" => "it gave no reason".to_owned(),
        reasons => reasons.to_owned(),
    };
    let reason = format!("{} labels it {}: {reasons}", review.model, review.finding());
    Rejection::new(Gate::Integrity, reason)
}

#[cfg(test)]
mod tests;
