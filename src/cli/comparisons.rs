//! `kernelbrain bench a.py --test t.py --against b.py --comparisons 20`: how far a comparison can be
//! trusted.

use super::{CommandResult, common::printable};
use crate::{
    engine::{Compared, exit},
    evaluate::Repetition,
};

/// Exit status for kernels that could not be compared to the end.
const REJECTED: u8 = 1;

pub(super) fn show(compared: &Compared, json: bool) -> CommandResult {
    let found = &compared.repetitions;
    if json {
        let value = serde_json::json!({
            "schema": 1,
            "device": compared.device_name,
            "comparisons": found.list,
            "rejection": found.rejection,
            "notes": found.notes,
        });
        outln!("{value:#}");
    } else {
        outln!("on {}", printable(&compared.device_name));
        let mut rest = found.list.as_slice();
        while let Some(first) = rest.first() {
            let case = &first.comparison.case;
            let count = rest.iter().take_while(|other| other.comparison.case == *case).count();
            let (same, others) = rest.split_at(count);
            outln!("{}", summary(case, same));
            rest = others;
        }
        for note in &found.notes {
            outln!("note: {}", printable(note));
        }
    }
    let Some(rejection) = &found.rejection else { return Ok(exit::FINISHED) };
    if !json {
        outln!("rejected, {}", printable(&rejection.to_string()));
    }
    Ok(REJECTED)
}

/// A line for the comparisons of one case.
fn summary(case: &str, same: &[Repetition]) -> String {
    let mut ratios: Vec<f64> =
        same.iter().map(|repetition| repetition.comparison.vs_baseline.median).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let claims = same.iter().filter(|repetition| repetition.claimed).count();
    let middle = ratios[ratios.len() / 2];
    format!(
        "{:<20} {middle:.4}x in the middle of {} comparisons ({:.4} to {:.4}); {claims} would have \
         been claimed; {:.2} µs against {:.2} µs",
        printable(case),
        ratios.len(),
        ratios[0],
        ratios[ratios.len() - 1],
        same[0].comparison.candidate_us,
        same[0].comparison.baseline_us,
    )
}
