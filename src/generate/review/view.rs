//! What the templates of a review see.

use minijinja::{Value, context, value::Serde};
use similar::TextDiff;

use super::{MeasuredCase, ReviewInputs};
use crate::kernel::{KernelProfile, Profile, ReviewLabel};

/// Kernels of a profile that are listed.
const KERNELS: usize = 12;
/// Unchanged lines around a change.
const AROUND: usize = 3;

/// For the system text: nothing that depends on a target.
pub(super) fn system() -> Value {
    let name = |label: ReviewLabel| label.as_str();
    let labels = context! {
        no_issue => name(ReviewLabel::NoIssue),
        minor_issue => name(ReviewLabel::MinorIssue),
        pytorch_only => name(ReviewLabel::PytorchOnly),
        sol_ceiling => name(ReviewLabel::SolCeiling),
        inherited_gaming => name(ReviewLabel::InheritedGaming),
        original_gaming => name(ReviewLabel::OriginalGaming),
    };
    context! { labels }
}

/// For the sections of the message.
pub(super) fn user(inputs: &ReviewInputs) -> Value {
    let diff = TextDiff::from_lines(&*inputs.baseline, &*inputs.winner);
    context! {
        diff => diff.unified_diff().context_radius(AROUND).to_string(),
        measured => inputs.measured.iter().map(measured).collect::<Vec<_>>(),
        profile => inputs.profile.as_ref().map(profile),
        ..Value::from(Serde(inputs))
    }
}

fn measured(it: &MeasuredCase) -> Value {
    let limiter = it.bound.map(|bound| bound.limiter.to_string());
    let headroom = it.bound.and_then(|bound| bound.headroom(Some(it.winner_us)));
    let gain = Some(it.baseline_us / it.winner_us).filter(|gain| gain.is_finite());
    context! { limiter, headroom, gain, ..Value::from(Serde(it)) }
}

fn profile(profile: &Profile) -> Value {
    let kernels: Vec<Value> = profile.kernels.iter().take(KERNELS).map(kernel).collect();
    context! {
        case => &profile.case,
        amplification => profile.amplification(),
        more => profile.kernels.len().saturating_sub(KERNELS),
        kernels,
    }
}

fn kernel(kernel: &KernelProfile) -> Value {
    context! {
        name => &kernel.name,
        duration_us => kernel.duration_us,
        programs => kernel.launch.programs,
        dram_bytes => kernel.traffic.dram_bytes(),
        dram => kernel.throughput.dram,
        tensor => kernel.pipes.tensor,
    }
}
