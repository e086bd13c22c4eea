//! A candidate's GPU turn: what is done before it, and what is measured in it.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::SemaphorePermit;

use super::{
    blame::Stage,
    companion::Borrowed,
    judge::{Fidelity, Findings, Stop},
    light::Sighting,
    measure::{CaseSize, Measured},
    plane::Device,
    subject::Subject,
    turn::Turn,
    wire::WireError,
};
use crate::kernel::CaseMeasurement;

/// Work of a candidate goes through one hardware queue of the device where it only is ranked: the
/// context is made in half the time, and a dozen others wait for theirs. A kernel that keeps
/// several streams busy at once is underestimated there, and timed as it is above.
const SCREENING_QUEUES: u32 = 1;

/// In the interpreter, far more than what surrounds a call.
const LONG_INTERPRETED_CALL: Duration = Duration::from_millis(500);

impl<'p> Subject<'p> {
    pub(super) async fn measure(
        &mut self,
        fidelity: &Fidelity,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        let on_deck = self.stand_ready(fidelity).await?;
        let mut baseline = match fidelity.rounds {
            Some(rounds) if rounds.paired => {
                let seed = fidelity.seeds[0];
                self.plane.borrow_baseline(&self.id, &fidelity.cases, seed).await
            }
            _ => None,
        };
        let begun = Instant::now();
        // Before the turn, which others can use as long as somebody still stirs the driver.
        let quiet = if fidelity.quiet { Some(self.plane.driver.quiet().await) } else { None };
        let turn = self.plane.turn.take().await;
        if quiet.is_some() {
            self.plane.driver.settled().await;
        }
        self.steps.note("wait for the turn", begun);
        let begun = Instant::now();
        let result = self.measure_in_turn(fidelity, baseline.as_mut(), findings).await;
        // Nothing of this candidate may still run when the next one is timed.
        self.child.kill();
        self.ending = Some(self.plane.driver.ending());
        if let Some(baseline) = &mut baseline {
            baseline.rest().await;
        }
        findings.gpu_seconds = turn.seconds();
        self.steps.note("turn", begun);
        drop::<Turn>(turn);
        drop(quiet);
        drop(on_deck);
        if let Some(baseline) = baseline {
            baseline.put_back().await;
        }
        result
    }

    /// Does before the turn what takes the driver's locks, which those who create or end a context
    /// hold for long: context, buffers, memory, binaries. The permit bounds how many children hold
    /// memory at a time.
    async fn stand_ready(
        &mut self,
        fidelity: &Fidelity,
    ) -> Result<Option<SemaphorePermit<'p>>, Stop> {
        let plane = self.plane;
        let mut layouts = Vec::new();
        for &case in &fidelity.cases {
            layouts.push((case, plane.layout(case, fidelity.seeds[0]).await?));
        }
        let largest = layouts.iter().max_by_key(|(_, layout)| CaseSize::of(layout).outputs);
        let Some((_, mut layout)) = largest.cloned() else { return Ok(None) };
        layout["buffers"] = plane.openings.of_all(layouts);
        if plane.config.device == Device::Cpu {
            self.attach(&layout, None).await?;
            return Ok(None);
        }
        let begun = Instant::now();
        let door = plane.doors.acquire().await.ok();
        let stirring = plane.driver.stir().await;
        self.steps.note("wait for a door", begun);
        let begun = Instant::now();
        let queues = (!fidelity.quiet).then_some(SCREENING_QUEUES);
        self.attach(&layout, queues).await?;
        self.steps.note("attach", begun);
        // Whoever is on deck may wait for quiet.
        drop((door, stirring));
        let begun = Instant::now();
        let permit = plane.deck.acquire().await.ok();
        let stirring = plane.driver.stir().await;
        self.steps.note("wait for the deck", begun);
        let limit = plane.config.limits.call;
        let begun = Instant::now();
        let plan = self.plan_of(fidelity, &layout);
        let prepared = self.child.prepare(&layout, &plan, limit).await;
        self.steps.note("prepare", begun);
        drop(stirring);
        match prepared {
            // It is there to save time; what really fails fails again in the call.
            Ok(_) | Err(WireError::Refused(_)) => Ok(permit),
            Err(error) => Err(self.blame(Stage::Start, error).await),
        }
    }

    async fn measure_in_turn(
        &mut self,
        fidelity: &Fidelity,
        mut baseline: Option<&mut Borrowed<'_>>,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        for &case in &fidelity.cases {
            self.measure_case(case, fidelity, baseline.as_deref_mut(), findings).await?;
            if self.is_hopeless(case, fidelity, findings).await? {
                findings.ended_at = findings.cases.last().map(|it| it.case.clone());
                return Ok(());
            }
        }
        if fidelity.observe {
            findings.observed = Some(self.observe(fidelity).await?);
        }
        Ok(())
    }

    /// Whether the case that was measured last took so long that the others are left out. What is
    /// not far beyond the limit is looked at once more: it may have been disturbed.
    async fn is_hopeless(
        &mut self,
        case: usize,
        fidelity: &Fidelity,
        findings: &mut Findings,
    ) -> Result<bool, Stop> {
        let standards = &self.plane.standards;
        let Some((factor, measured)) = fidelity.hopeless_at.zip(findings.cases.last_mut()) else {
            return Ok(false);
        };
        if self.baseline || !standards.exceeded(measured, factor) {
            return Ok(false);
        }
        if self.plane.config.device != Device::Cpu && !standards.exceeded(measured, 1.5 * factor) {
            let again = self.look(case, fidelity.seeds[0], fidelity.timing).await?;
            measured.latency_us = measured.latency_us.min(again.latency_us);
        }
        Ok(standards.exceeded(measured, factor))
    }

    async fn measure_case(
        &mut self,
        case: usize,
        fidelity: &Fidelity,
        baseline: Option<&mut Borrowed<'_>>,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        let error = self.check(case, &fidelity.seeds).await?;
        let seed = fidelity.seeds[0];
        let measured = match (fidelity.rounds, self.seen_enough(case)) {
            (None, Some(seen)) => seen,
            (None, None) => self.look(case, seed, fidelity.timing).await?,
            (Some(rounds), _) => {
                self.run_rounds(case, seed, baseline, fidelity.timing, rounds).await?
            }
        };
        let error = error.max(measured.error);
        self.plane
            .check_light(Sighting {
                candidate: &self.id,
                case,
                seed,
                latency_us: measured.median_us,
                timing: fidelity.timing,
            })
            .await?;
        findings.disturbed += measured.disturbed;
        findings.cases.push(CaseMeasurement {
            case: self.plane.contract.cases[case].name.clone(),
            latency_us: measured.latency_us,
            baseline_us: measured.baseline_us,
            host_us: measured.host_us,
            backward_us: measured.backward_us,
            error: error.is_finite().then_some(error),
        });
        Ok(())
    }

    /// A call of the interpreter that took this long says about as much as another one would, and is
    /// most of what a candidate costs.
    fn seen_enough(&self, case: usize) -> Option<Measured> {
        let run = self.first_calls.get(&case)?.run?;
        let long = self.plane.config.device == Device::Cpu && run >= LONG_INTERPRETED_CALL;
        let name = &self.plane.contract.cases[case].name;
        let latency_us = self.plane.standards.by_first_call(name, run).filter(|_| long)?;
        Some(Measured::of_one_call(latency_us))
    }

    /// Creates the device context, opens the buffers of a case and warms up torch and Triton.
    async fn attach(&mut self, inputs: &Value, queues: Option<u32>) -> Result<(), Stop> {
        let limit = self.plane.config.limits.call;
        match self.child.attach(inputs, queues, limit).await {
            // Where sizes depend on the seed the buffers may be others by now, which is no fault of
            // the candidate's; what really fails fails again in the call.
            Ok(_) | Err(WireError::Refused(_)) => Ok(()),
            Err(error) => Err(self.blame(Stage::Start, error).await),
        }
    }
}
