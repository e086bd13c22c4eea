//! The ladder as a chart that GitHub draws.

use std::fmt::Write;

use crate::report::RungRow;

/// A mermaid flowchart: what entered each rung, what went up, what did not. Numbers only.
pub(super) fn mermaid(rungs: &[RungRow]) -> String {
    let mut chart = String::from("flowchart LR\n");
    for (at, rung) in rungs.iter().enumerate() {
        let RungRow { index, entered, rejected, promoted, .. } = rung;
        let stayed = entered.saturating_sub(rejected + promoted);
        let _ = writeln!(chart, "  r{at}[\"rung {index}: {entered} entered\"]");
        let up = if at + 1 < rungs.len() { format!("r{}", at + 1) } else { "verified".to_owned() };
        let _ = writeln!(chart, "  r{at} -->|\"{promoted} promoted\"| {up}");
        if rejected + stayed > 0 {
            let _ = writeln!(
                chart,
                "  r{at} -.-> x{at}[/\"{rejected} rejected, {stayed} not promoted\"/]"
            );
        }
    }
    let _ = writeln!(chart, "  verified([\"verification on fresh seeds\"])");
    chart
}
