//! What templates see: the inputs by their names, and what is worked out from them.

use minijinja::{Value, context, value::Serde};

use super::{CaseStanding, PromptInputs, counters};
use crate::generate::answer::Metric;
use crate::generate::recipe::VERBS;
use crate::kernel::Diagnosis;

/// For the system text: nothing that depends on a target.
pub(super) fn system() -> Value {
    let verbs: Vec<Value> = VERBS
        .iter()
        .map(|verb| context! { syntax => verb.syntax(), summary => verb.summary() })
        .collect();
    let metrics: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
    context! { verbs, metrics }
}

/// For the sections of the user's message.
pub(super) fn user(inputs: &PromptInputs) -> Value {
    let products: Vec<Value> = inputs
        .device
        .iter()
        .flat_map(|device| &device.ceilings.products)
        .map(|(precision, tera)| context! { precision => precision.to_string(), tera })
        .collect();
    context! {
        products,
        standings => inputs.standings.iter().map(standing).collect::<Vec<_>>(),
        diagnosis => inputs.diagnosis.as_ref().map(diagnosis),
        counters => Serde(inputs.profile.as_ref().map(counters::of).unwrap_or_default()),
        ..Value::from(Serde(inputs))
    }
}

fn diagnosis(diagnosis: &Diagnosis) -> Value {
    let details = diagnosis.findings.iter().enumerate().map(|(at, finding)| {
        let detail = diagnosis.details.get(at);
        context! {
            finding,
            severity => detail.map(|it| it.severity * 100.0),
            kernel => detail.and_then(|it| it.kernel.as_deref()),
            figures => Serde(detail.map(|it| it.figures.as_slice()).unwrap_or_default()),
        }
    });
    context! {
        class => diagnosis.class.to_string(),
        details => details.collect::<Vec<_>>(),
        amplification => diagnosis.amplification,
    }
}

fn standing(it: &CaseStanding) -> Value {
    let limiter = it.bound.map(|bound| bound.limiter.to_string());
    let headroom = it.bound.and_then(|bound| bound.headroom(it.source_us));
    context! { limiter, headroom, ..Value::from(Serde(it)) }
}
