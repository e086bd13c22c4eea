//! Which kernels a pull request is about.

use std::collections::BTreeSet;

use super::order::{KernelOrder, Side};
use crate::{
    engine::project::{FILE_NAME, KernelEntry, Project},
    kernel::syntax::Source,
};

/// What is known of a pull request's files.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// `kernelbrain.toml` at both ends, where there is one.
    pub base_configuration: Option<String>,
    pub head_configuration: Option<String>,
    /// Paths that the diff touches, old names of renamed files included.
    pub touched: BTreeSet<String>,
    /// The text at the head of Python files that the diff touches, as far as they were looked at; only
    /// needed where nothing is configured.
    pub sources: Vec<(String, String)>,
}

/// Why there is nothing to search for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    #[error("the repository has no {FILE_NAME}")]
    NotConfigured { found: Vec<FoundKernel> },
    #[error("this pull request touches none of the kernels that {FILE_NAME} lists ({listed})")]
    NoneTouched { listed: String },
    #[error("{FILE_NAME} lists no kernel \"{name}\", only {listed}{}", did_you_mean(.meant))]
    Unknown { name: String, meant: Option<String>, listed: String },
    #[error("{FILE_NAME} at the pull request's {side} cannot be read: {error}")]
    BadConfiguration { side: &'static str, error: String },
}

fn did_you_mean(meant: &Option<String>) -> String {
    meant.as_ref().map_or_else(String::new, |meant| format!("; did you mean \"{meant}\"?"))
}

/// A file with kernels that no configuration lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundKernel {
    pub source: String,
    /// Its `@triton.jit` functions.
    pub kernels: Vec<String>,
}

/// The kernels to search: of the base branch's configuration, what the diff touches, or what is
/// named; of the head's only what this pull request adds.
pub fn choose(change: &Change, named: &[String]) -> Result<Vec<KernelOrder>, NoTarget> {
    let base = read(change.base_configuration.as_deref(), "base branch")?;
    // A configuration that the pull request breaks does not stop what the base branch lists.
    let head = match (&base, read(change.head_configuration.as_deref(), "head")) {
        (Some(_), Err(_)) => None,
        (_, head) => head?,
    };
    if base.is_none() && head.is_none() {
        return Err(NoTarget::NotConfigured { found: found(&change.sources) });
    }
    let listed = listed(base.as_ref(), head.as_ref());
    let names = || {
        let names: Vec<&str> = listed.iter().map(|(entry, _)| entry.name.as_str()).collect();
        names.join(", ")
    };
    if named.is_empty() {
        let chosen: Vec<_> =
            listed.iter().filter(|(entry, _)| is_touched(entry, &change.touched)).collect();
        if chosen.is_empty() {
            return Err(NoTarget::NoneTouched { listed: names() });
        }
        return Ok(chosen.into_iter().map(|(entry, side)| order(entry, *side, change)).collect());
    }
    let choice = named.iter().map(|name| {
        let found = listed.iter().find(|(entry, _)| entry.name == *name);
        found.map(|(entry, side)| order(entry, *side, change)).ok_or_else(|| NoTarget::Unknown {
            name: name.clone(),
            meant: nearest(name, listed.iter().map(|(entry, _)| entry.name.as_str())),
            listed: names(),
        })
    });
    choice.collect()
}

fn read(text: Option<&str>, side: &'static str) -> Result<Option<Project>, NoTarget> {
    let parsed = text.map(toml::from_str::<Project>).transpose();
    parsed.map_err(|error| {
        let begin = error.span().map_or(0, |span| span.start);
        let before = text.and_then(|text| text.get(..begin));
        let line = before.map(|before| before.matches('\n').count() + 1);
        let at = line.map_or_else(String::new, |line| format!("line {line}: "));
        NoTarget::BadConfiguration { side, error: format!("{at}{}", error.message()) }
    })
}

/// The base's kernels, then those that only the head lists.
fn listed<'p>(
    base: Option<&'p Project>,
    head: Option<&'p Project>,
) -> Vec<(&'p KernelEntry, Side)> {
    let of = |project: Option<&'p Project>| project.map_or(&[][..], |it| it.kernels.as_slice());
    let known: BTreeSet<&str> = of(base).iter().map(|entry| entry.name.as_str()).collect();
    let added = of(head).iter().filter(|entry| !known.contains(entry.name.as_str()));
    let base = of(base).iter().map(|entry| (entry, Side::Base));
    base.chain(added.map(|entry| (entry, Side::Head))).collect()
}

fn is_touched(entry: &KernelEntry, touched: &BTreeSet<String>) -> bool {
    let mut paths = std::iter::once(&entry.source).chain(&entry.depends);
    paths.any(|path| {
        let path = normal(&path.to_string_lossy());
        let folder = format!("{path}/");
        touched.iter().any(|file| *file == path || file.starts_with(&folder))
    })
}

/// A path as GitHub writes it.
fn normal(path: &str) -> String {
    path.trim_start_matches("./").trim_end_matches('/').to_owned()
}

fn order(entry: &KernelEntry, side: Side, change: &Change) -> KernelOrder {
    let mut notes = Vec::new();
    if side == Side::Head {
        notes.push(format!(
            "this pull request adds the kernel to {FILE_NAME}: its configuration and contract are the \
             pull request's own"
        ));
    } else {
        let contract = normal(&entry.test.to_string_lossy());
        if change.touched.iter().any(|file| belongs_to(file, &contract)) {
            notes.push(format!(
                "this pull request changes the contract ({contract}): the kernel was verified against \
                 the changed one, so read that change too"
            ));
        }
    }
    KernelOrder {
        name: entry.name.clone(),
        source: normal(&entry.source.to_string_lossy()),
        configured_by: side,
        notes,
    }
}

/// Whether `file` is the contract, lies in it, or is read with it.
fn belongs_to(file: &str, contract: &str) -> bool {
    const READ_WITH_IT: [&str; 3] = ["problem.py", "reference.py", "task.yml"];
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let beside = contract.rsplit_once('/').map_or("", |(folder, _)| folder);
    file == contract
        || file.strip_prefix(contract).is_some_and(|rest| rest.starts_with('/'))
        || folder == beside && READ_WITH_IT.contains(&name)
}

/// Files with kernels.
fn found(sources: &[(String, String)]) -> Vec<FoundKernel> {
    let kernels = |text: &str| -> Vec<String> {
        let Ok(source) = Source::parse(text) else { return Vec::new() };
        source.kernels().iter().map(|kernel| kernel.name().to_owned()).collect()
    };
    let found = sources
        .iter()
        .map(|(path, text)| FoundKernel { source: path.clone(), kernels: kernels(text) });
    found.filter(|found| !found.kernels.is_empty()).collect()
}

fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
    let rated = known.map(|known| (strsim::damerau_levenshtein(name, known), known));
    let near = rated.filter(|(distance, known)| *distance <= known.len().div_ceil(3)).min();
    near.map(|(_, known)| known.to_owned())
}

#[cfg(test)]
mod tests;
