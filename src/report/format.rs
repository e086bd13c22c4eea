//! Numbers for people: units on every one, no more digits than they are worth.

use serde_json::{Map, Value};

use super::{GenerationInfo, OutcomeKind, Report};
use crate::kernel::Ratio;

/// Stands for what was not measured.
pub(super) const NOTHING: &str = "–";

/// A duration given in microseconds, three significant digits: `58.7 µs`, `1.02 ms`.
pub(super) fn time(us: f64) -> String {
    if !us.is_finite() || us < 0.0 {
        return NOTHING.into();
    }
    let (value, unit) = match us {
        _ if us < 0.9995 => (us * 1e3, "ns"),
        _ if us < 999.5 => (us, "µs"),
        _ if us < 999_500.0 => (us / 1e3, "ms"),
        _ => (us / 1e6, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

pub(super) fn time_or_nothing(us: Option<f64>) -> String {
    us.map_or_else(|| NOTHING.into(), time)
}

/// A speedup: `1.82×`; near 1, where the third decimal tells, `1.034×`.
pub(super) fn times(ratio: f64) -> String {
    if !ratio.is_finite() || ratio < 0.0 {
        NOTHING.into()
    } else if (ratio - 1.0).abs() < 0.1 {
        format!("{ratio:.3}×")
    } else {
        format!("{}×", three_digits(ratio))
    }
}

pub(super) fn times_or_nothing(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| NOTHING.into(), times)
}

/// The interval of a ratio: `1.79× to 1.86×`.
pub(super) fn interval(ratio: &Ratio) -> String {
    format!("{} to {}", times(ratio.low), times(ratio.high))
}

/// Both ends of a case's interval.
pub(super) fn interval_or_nothing(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", times(low), times(high)),
        _ => NOTHING.into(),
    }
}

/// Seconds: `0.08 s`, `41 s`, `3 min 12 s`, `2 h 5 min`.
pub(super) fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NOTHING.into();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "finite, not negative, and a duration"
    )]
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{} s", three_digits(seconds)),
        10..120 => format!("{whole} s"),
        120..7200 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// `1 case`, `6 cases`.
pub(super) fn count(number: usize, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// The parameters of a case: `M=2048 K=4096 dtype=bfloat16`.
pub(super) fn params(params: &Map<String, Value>) -> String {
    let parts = params.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// What was spent of each budget.
pub(super) fn budget(report: &Report) -> Vec<String> {
    let budget = &report.budget;
    let of = |limit: Option<String>| limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    let mut lines = vec![
        format!(
            "wall clock {}{}",
            seconds(budget.wall_seconds_spent),
            of(budget.wall_seconds_limit.map(seconds))
        ),
        format!(
            "device time {}{}",
            seconds(budget.gpu_seconds_spent),
            of(budget.gpu_seconds_limit.map(seconds))
        ),
        format!(
            "evaluations {}{}",
            budget.evaluations_spent,
            of(budget.evaluations_limit.map(|limit| limit.to_string()))
        ),
    ];
    if budget.tokens_spent > 0 || budget.tokens_limit.is_some() {
        let limit = of(budget.tokens_limit.map(|limit| limit.to_string()));
        let estimated = if tokens_estimated(report) { " (estimated)" } else { "" };
        lines.push(format!("tokens {}{limit}{estimated}", budget.tokens_spent));
    }
    if budget.usd_spent > 0.0 || budget.usd_limit.is_some() {
        let limit = of(budget.usd_limit.map(|limit| format!("{limit:.2} $")));
        lines.push(format!("money {:.2} ${limit}", budget.usd_spent));
    }
    lines
}

/// Which questions wait for their answers, and why answers were of no use; a line each.
pub(super) fn generation_details(report: &Report) -> Vec<String> {
    let Some(generation) = &report.generation else { return Vec::new() };
    let parked = matches!(report.outcome, OutcomeKind::Parked);
    let waits = if parked { "awaits" } else { "was not answered in time:" };
    let awaiting = generation.awaiting.iter().map(move |question| format!("{waits} {question}"));
    let unused = generation.unused.iter().map(|reason| format!("no candidate: {reason}"));
    awaiting.chain(unused).map(|line| shorten(&line.replace('\n', " "), 240)).collect()
}

/// What a language model contributed, in a sentence.
pub(super) fn generation(report: &Report) -> Option<String> {
    let generation = report.generation.as_ref()?;
    let GenerationInfo { model, asked, answered, right_at_once, right, repairs, .. } = generation;
    let repairs = match repairs {
        0 => String::new(),
        repairs => format!(", {right} in the end, with {}", count(*repairs, "repair")),
    };
    let tokens = report.budget.tokens_spent;
    let about = if tokens_estimated(report) { "about " } else { "" };
    Some(format!(
        "{model} answered {answered} of {}: {right_at_once} right at once{repairs}; {about}{tokens} tokens",
        count(*asked as usize, "question"),
    ))
}

fn tokens_estimated(report: &Report) -> bool {
    report.generation.as_ref().is_some_and(|it| it.tokens_estimated)
}

pub(super) fn rung(rung: Option<usize>) -> String {
    rung.map_or_else(|| NOTHING.into(), |rung| rung.to_string())
}

pub(super) fn score(score: Option<f64>) -> String {
    let score = score.filter(|score| score.is_finite());
    score.map_or_else(|| NOTHING.into(), |score| format!("{score:.0}"))
}

/// The form of a candidate's id that people read.
pub(super) fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// The first `length` characters, with an ellipsis where something was cut.
pub(super) fn shorten(text: &str, length: usize) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(length.saturating_sub(1)).collect();
    match (chars.next(), chars.next()) {
        (None, _) => head,
        (Some(last), None) => format!("{head}{last}"),
        _ => format!("{head}…"),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        _ if value < 0.0005 && value > 0.0 => format!("{value:.1e}"),
        // Two decimals would make nothing of it.
        _ if value < 0.00995 && value > 0.0 => format!("{value:.4}"),
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_never_rounded_to_nothing() {
        let shown = [0.00031, 0.0028, 0.0147, 0.148, 1.034, 1.82, 14.76].map(times);
        let expected = ["3.1e-4×", "0.0028×", "0.01×", "0.15×", "1.034×", "1.82×", "14.8×"];
        assert_eq!(shown, expected);
    }
}
