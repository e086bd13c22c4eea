//! The ladder: fidelity levels from a quick look to everything.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::kernel::Case;

/// Which of a contract's cases a rung measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseSelection {
    /// The first `n`; the first case of a contract is its main one.
    First(usize),
    /// `n` spread evenly from the first to the last; all when there are no more than `n`.
    Spread(usize),
    /// Every case.
    All,
}

impl CaseSelection {
    /// Indices of the selected among `count` cases.
    fn indices(self, count: usize) -> BTreeSet<usize> {
        match self {
            Self::First(n) => (0..n.min(count)).collect(),
            Self::Spread(n) if n >= 2 && n < count => {
                (0..n).map(|step| step * (count - 1) / (n - 1)).collect()
            }
            Self::Spread(1) => (0..count.min(1)).collect(),
            Self::Spread(_) | Self::All => (0..count).collect(),
        }
    }
}

/// How long a case is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Launches before the first timed one.
    pub warmup: u32,
    /// Timed launches.
    pub repeat: u32,
}

/// A fidelity level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// Added to the cases of the rung below, so that every rung shares cases with those above.
    pub cases: CaseSelection,
    /// Seeds for which the answer is compared, per case.
    pub seeds: u32,
    pub timing: Timing,
    /// Share of the results on this rung that goes on, greater than 0 and at most 1. Without
    /// meaning on the top rung.
    #[serde(default = "keep_all")]
    pub keep: f64,
    /// Whether the profiler runs and a diagnosis is made.
    #[serde(default)]
    pub profile: bool,
}

fn keep_all() -> f64 {
    1.0
}

/// What is wrong with a ladder.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LadderError {
    #[error("the ladder has no rung; give at least one [[rung]]")]
    Empty,
    #[error("rung {rung}: `keep` is a share greater than 0 and at most 1, not {keep}")]
    Keep { rung: usize, keep: f64 },
    #[error("rung {rung}: `{field}` must be at least 1")]
    Zero { rung: usize, field: &'static str },
    #[error(
        "rung {rung} is the last and must measure every case (`cases = \"all\"`), because a \
         candidate that passes it is compared with the baseline on all of them"
    )]
    TopNotAll { rung: usize },
}

/// The rungs in order, valid: not empty, and the top one measures every case. In a
/// configuration file a list of `[[rung]]` tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RungTables", into = "RungTables")]
pub struct Ladder {
    rungs: Vec<Rung>,
}

/// The form of a ladder in a configuration file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RungTables {
    rung: Vec<Rung>,
}

impl TryFrom<RungTables> for Ladder {
    type Error = LadderError;

    fn try_from(tables: RungTables) -> Result<Self, LadderError> {
        Self::new(tables.rung)
    }
}

impl From<Ladder> for RungTables {
    fn from(ladder: Ladder) -> Self {
        Self { rung: ladder.rungs }
    }
}

impl Ladder {
    pub fn new(rungs: Vec<Rung>) -> Result<Self, LadderError> {
        for (index, rung) in rungs.iter().enumerate() {
            if !(rung.keep > 0.0 && rung.keep <= 1.0) {
                return Err(LadderError::Keep { rung: index, keep: rung.keep });
            }
            let nothing_selected =
                matches!(rung.cases, CaseSelection::First(0) | CaseSelection::Spread(0));
            for (zero, field) in [
                (nothing_selected, "cases"),
                (rung.seeds == 0, "seeds"),
                (rung.timing.repeat == 0, "timing.repeat"),
            ] {
                if zero {
                    return Err(LadderError::Zero { rung: index, field });
                }
            }
        }
        match rungs.last() {
            None => Err(LadderError::Empty),
            Some(top) if top.cases != CaseSelection::All => {
                Err(LadderError::TopNotAll { rung: rungs.len() - 1 })
            }
            Some(_) => Ok(Self { rungs }),
        }
    }

    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// Index of the top rung.
    pub fn top(&self) -> usize {
        self.rungs.len() - 1
    }

    /// Indices, ascending, of the `cases` that `rung` measures: its own selection and those of
    /// all rungs below it. A rung past the top measures what the top does.
    pub fn cases_for(&self, rung: usize, cases: &[Case]) -> Vec<usize> {
        let selected: BTreeSet<usize> = self
            .rungs
            .iter()
            .take(rung + 1)
            .flat_map(|rung| rung.cases.indices(cases.len()))
            .collect();
        selected.into_iter().collect()
    }
}

impl Default for Ladder {
    /// Three rungs: a quick look at up to six cases, the same ones beside the baseline, everything.
    /// A look at some cases ranks candidates as those do, which is not as all of them do: with four
    /// of five, Kendall's tau of a softmax was 0.7 for want of the fifth.
    fn default() -> Self {
        let third = 1.0 / 3.0;
        let rung = |cases, seeds, warmup, repeat, keep, profile| Rung {
            cases,
            seeds,
            timing: Timing { warmup, repeat },
            keep,
            profile,
        };
        Self {
            rungs: vec![
                rung(CaseSelection::Spread(6), 1, 3, 10, third, false),
                rung(CaseSelection::Spread(6), 2, 5, 30, third, false),
                rung(CaseSelection::All, 3, 10, 50, 1.0, true),
            ],
        }
    }
}
