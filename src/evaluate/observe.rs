//! What is found out about a candidate on the top rung besides its time, and what may still reject
//! it there: writing outside of what it allocates.

use std::sync::atomic::Ordering;

use serde::Deserialize;

use super::{
    blame::Stage,
    child::Launches,
    judge::{Fidelity, Stop},
    plane::Device,
    subject::Subject,
    wire::WireError,
};
use crate::kernel::{Gate, Observed, Rejection};

/// Calls whose answers are held against each other bit for bit.
const REPEATS: usize = 3;
/// The allocator takes memory in blocks; a child's word on it counts within one.
const BLOCK_BYTES: u64 = 64 << 20;

/// A child's answer to `observe` with `memory`.
#[derive(Clone, Copy, Debug, Deserialize)]
struct ExtraMemory {
    #[serde(default)]
    extra_bytes: Option<u64>,
}

/// A child's answer to `observe` with `bounds`.
#[derive(Clone, Debug, Deserialize)]
struct Bounds {
    allocations: u64,
    #[serde(default)]
    breach: Option<String>,
}

impl Subject<'_> {
    /// Observes calls on the cases of a rung; on the cpu, where a call may take seconds, on the
    /// first of them only.
    pub(super) async fn observe(&mut self, fidelity: &Fidelity) -> Result<Observed, Stop> {
        let cpu = self.plane().config.device == Device::Cpu;
        let cases = if cpu { &fidelity.cases[..1] } else { &fidelity.cases[..] };
        let seed = fidelity.seeds[0];
        let mut observed = Observed { first_call_ms: self.first_call_ms(), ..Observed::default() };
        let (mut guarded, mut breaches, mut unseen) = (0, Vec::new(), None);
        for &case in cases {
            let repeatable = self.repeats(case, seed).await?;
            observed.repeatable = Some(observed.repeatable.unwrap_or(true) && repeatable);
            observed.extra_memory_bytes =
                observed.extra_memory_bytes.max(self.extra_memory(case, seed).await?);
            match self.bounds(case, seed).await? {
                Ok(bounds) => {
                    guarded += bounds.allocations;
                    breaches.extend(bounds.breach.map(|breach| (case, breach)));
                }
                Err(reason) => unseen = Some(reason),
            }
        }
        let breach = breaches.into_iter().next();
        self.hold_against(breach.as_ref())?;
        observed.bounds = Some(match (breach, unseen) {
            (Some((_, evidence)), _) => evidence,
            (None, Some(reason)) => format!("not all calls could be checked: {reason}"),
            (None, None) => format!(
                "no write outside of tensors (red zones around shared buffers and {guarded} \
                 allocations)"
            ),
        });
        Ok(observed)
    }

    /// A breach rejects, except the baseline, and except those that only do what it does.
    fn hold_against(&self, breach: Option<&(usize, String)>) -> Result<(), Rejection> {
        let Some((case, evidence)) = breach else { return Ok(()) };
        if self.is_baseline() {
            self.plane().baseline_strays.store(true, Ordering::Relaxed);
        }
        if self.plane().baseline_strays.load(Ordering::Relaxed) {
            return Ok(());
        }
        let name = &self.plane().contract.cases[*case].name;
        Err(Rejection::new(Gate::Integrity, evidence.clone()).on_case(name))
    }

    /// Whether calls on the same inputs leave the same bits; the referee looks.
    async fn repeats(&mut self, case: usize, seed: u64) -> Result<bool, Stop> {
        let limit = self.plane().config.limits.call;
        let name = self.plane().contract.cases[case].name.clone();
        let (mut first, mut same) = (None, true);
        for _ in 0..REPEATS {
            let inputs = self.inputs(case, seed).await?;
            let ran = match self.child.run(&inputs, &self.call, Launches::Real, limit).await {
                Ok(ran) => ran,
                Err(error) => return Err(self.blame(Stage::Call { case: &name }, error).await),
            };
            // Other bits may be right as well, or not.
            self.compare(case, seed, &ran.returned, ran.gradients.as_deref()).await?;
            let sum = self.plane().referee.lock().await.checksum(case, &name).await?;
            same &= *first.get_or_insert_with(|| sum.clone()) == sum;
        }
        Ok(same)
    }

    /// The most that a call takes besides its inputs. The child says it; where that does not fit
    /// what the referee sees of the device, the referee's figure counts.
    async fn extra_memory(&mut self, case: usize, seed: u64) -> Result<Option<u64>, Stop> {
        if self.plane().config.device == Device::Cpu {
            return Ok(None);
        }
        let inputs = self.inputs(case, seed).await?;
        let Ok(_) = self.ask::<serde_json::Value>(case, &inputs, "rest").await? else {
            return Ok(None);
        };
        let before = self.plane().referee.lock().await.free_memory().await?;
        let Ok(said) = self.ask::<ExtraMemory>(case, &inputs, "memory").await? else {
            return Ok(None);
        };
        let after = self.plane().referee.lock().await.free_memory().await?;
        let taken = before.zip(after).map(|(before, after)| before.saturating_sub(after));
        Ok(match (said.extra_bytes, taken) {
            (Some(said), Some(taken)) if said.abs_diff(taken) > BLOCK_BYTES => Some(taken),
            (said, taken) => said.or(taken),
        })
    }

    async fn bounds(&mut self, case: usize, seed: u64) -> Result<Result<Bounds, String>, Stop> {
        let inputs = self.inputs(case, seed).await?;
        self.ask(case, &inputs, "bounds").await
    }

    /// A refusal is no fault of the candidate's: it may not work on what observing puts in place.
    async fn ask<T: serde::de::DeserializeOwned>(
        &mut self,
        case: usize,
        inputs: &serde_json::Value,
        what: &str,
    ) -> Result<Result<T, String>, Stop> {
        let limit = self.plane().config.limits.call;
        match self.child.observe(inputs, what, limit).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(WireError::Refused(remote)) => Ok(Err(remote.message.chars().take(200).collect())),
            Err(error) => {
                let name = self.plane().contract.cases[case].name.clone();
                Err(self.blame(Stage::Call { case: &name }, error).await)
            }
        }
    }
}
