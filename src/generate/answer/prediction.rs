//! What a model expects of its own change, and whether it came true.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Metric;
use super::fences::Document;
use crate::kernel::Profile;

/// Where a metric goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

/// Which metric of the profile moves, in which direction, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    pub metric: Metric,
    pub direction: Direction,
    /// Of the value before: 0.4 is 40 %. `None` where the model did not say.
    pub amount: Option<f64>,
}

/// What became of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    Confirmed,
    Refuted,
    /// A profile lacks the metric, or the two are not of the same case.
    Unknown,
}

/// Share of the predicted amount from which on it counts as come true: the amount is a guess, the
/// mechanism is what is asked about.
const ENOUGH: f64 = 0.5;
/// Counters differ by this share from run to run: less is no movement.
const NOISE: f64 = 0.02;

impl Prediction {
    /// Reads `METRIC up|down [AMOUNT]`, for example `dram_bytes down 40%` or `duration down 2x`.
    ///
    /// # Errors
    /// What is wrong with it, in a few words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text
            .trim()
            .trim_end_matches('.')
            .replace(['`', '*', ',', ':', '~'], " ")
            .to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words.iter().position(|word| direction(word).is_some());
        let at = at.ok_or("it says neither up nor down")?;
        let name = words[..at].join("_");
        let metric = Metric::named(&name).ok_or_else(|| format!("there is no metric `{name}`"))?;
        let direction = direction(words[at]).ok_or("it says neither up nor down")?;
        let amount = match words.get(at + 1..).unwrap_or_default() {
            [] => None,
            ["by", rest @ ..] | rest => Some(amount(&rest.concat(), direction)?),
        };
        Ok(Self { metric, direction, amount })
    }

    /// The first prediction of an answer; notes say what was dropped.
    pub(super) fn find(document: &Document<'_>, notes: &mut Vec<String>) -> Option<Self> {
        let fenced = document.blocks.iter().filter(|block| block.language == "prediction");
        let fenced = fenced.flat_map(|block| block.body.lines());
        let lines = document.prose.iter().filter_map(|line| labelled(line));
        let mut found = None;
        let mut dropped = 0;
        for text in fenced.chain(lines).map(|line| labelled(line).unwrap_or(line)) {
            if text.trim().is_empty() {
                continue;
            }
            match Self::parse(text) {
                Ok(prediction) if found.is_none() => found = Some(prediction),
                Ok(_) => dropped += 1,
                Err(reason) if found.is_none() && notes.len() < 4 => {
                    let shown = super::error::excerpt(text);
                    notes.push(format!("the prediction `{shown}` was dropped: {reason}"));
                }
                Err(_) => dropped += 1,
            }
        }
        if dropped > 0 {
            notes.push(format!("{dropped} further predictions were dropped: one is kept"));
        }
        found
    }

    /// Whether it came true, by the profiles of the parent and of the candidate. Half of the amount
    /// will do; without one, any movement beyond noise.
    pub fn judge(&self, before: &Profile, after: &Profile) -> Judgement {
        let (Some(was), Some(is)) = (self.metric.read(before), self.metric.read(after)) else {
            return Judgement::Unknown;
        };
        if before.case != after.case || was < 0.0 || is < 0.0 {
            return Judgement::Unknown;
        }
        let movement = match self.direction {
            Direction::Up => is - was,
            Direction::Down => was - is,
        };
        let least = (self.amount.unwrap_or(0.0) * ENOUGH).max(NOISE) * was;
        if movement > 0.0 && movement >= least { Judgement::Confirmed } else { Judgement::Refuted }
    }
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.direction == Direction::Up { "up" } else { "down" };
        write!(f, "{} {direction}", self.metric.name())?;
        self.amount.map_or(Ok(()), |amount| write!(f, " {:.0}%", amount * 100.0))
    }
}

/// What follows `Prediction:` at the beginning of a line, but for marks around the word.
fn labelled(line: &str) -> Option<&str> {
    let text = line.trim_start_matches([' ', '#', '*', '-', '>', '_']);
    let (label, rest) = text.split_at_checked("prediction".len())?;
    let rest = rest.trim_start_matches(['*', '_', ' ']);
    label.eq_ignore_ascii_case("prediction").then(|| rest.strip_prefix(':'))?
}

fn direction(word: &str) -> Option<Direction> {
    match word {
        "up" | "rises" | "rise" | "increases" | "increase" | "higher" | "more" | "grows" => {
            Some(Direction::Up)
        }
        "down" | "falls" | "fall" | "decreases" | "decrease" | "lower" | "less" | "fewer"
        | "drops" => Some(Direction::Down),
        _ => None,
    }
}

/// `40%` and `2x` as a share of the value before.
fn amount(text: &str, direction: Direction) -> Result<f64, String> {
    let wrong = || format!("`{}` is no amount such as 40% or 2x", super::error::excerpt(text));
    let number = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite() && *it > 0.0);
    let share = if let Some(percent) = text.strip_suffix('%') {
        number(percent).ok_or_else(wrong)? / 100.0
    } else {
        let factor = text.strip_suffix(['x', '×']).and_then(number).ok_or_else(wrong)?;
        if factor <= 1.0 {
            return Err(wrong());
        }
        if direction == Direction::Up { factor - 1.0 } else { 1.0 - 1.0 / factor }
    };
    if direction == Direction::Down && share > 1.0 {
        return Err("nothing falls by more than 100%".to_owned());
    }
    Ok(share)
}
