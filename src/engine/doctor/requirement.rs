//! The pinned requirements, as far as they are needed to compare versions.

use std::cmp::Ordering;

/// The one file that pins the Python side.
const PINNED: &str = include_str!("../../evaluate/harness/requirements.txt");

/// A line such as `torch==2.11.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) package: String,
    operator: &'static str,
    version: String,
}

/// All requirements, in the file's order.
pub(super) fn pinned() -> Vec<Requirement> {
    PINNED.lines().filter_map(Requirement::read).collect()
}

impl Requirement {
    pub(super) fn read(line: &str) -> Option<Self> {
        let line = line.split('#').next()?.trim();
        let operator = ["==", ">=", "<=", "<", ">"].into_iter().find(|one| line.contains(one))?;
        let (package, version) = line.split_once(operator)?;
        Some(Self { package: package.trim().into(), operator, version: version.trim().into() })
    }

    /// Whether `version` fits; a local part (`+cu128`) does not count.
    pub(super) fn admits(&self, version: &str) -> bool {
        let order = compare(version, &self.version);
        match self.operator {
            "==" => order.is_eq(),
            ">=" => order.is_ge(),
            "<=" => order.is_le(),
            "<" => order.is_lt(),
            _ => order.is_gt(),
        }
    }

    /// As it stands in the file and as pip takes it.
    pub(super) fn text(&self) -> String {
        format!("{}{}{}", self.package, self.operator, self.version)
    }
}

/// Orders two versions by their release numbers: `2.4` is `2.4.0`, and `2.4.0rc1` is before it.
fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (release(a), release(b));
    let length = a.0.len().max(b.0.len());
    let number = |numbers: &[u64], index| numbers.get(index).copied().unwrap_or(0);
    (0..length)
        .map(|index| number(&a.0, index).cmp(&number(&b.0, index)))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| b.1.cmp(&a.1))
}

/// The release numbers, and whether it is a version before the release (`rc1`, `.dev0`).
fn release(version: &str) -> (Vec<u64>, bool) {
    let public = version.split('+').next().unwrap_or(version);
    let mut numbers = Vec::new();
    for part in public.split('.') {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        numbers.extend(digits.parse::<u64>());
        if digits.len() != part.len() {
            return (numbers, !part.starts_with("post"));
        }
    }
    (numbers, false)
}
