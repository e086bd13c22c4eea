//! Experience: what a move did on a kind of kernel on a kind of GPU. Kept across runs.

use std::{collections::BTreeSet, time::SystemTime};

use serde::{Deserialize, Serialize};

use super::{Arch, CandidateId, Gate, Move};

/// A move helped if its parent takes at least so many times as long as the candidate (KernelOPT,
/// section 5: s₊). Less is within what a short measurement can tell.
pub const HELPFUL: f64 = 1.05;

/// A move is a warning if the candidate takes at least so many times as long as its parent
/// (KernelOPT, section 5: s₋). The threshold is the higher one because most moves that do not help
/// cost a little, and a list of these would teach nothing.
pub const HARMFUL: f64 = 1.20;

/// Where there is no GPU: Triton's interpreter.
const CPU: &str = "cpu";

/// The architecture as experience names it: `sm_90`, or `cpu` for Triton's interpreter.
pub fn arch_name(arch: Option<Arch>) -> String {
    arch.map_or_else(|| CPU.to_owned(), |arch| arch.to_string())
}

/// Why a move's candidate was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub gate: Gate,
    /// One line.
    pub reason: String,
}

/// What became of one candidate of one run, told without the names of its kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub run: String,
    pub candidate: CandidateId,
    /// Name of the target, for people.
    pub target: String,
    /// Fingerprint of the operator, `reduction+exponential/f16:2`.
    pub operator: String,
    /// `sm_90`, or `cpu`.
    pub arch: String,
    /// Version of Triton, `3.6.0`.
    pub triton: String,
    /// Never the baseline.
    #[serde(rename = "move")]
    pub origin: Move,
    /// The parent's speed over the baseline's; 1 for the baseline itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_speedup: Option<f64>,
    /// The candidate's speed over the baseline's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<f64>,
    /// The parent's time over the candidate's, weighted geometric mean over the cases that both
    /// were measured on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Of the time by which the parent exceeds its speed-of-light bound, the share that went;
    /// negative where the candidate is slower. Over the shared cases that have a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom_closed: Option<f64>,
    /// The gate that rejected it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// It was sent back to its author, and what came of that is an observation of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
    /// To the millisecond.
    #[serde(with = "rfc3339")]
    pub recorded: SystemTime,
}

impl Observation {
    /// What the move is counted as: an expert task by its name; a recipe by the set of its verbs
    /// (`recipe tile+warps`), because its names and values fit one kernel only.
    pub fn step(&self) -> String {
        match &self.origin {
            Move::Baseline => "baseline".to_owned(),
            Move::Rewrite { task, .. } => task.clone(),
            Move::Recipe { text } => {
                let steps = text.split([';', '\n']);
                let verbs: BTreeSet<&str> =
                    steps.filter_map(|step| step.split_whitespace().next()).collect();
                format!("recipe {}", verbs.into_iter().collect::<Vec<_>>().join("+"))
            }
        }
    }

    /// Whether it counts as a try of its move: it came to an end, and no repair of it did instead.
    pub fn is_try(&self) -> bool {
        !self.repaired && (self.failure.is_some() || self.gain.is_some())
    }

    /// The gain of a correct candidate that is faster than its parent beyond noise.
    pub fn success(&self) -> Option<f64> {
        self.gain.filter(|gain| self.failure.is_none() && *gain >= HELPFUL)
    }

    /// How many times as long as its parent a correct candidate takes, where that is a warning.
    pub fn slowdown(&self) -> Option<f64> {
        let slowdown = 1.0 / self.gain.filter(|_| self.failure.is_none())?;
        (slowdown >= HARMFUL).then_some(slowdown)
    }

    /// Refuses what this program would not have recorded: for observations from elsewhere.
    pub fn check(&self) -> Result<(), Unsound> {
        let Self { run, target, operator, arch, triton, .. } = self;
        for (field, text, most) in [
            ("run", run, NAME),
            ("candidate", &self.candidate.to_string(), NAME),
            ("target", target, NAME),
            ("operator", operator, NAME),
            ("arch", arch, NAME),
            ("triton", triton, NAME),
        ] {
            line(field, text, most)?;
        }
        if !self.candidate.as_str().bytes().all(|it| it.is_ascii_hexdigit()) {
            return Err(Unsound("candidate is no hexadecimal number".to_owned()));
        }
        for (field, text) in [("operator", operator), ("triton", triton)] {
            if text.contains(char::is_whitespace) {
                return Err(Unsound(format!("{field} {text:?} has blanks in it")));
            }
        }
        let known = arch == CPU || arch.parse::<Arch>().is_ok_and(|it| it.to_string() == *arch);
        if !known {
            return Err(Unsound(format!("arch {arch:?} is neither cpu nor like sm_90")));
        }
        match &self.origin {
            Move::Baseline => return Err(Unsound("the baseline is no move".to_owned())),
            Move::Rewrite { task, .. } => line("task", task, NAME)?,
            Move::Recipe { text } => {
                line("recipe", text, LINE)?;
                if text.split(';').all(|step| step.trim().is_empty()) {
                    return Err(Unsound("recipe has no verb".to_owned()));
                }
            }
        }
        if let Some(failure) = &self.failure {
            line("reason", &failure.reason, LINE)?;
        }
        for (field, value) in [
            ("parent_speedup", self.parent_speedup),
            ("speedup", self.speedup),
            ("gain", self.gain),
        ] {
            if value.is_some_and(|value| !(value.is_finite() && value > 0.0)) {
                return Err(Unsound(format!("{field} is not a positive number")));
            }
        }
        if self.headroom_closed.is_some_and(|share| !share.is_finite() || share > 2.0) {
            return Err(Unsound("headroom_closed is no share".to_owned()));
        }
        if self.failure.is_none() && self.speedup.is_none() {
            return Err(Unsound("it has neither a speedup nor a failure".to_owned()));
        }
        Ok(())
    }
}

/// Characters of a name, and of a recipe or a reason.
const NAME: usize = 200;
const LINE: usize = 4000;

fn line(field: &str, text: &str, most: usize) -> Result<(), Unsound> {
    if text.trim().is_empty() {
        return Err(Unsound(format!("{field} is empty")));
    }
    if text.chars().any(char::is_control) {
        return Err(Unsound(format!("{field} has control characters in it")));
    }
    if text.chars().nth(most).is_some() {
        return Err(Unsound(format!("{field} has more than {most} characters")));
    }
    Ok(())
}

/// What is wrong with an observation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsound(String);

/// A moment as RFC 3339 in UTC, to the millisecond.
mod rfc3339 {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        moment: &SystemTime,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_rfc3339_millis(*moment))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map_err(|_| {
            D::Error::custom(format!("{text:?} is no moment like 2026-11-29T13:45:01Z"))
        })
    }
}

#[cfg(test)]
mod tests;
