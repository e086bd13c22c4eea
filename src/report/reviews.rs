//! Reviews in words, the same in every format.

use super::{Report, ReviewRow, format};

/// One review as a reader sees it.
#[derive(Debug)]
pub(super) struct Reviewed<'r> {
    /// `reviewed by MODEL: no issue`, or what was withheld and why.
    pub(super) headline: String,
    pub(super) reasons: &'r [String],
    /// Whether the label withholds the candidate.
    pub(super) withheld: bool,
}

pub(super) fn of(report: &Report) -> Vec<Reviewed<'_>> {
    report.reviews.iter().map(reviewed).collect()
}

fn reviewed(row: &ReviewRow) -> Reviewed<'_> {
    let ReviewRow { candidate, review } = row;
    let withheld = review.label.withholds();
    let (finding, model) = (review.finding(), &review.model);
    let headline = match withheld {
        true => format!("candidate {} withheld by {model}: {finding}", format::short_id(candidate)),
        false => format!("reviewed by {model}: {finding}"),
    };
    Reviewed { headline, reasons: &review.reasons, withheld }
}
