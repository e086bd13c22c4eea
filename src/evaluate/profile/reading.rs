//! From Nsight Compute's output to the kernels of a profile.

use super::{csv::Table, metrics};
use crate::kernel::KernelProfile;

/// What an output says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub kernels: Vec<KernelProfile>,
    /// It broke off, or a kernel in it has no duration.
    pub incomplete: bool,
    /// What the profiler complained about, if it did.
    pub trouble: Option<Trouble>,
}

/// Why the profiler says that it could not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// This user may not read the GPU's counters.
    NoPermission,
    /// In its own words.
    Other(String),
}

/// The code of a refusal is the same in every language.
const NO_PERMISSION: &str = "ERR_NVGPUCTRPERM";
/// C++ templates have names of pages.
const NAME_CHARACTERS: usize = 80;

/// Reads an output of any version, in any language, whole or broken off. Never fails: what cannot
/// be read is not there.
pub fn read(output: &[u8]) -> Reading {
    let text = String::from_utf8_lossy(output);
    let table = Table::read(&text);
    let rows = table.rows.len();
    let kernels: Vec<KernelProfile> = table
        .rows
        .into_iter()
        .filter_map(|row| {
            let kernel = metrics::kernel(shown_name(&row.kernel), &row.values)?;
            Some(KernelProfile { stream: row.stream.as_deref().map(shown_name), ..kernel })
        })
        .collect();
    let incomplete = table.broken_off || kernels.len() < rows;
    Reading { kernels, incomplete, trouble: trouble(&text) }
}

fn trouble(text: &str) -> Option<Trouble> {
    if text.contains(NO_PERMISSION) {
        return Some(Trouble::NoPermission);
    }
    let error = text.lines().find_map(|line| line.strip_prefix("==ERROR=="))?;
    let shown: String = error.trim().chars().filter(|c| !c.is_control()).take(300).collect();
    Some(Trouble::Other(shown))
}

/// Without the arguments of C++ templates and functions, which fill pages.
fn shown_name(name: &str) -> String {
    let name = name.trim().strip_prefix("void ").unwrap_or(name.trim());
    let end = name.find(['<', '(']).filter(|end| *end > 0).unwrap_or(name.len());
    name[..end].chars().filter(|c| !c.is_control()).take(NAME_CHARACTERS).collect()
}
