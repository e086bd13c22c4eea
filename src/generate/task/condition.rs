//! When a task applies, and what speaks for it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Axis, Fact, Facts};
use crate::kernel::{Arch, Bottleneck, BottleneckClass, Case, Diagnosis};

/// What is known about a kernel that is to be rewritten.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    pub facts: Facts,
    pub cases: &'a [Case],
    /// Whether gradients are compared too.
    pub gradients: bool,
    /// Least bytes that each known case must move.
    pub case_bytes: &'a [u64],
    pub diagnosis: Option<&'a Diagnosis>,
    /// Largest over the cases: measured time over the speed-of-light bound.
    pub headroom: Option<f64>,
    pub arch: Option<Arch>,
}

/// The `when` of a task file.
///
/// Facts exclude: where one is known not to hold, the task makes no sense. What is not known counts
/// as holding. The diagnosis (`classes`, `bottlenecks`) only orders: what holds the parent back need
/// not hold back what a rewrite makes of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Condition {
    /// The source has all of these.
    pub has: Vec<Fact>,
    /// The source has none of these.
    pub lacks: Vec<Fact>,
    /// Some case has one of these as a `dtype`.
    pub dtypes: Vec<String>,
    /// This architecture or a newer one.
    pub arch: Option<Arch>,
    /// Gradients are compared, or the source computes some.
    pub gradients: bool,
    /// At least so many cases.
    pub cases: usize,
    /// Some case has an integer parameter at least, at most as large.
    pub extent_at_least: Option<i64>,
    pub extent_at_most: Option<i64>,
    /// Some case moves at most so many bytes.
    pub bytes_at_most: Option<u64>,
    /// Measured time over the bound, at least, on some case.
    pub headroom_at_least: Option<f64>,
    /// Classes of diagnosis that speak for the task; empty for any.
    pub classes: Vec<BottleneckClass>,
    /// Findings that speak for the task, whatever the class.
    pub bottlenecks: Vec<Bottleneck>,
}

/// What a diagnosis says about a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Evidence {
    /// There is no diagnosis, or the task does not ask for one.
    None,
    /// The class is another and none of the bottlenecks was found.
    Against,
    /// Greater than zero: shares of the time that are lost to what the task addresses, and one for a
    /// suggestion that stands first.
    For(f64),
}

impl Condition {
    /// Whether every fact that is asked for holds, as far as it is known.
    pub fn holds(&self, situation: &Situation<'_>) -> bool {
        let facts = &situation.facts;
        let extents = || situation.cases.iter().flat_map(extents);
        self.has.iter().all(|fact| facts.has(*fact))
            && !self.lacks.iter().any(|fact| facts.has(*fact))
            && self.dtype_fits(situation.cases)
            && self.arch.is_none_or(|least| situation.arch.is_none_or(|arch| arch >= least))
            && (!self.gradients || situation.gradients || facts.has(Fact::Gradient))
            && (situation.cases.is_empty() || situation.cases.len() >= self.cases)
            && self.extent_at_least.is_none_or(|least| any_or_unknown(extents(), |it| it >= least))
            && self.extent_at_most.is_none_or(|most| any_or_unknown(extents(), |it| it <= most))
            && self
                .headroom_at_least
                .is_none_or(|least| situation.headroom.is_none_or(|headroom| headroom >= least))
            && self.bytes_at_most.is_none_or(|most| {
                any_or_unknown(situation.case_bytes.iter().copied(), |it| it <= most)
            })
    }

    fn dtype_fits(&self, cases: &[Case]) -> bool {
        let dtypes = cases.iter().filter_map(|case| case.params.get("dtype")?.as_str());
        self.dtypes.is_empty()
            || any_or_unknown(dtypes, |dtype| self.dtypes.iter().any(|wanted| wanted == dtype))
    }

    pub(super) fn evidence(&self, axis: Axis, diagnosis: Option<&Diagnosis>) -> Evidence {
        let Some(diagnosis) = diagnosis else { return Evidence::None };
        let details = diagnosis.details.iter();
        let lost: f64 = details
            .filter(|finding| self.bottlenecks.contains(&finding.bottleneck))
            .map(|finding| finding.severity.clamp(0.0, 1.0))
            .sum();
        let mut suggestions = diagnosis.suggestions.iter();
        let rank = suggestions.position(|text| text.strip_prefix("task ") == Some(axis.name()));
        let suggested = rank.map_or(0.0, |rank| 1.0 / (1.0 + rank as f64));
        let class = self.classes.contains(&diagnosis.class);
        if lost + suggested > 0.0 {
            Evidence::For(lost + suggested + if class { CLASS } else { 0.0 })
        } else if class {
            Evidence::For(CLASS)
        } else if self.classes.is_empty() {
            Evidence::None
        } else {
            Evidence::Against
        }
    }
}

/// What a fitting class counts, in shares of lost time: it says less than a finding does.
const CLASS: f64 = 0.2;

fn any_or_unknown<T>(values: impl Iterator<Item = T>, holds: impl Fn(T) -> bool) -> bool {
    let mut known = false;
    for value in values {
        known = true;
        if holds(value) {
            return true;
        }
    }
    !known
}

fn extents(case: &Case) -> Vec<i64> {
    fn within(value: &Value, found: &mut Vec<i64>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| within(value, found)),
            other => found.extend(other.as_i64()),
        }
    }
    let mut found = Vec::new();
    case.params.values().for_each(|value| within(value, &mut found));
    found
}
