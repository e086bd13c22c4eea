//! Numbers as profilers print them: with the separators of a language, in a unit of their choice.

/// Which character stands before the decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Decimal {
    #[default]
    Point,
    Comma,
}

impl Decimal {
    /// Found out from all values of an output together: `1,504` alone could be either.
    pub(super) fn of<'v>(values: impl Iterator<Item = &'v str>) -> Self {
        let (mut point, mut comma) = (0_u32, 0_u32);
        for value in values {
            match shape(value) {
                Some(b'.') => point += 1,
                Some(b',') => comma += 1,
                _ => {}
            }
        }
        if comma > point { Self::Comma } else { Self::Point }
    }
}

/// The separator that can only stand before decimals: the last of two different ones, or one that
/// is not followed by exactly three digits and comes once.
fn shape(value: &str) -> Option<u8> {
    let value = value.trim().as_bytes();
    let is_number = value.iter().all(|byte| byte.is_ascii_digit() || b".,-".contains(byte));
    let last = value.iter().rposition(|byte| b".,".contains(byte))?;
    if !is_number {
        return None;
    }
    let separator = value[last];
    let other = if separator == b'.' { b',' } else { b'.' };
    let count = value.iter().filter(|byte| **byte == separator).count();
    let decides = value.contains(&other) || value.len() - last - 1 != 3;
    (decides && count == 1).then_some(separator)
}

/// The number in `text`; `None` for `n/a`, `nan`, `no data`, words, or nothing.
pub(super) fn number(text: &str, decimal: Decimal) -> Option<f64> {
    let text = text.trim().trim_end_matches('%').trim_end();
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let plain: String = text
        .chars()
        // Thousands are set off by a point, a comma, a blank of some kind or an apostrophe.
        .filter(|c| !matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}'))
        .filter(|c| *c != if decimal == Decimal::Point { ',' } else { '.' })
        .map(|c| if c == ',' { '.' } else { c })
        .collect();
    plain.parse().ok().filter(|value: &f64| value.is_finite())
}

/// What a value in `unit` is multiplied by to be in the base unit of its kind: nanoseconds, bytes,
/// and single things for whatever is counted.
pub(super) fn scale(unit: &str) -> f64 {
    let unit = unit.trim();
    match unit {
        "ns" | "nsecond" => return 1.0,
        "us" | "usecond" | "\u{b5}s" | "\u{3bc}s" => return 1e3,
        "ms" | "msecond" => return 1e6,
        "s" | "second" => return 1e9,
        _ => {}
    }
    let (prefix, rest) = unit.split_at_checked(1).unwrap_or_default();
    let thing = rest.split('/').next().unwrap_or_default();
    let counted =
        ["byte", "sector", "request", "inst", "cycle", "thread", "warp", "hz", "block", "register"];
    let factor = match prefix {
        "K" | "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return 1.0,
    };
    if counted.contains(&thing) { factor } else { 1.0 }
}
