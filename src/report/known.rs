//! What is known of the winner besides its speed, as label and text.

use super::BestInfo;
use crate::kernel::{BuildFacts, Observed};

/// One line a fact; empty where nothing is known.
pub(super) fn facts(best: Option<&BestInfo>) -> Vec<(String, String)> {
    let Some(best) = best else { return Vec::new() };
    let mut facts: Vec<(String, String)> = best.build.iter().map(built).collect();
    facts.extend(best.observed.iter().flat_map(observed));
    facts
}

fn built(kernel: &BuildFacts) -> (String, String) {
    let BuildFacts { kernel, registers, spills, shared_bytes } = kernel;
    let spilled = match spills {
        0 => "no spills".to_owned(),
        words => format!("{words} words spilled"),
    };
    let shared = bytes(u64::from(*shared_bytes));
    (format!("kernel {kernel}"), format!("{registers} registers, {spilled}, {shared} shared"))
}

fn observed(observed: &Observed) -> Vec<(String, String)> {
    let Observed { first_call_ms, extra_memory_bytes, repeatable, bounds } = observed;
    let first = first_call_ms.map(|ms| format!("{:.2} s, compilation included", ms / 1e3));
    let repeated = repeatable.map(|same| match same {
        true => "repeated calls agree bit for bit".to_owned(),
        false => "repeated calls differ in their last bits".to_owned(),
    });
    let known = [
        ("first call", first),
        ("memory", extra_memory_bytes.map(|n| format!("{} besides the inputs", bytes(n)))),
        ("repeatability", repeated),
        ("bounds", bounds.clone()),
    ];
    known.into_iter().filter_map(|(label, text)| Some((label.to_owned(), text?))).collect()
}

/// A size as people read it.
fn bytes(count: u64) -> String {
    let units = ["KiB", "MiB", "GiB"];
    let mut size = count as f64 / 1024.0;
    if size < 1.0 {
        return format!("{count} B");
    }
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_known_is_said_and_nothing_else() {
        let mut best = BestInfo {
            id: "1a2b".into(),
            moves: Vec::new(),
            file: "best.py".into(),
            patch: "best.patch".into(),
            build: Vec::new(),
            observed: None,
        };
        assert!(facts(None).is_empty() && facts(Some(&best)).is_empty());
        best.build.push(BuildFacts {
            kernel: "_softmax".into(),
            registers: 40,
            spills: 0,
            shared_bytes: 33_792,
        });
        best.observed = Some(Observed {
            first_call_ms: Some(1240.0),
            extra_memory_bytes: Some(3 << 30),
            repeatable: Some(false),
            bounds: None,
        });
        let said: Vec<String> = facts(Some(&best))
            .into_iter()
            .map(|(label, text)| format!("{label}: {text}"))
            .collect();
        assert_eq!(
            said,
            [
                "kernel _softmax: 40 registers, no spills, 33.0 KiB shared",
                "first call: 1.24 s, compilation included",
                "memory: 3.0 GiB besides the inputs",
                "repeatability: repeated calls differ in their last bits",
            ]
        );
    }
}
