//! The policy gate: what a candidate's source may contain, decided over its syntax tree before
//! any of it runs.
//!
//! It is the cheapest gate and the first, not the only one. It refuses what has no place in a
//! faster kernel (the library doing the kernel's work, patched functions, files, processes,
//! tricks with names) and so keeps most games out; what text cannot show, such as whether the
//! entry really launches its kernels, later gates observe while it runs.
//!
//! Every rule yields *findings*, and a finding that the baseline shows too is no reason to
//! reject: a repository's own habits are the repository's business.

mod assignments;
mod builtins;
mod editable;
mod entry;
mod imports;
mod layers;
mod library;
mod names;
mod patterns;
mod receivers;
mod scopes;
mod statements;
mod text;

use std::collections::HashSet;

use crate::kernel::syntax::Source;
use crate::kernel::{Contract, Gate, Rejection, Target};
use names::Names;

/// What depends on the target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRules {
    /// Names of the callables that a candidate may define, the preferred one first. Empty when
    /// the entry lives in another file.
    pub entries: Vec<String>,
    /// Top-level symbols that may change; `None` for all.
    pub editable: Option<Vec<String>>,
    /// The package of an in-tree target: its modules may be imported.
    pub package: Option<String>,
    /// Whether gradients are compared too: then a function of autograd's may be defined.
    pub gradients: bool,
}

impl PolicyRules {
    /// The rules for candidates of `target` under `contract`.
    pub fn of(target: &Target, contract: &Contract) -> Self {
        let module = target.package.as_ref().map(|package| package.module.as_str());
        let elsewhere = target.entry.module.as_deref().is_some_and(|entry| Some(entry) != module);
        let entries = match &target.entry.function {
            _ if elsewhere => Vec::new(),
            // Of `Class.method` the class is what the file defines.
            Some(function) => function.split('.').next().map(str::to_owned).into_iter().collect(),
            None => contract.entries.clone(),
        };
        let root = module.and_then(|module| module.split('.').next());
        Self {
            entries,
            editable: target.editable.clone(),
            package: root.map(str::to_owned),
            gradients: !contract.grads.is_empty(),
        }
    }
}

/// Something in a source that the policy does not allow.
#[derive(Debug)]
struct Finding {
    /// What makes two findings the same, whatever the line: `torch.matmul`, `import os`.
    key: String,
    line: u32,
    message: String,
}

/// The gate for the candidates of one baseline: what that is and does is read once.
#[derive(Debug)]
pub struct PolicyGate {
    baseline: Source,
    /// The baseline without what an import does not reach, where there is such.
    reached: Option<Source>,
    /// Keys of the findings that the baseline shows itself.
    usual: HashSet<String>,
    rules: PolicyRules,
}

impl PolicyGate {
    /// # Errors
    /// What is left of `baseline` without its guarded blocks is no Python.
    pub fn new(baseline: Source, rules: PolicyRules) -> Result<Self, Rejection> {
        let reached = text::reached(&baseline)?;
        let names = Names::of_baseline(reached.as_ref().unwrap_or(&baseline));
        let usual = findings(&names, &rules).into_iter().map(|it| it.key).collect();
        Ok(Self { reached, usual, baseline, rules })
    }

    /// The baseline's source.
    pub(super) fn baseline(&self) -> &Source {
        &self.baseline
    }

    /// Checks the source text `candidate` against the policy.
    ///
    /// # Errors
    /// The first violation by line, as a rejection at [`Gate::Policy`].
    pub fn check(&self, candidate: &[u8]) -> Result<(), Rejection> {
        let source = text::read(candidate)?;
        let before = Names::of_baseline(&self.baseline);
        let names = Names::beside(&source, &before);
        if !before.kernels().is_empty() {
            require_kernel(&names)?;
        }
        entry::check(&before, &names, &self.rules.entries)?;
        if let Some(editable) = &self.rules.editable {
            editable::check(&before, &names, editable)?;
        }
        let mut new = match (&self.reached, text::reached(&source)?) {
            (None, None) => findings(&names, &self.rules),
            (reached_before, reached) => {
                let before = reached_before.as_ref().unwrap_or(&self.baseline);
                let reached = reached.as_ref().unwrap_or(&source);
                let before = Names::of_baseline(before);
                findings(&Names::beside(reached, &before), &self.rules)
            }
        };
        new.retain(|finding| !self.usual.contains(&finding.key));
        judge(new)
    }
}

/// Checks a source that stands for itself, with no baseline whose habits it may keep.
///
/// # Errors
/// The first violation by line, as a rejection at [`Gate::Policy`].
pub fn check_alone(candidate: &[u8]) -> Result<(), Rejection> {
    check_alone_by(candidate, &PolicyRules::default())
}

/// The same, where the contract gives rules.
///
/// # Errors
/// As of [`check_alone`].
pub fn check_alone_by(candidate: &[u8], rules: &PolicyRules) -> Result<(), Rejection> {
    let source = text::read(candidate)?;
    let reached = text::reached(&source)?;
    let names = Names::of(reached.as_ref().unwrap_or(&source));
    // What a file without kernels does instead says more than that it has none.
    judge(findings(&names, rules))?;
    require_kernel(&names)
}

fn require_kernel(names: &Names<'_>) -> Result<(), Rejection> {
    if names.kernels().is_empty() {
        return Err(reject(
            "no function is decorated with @triton.jit: the work must be done by a Triton kernel",
        ));
    }
    Ok(())
}

fn judge(mut new: Vec<Finding>) -> Result<(), Rejection> {
    // Stable: of several findings on one line, the rule that comes first explains it best.
    new.sort_by_key(|finding| finding.line);
    match new.into_iter().next() {
        None => Ok(()),
        Some(first) => Err(reject(first.message).at_line(Some(first.line))),
    }
}

fn findings(names: &Names<'_>, rules: &PolicyRules) -> Vec<Finding> {
    let mut found = Vec::new();
    imports::find(names, rules.package.as_deref(), &mut found);
    assignments::find(names, &mut found);
    builtins::find(names, &mut found);
    patterns::find(names, rules, &mut found);
    library::find(names, rules, &mut found);
    statements::find(names, &mut found);
    found
}

fn reject(reason: impl Into<String>) -> Rejection {
    Rejection::new(Gate::Policy, reason)
}

#[cfg(test)]
mod tests;
