//! Moments as GitHub writes them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, de::Error};

/// Whole seconds since 1970; 0 for anything earlier.
pub(super) fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The moment of `seconds` since 1970. What no clock can show is the end of the year 9999.
pub(super) fn from_seconds(seconds: u64) -> SystemTime {
    const END_OF_9999: u64 = 253_402_300_799;
    UNIX_EPOCH + Duration::from_secs(seconds.min(END_OF_9999))
}

/// For `#[serde(deserialize_with)]`: RFC 3339, with `Z` or an offset.
pub(super) fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| D::Error::custom("a date that is not RFC 3339"))
}

/// The same where GitHub may leave it out or say `null`.
pub(super) fn moment_if_any<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SystemTime>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| parse(&text).ok_or_else(|| D::Error::custom("a date that is not RFC 3339")))
        .transpose()
}

/// `2026-01-31T12:00:00Z`, or with an offset, as in older parts of the API and on Enterprise Server.
fn parse(text: &str) -> Option<SystemTime> {
    if let Ok(moment) = humantime::parse_rfc3339(text) {
        return Some(moment);
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let moment = humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
    let (sign, offset) = offset.split_at_checked(1)?;
    let (hours, minutes) = offset.split_once(':')?;
    let minutes = hours.parse::<u64>().ok()? * 60 + minutes.parse::<u64>().ok()?;
    let away = Duration::from_secs(minutes * 60);
    match sign {
        "+" => moment.checked_sub(away),
        "-" => moment.checked_add(away),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_taken_off() {
        let noon = parse("2026-01-31T12:00:00Z");
        assert!(noon.is_some());
        assert_eq!(parse("2026-01-31T13:30:00+01:30"), noon);
        assert_eq!(parse("2026-01-31T05:00:00-07:00"), noon);
        assert_eq!(parse("2026-01-31T12:00:00.000Z"), noon);
        for nonsense in ["", "yesterday", "2026-01-31T12:00:00", "2026-01-31T12:00:00é1:00"] {
            assert_eq!(parse(nonsense), None, "{nonsense}");
        }
    }
}
