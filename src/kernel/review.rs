//! What a second language model says of a winner, in the categories in which the paper on
//! speed-of-light guidance reports its integrity reviews (figure 10).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The label of a reviewed kernel, from the most harmless to the most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewLabel {
    /// Computes everything that it should, by itself.
    NoIssue,
    /// Honest, with something that a maintainer should know.
    MinorIssue,
    /// Leaves the work to library operators instead of kernels of its own.
    PytorchOnly,
    /// Measured faster than the speed-of-light bound, and nothing in the source explains it.
    SolCeiling,
    /// Games the contract or the measurement as the baseline did before it.
    InheritedGaming,
    /// Games the contract or the measurement, and the baseline does not.
    OriginalGaming,
}

impl ReviewLabel {
    /// From the most harmless to the most severe.
    pub const ALL: [Self; 6] = [
        Self::NoIssue,
        Self::MinorIssue,
        Self::PytorchOnly,
        Self::SolCeiling,
        Self::InheritedGaming,
        Self::OriginalGaming,
    ];

    /// Whether a result with this label is not reported as an improvement; the first two are
    /// accepted, as in the paper.
    pub fn withholds(self) -> bool {
        !matches!(self, Self::NoIssue | Self::MinorIssue)
    }

    /// As people and reviewers read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoIssue => "no issue",
            Self::MinorIssue => "minor issue",
            Self::PytorchOnly => "PyTorch only",
            Self::SolCeiling => "beyond speed of light",
            Self::InheritedGaming => "inherited gaming",
            Self::OriginalGaming => "original gaming",
        }
    }
}

impl fmt::Display for ReviewLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a reviewer says of a candidate. An opinion beside the gates, which rest on measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    pub label: ReviewLabel,
    /// The kind of issue in the reviewer's words, for example `constant output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Short sentences, the most important first.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Who reviewed, as `provider:model`.
    #[serde(default)]
    pub model: String,
    /// Tokens of all questions that it took, as the provider counts them.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens of all answers.
    #[serde(default)]
    pub output_tokens: u64,
    /// US dollars for these, where the price is known.
    #[serde(default)]
    pub usd: f64,
}

impl Review {
    /// Questions and answers together.
    pub fn tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    /// Label and kind: `original gaming (constant output)`.
    pub fn finding(&self) -> String {
        match &self.kind {
            Some(kind) => format!("{} ({kind})", self.label),
            None => self.label.to_string(),
        }
    }
}

/// One line: the finding, and the first reason where there is one.
impl fmt::Display for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.finding())?;
        self.reasons.first().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaming_pytorch_alone_and_impossible_speed_withhold_a_result() {
        let withheld: Vec<String> = ReviewLabel::ALL
            .into_iter()
            .filter(|label| label.withholds())
            .map(|label| label.to_string())
            .collect();
        assert_eq!(
            withheld,
            ["PyTorch only", "beyond speed of light", "inherited gaming", "original gaming"]
        );
        assert!(ReviewLabel::ALL.is_sorted(), "the most severe is the last");
    }

    #[test]
    fn a_review_is_kept_by_stable_names_and_read_without_its_extras() {
        let kept = serde_json::to_value(ReviewLabel::ALL).unwrap();
        let names = [
            "no_issue",
            "minor_issue",
            "pytorch_only",
            "sol_ceiling",
            "inherited_gaming",
            "original_gaming",
        ];
        assert_eq!(kept, serde_json::json!(names));
        let review: Review = serde_json::from_str(r#"{"label": "original_gaming"}"#).unwrap();
        assert_eq!(review.to_string(), "original gaming");
        let kind = Some("kept results".to_owned());
        let review = Review { kind, reasons: vec!["It keeps them.".into()], ..review };
        assert_eq!(review.to_string(), "original gaming (kept results): It keeps them.");
    }
}
