//! The parts of a prompt, and which of them go first.

use std::fmt;

/// A part of the user's message; each is a template of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// What the kernel must compute: cases, entry, symbols that may change.
    Contract,
    /// The contract's own text, with the reference in PyTorch.
    Reference,
    /// The source that is to be changed.
    Source,
    /// The GPU and its measured ceilings.
    Device,
    /// Times and headroom per case.
    Headroom,
    /// What holds the source back.
    Diagnosis,
    /// What was tried, and how it ended.
    Lineage,
    /// What helped on such kernels, and what did not.
    Experience,
    /// Recipe steps that apply.
    Recipes,
    /// What AGENTS.md and the like say about kernels.
    Guidance,
    /// The rules of the target.
    Rules,
    /// What to do.
    Task,
}

impl Section {
    /// In the order of the message.
    pub const ALL: [Self; 12] = [
        Self::Contract,
        Self::Reference,
        Self::Source,
        Self::Device,
        Self::Headroom,
        Self::Diagnosis,
        Self::Lineage,
        Self::Experience,
        Self::Recipes,
        Self::Guidance,
        Self::Rules,
        Self::Task,
    ];

    /// What may be left out, the least useful first. A rewrite can do without a list of small edits;
    /// experience of other kernels says less than this one's own history, and that less than its
    /// numbers. Contract, source, rules and task are never left out.
    pub const DROPPED_FIRST: [Self; 8] = [
        Self::Recipes,
        Self::Experience,
        Self::Guidance,
        Self::Lineage,
        Self::Device,
        Self::Headroom,
        Self::Reference,
        Self::Diagnosis,
    ];

    /// Its template.
    pub fn file(self) -> &'static str {
        match self {
            Self::Contract => "contract.md",
            Self::Reference => "reference.md",
            Self::Source => "source.md",
            Self::Device => "device.md",
            Self::Headroom => "headroom.md",
            Self::Diagnosis => "diagnosis.md",
            Self::Lineage => "lineage.md",
            Self::Experience => "experience.md",
            Self::Recipes => "recipes.md",
            Self::Guidance => "guidance.md",
            Self::Rules => "rules.md",
            Self::Task => "task.md",
        }
    }

    /// As the message calls it when it is left out.
    pub fn title(self) -> &'static str {
        match self {
            Self::Contract => "the contract",
            Self::Reference => "the text of the contract",
            Self::Source => "the source",
            Self::Device => "the GPU's ceilings",
            Self::Headroom => "times and headroom",
            Self::Diagnosis => "the diagnosis",
            Self::Lineage => "what was tried before",
            Self::Experience => "experience from other runs",
            Self::Recipes => "the recipe steps that apply",
            Self::Guidance => "the repository's guidance",
            Self::Rules => "the rules",
            Self::Task => "the task",
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
