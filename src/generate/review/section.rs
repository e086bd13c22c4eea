//! The parts of a review's question, and which of them go first.

/// A part of the message; each is a template of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReviewSection {
    /// What the kernel must compute: cases and entry.
    Contract,
    /// The contract's own text, with the reference in PyTorch.
    Reference,
    /// The source as it stood.
    Baseline,
    /// The source under review.
    Winner,
    /// What changed between the two.
    Diff,
    /// Times and bounds of the cases.
    Measurements,
    /// What the GPU's counters say of the winner.
    Profile,
    /// The moves that led to it.
    Lineage,
}

impl ReviewSection {
    /// In the order of the message, which ends with the question.
    pub const ALL: [Self; 8] = [
        Self::Contract,
        Self::Reference,
        Self::Baseline,
        Self::Winner,
        Self::Diff,
        Self::Measurements,
        Self::Profile,
        Self::Lineage,
    ];

    /// What may be left out, the least useful first. Winner and diff together still hold the
    /// baseline, which is why it goes before the diff. Without reference, winner or times there
    /// is nothing to judge.
    pub const DROPPED_FIRST: [Self; 4] = [Self::Lineage, Self::Profile, Self::Baseline, Self::Diff];

    /// Its template.
    pub fn file(self) -> &'static str {
        match self {
            Self::Contract => "review_contract.md",
            Self::Reference => "review_reference.md",
            Self::Baseline => "review_baseline.md",
            Self::Winner => "review_winner.md",
            Self::Diff => "review_diff.md",
            Self::Measurements => "review_measurements.md",
            Self::Profile => "review_profile.md",
            Self::Lineage => "review_lineage.md",
        }
    }

    /// As the message calls it when it is left out.
    pub fn title(self) -> &'static str {
        match self {
            Self::Contract => "the contract",
            Self::Reference => "the text of the contract",
            Self::Baseline => "the baseline",
            Self::Winner => "the winner",
            Self::Diff => "what changed",
            Self::Measurements => "the measurements",
            Self::Profile => "the profile",
            Self::Lineage => "where it comes from",
        }
    }
}
