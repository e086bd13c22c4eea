//! What templates can do with values.
//!
//! | filter | gives |
//! | --- | --- |
//! | `text \| fence("python")` | a fenced block that `text` cannot close |
//! | `text \| inline` | `text` on one line of at most 400 characters (`inline(4000)`: more), without control characters and fences |
//! | `number \| figure` | three significant digits |
//! | `number \| bytes` | with a unit: `3.8 GB` |
//! | `number \| count` | `68.7 G` |
//! | `object \| params` | `M=2048, dtype=bfloat16` |

use minijinja::{Environment, Value};

pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("fence", |text: String, language: String| fence(&text, &language));
    environment.add_filter("inline", |text: String, most: Option<usize>| {
        inline(&text, most.unwrap_or(INLINE))
    });
    environment.add_filter("figure", figure);
    environment.add_filter("bytes", |value: f64| scaled(value, "B"));
    environment.add_filter("count", |value: f64| scaled(value, "").trim_end().to_owned());
    environment.add_filter("params", |object: Value| inline(&params(&object), INLINE));
}

/// `text` in a fence of more backticks than it has anywhere in a row.
pub(super) fn fence(text: &str, language: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let marks = "`".repeat(longest.max(2) + 1);
    format!("{marks}{language}\n{}\n{marks}", text.trim_end_matches(['\n', '\r']))
}

/// Characters of a value on one line, if the template does not say.
const INLINE: usize = 400;

/// `text` on one line: it can neither open a fence nor begin a heading.
pub(in crate::generate) fn inline(text: &str, most: usize) -> String {
    let mut words = String::new();
    let mut left = most;
    for word in text.split_whitespace() {
        if left == 0 {
            words.push_str(" …");
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        let plain = word.chars().filter(|it| !it.is_control()).take(left);
        let before = words.len();
        words.extend(plain);
        left = left.saturating_sub(words[before..].chars().count() + 1);
    }
    words.replace("```", "'''").replace("~~~", "---")
}

pub(super) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value.is_finite() { "0".to_owned() } else { value.to_string() };
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    let rounded = format!("{value:.*}", usize::try_from(digits.clamp(0, 9)).unwrap_or(0));
    if rounded.contains('.') {
        rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        rounded
    }
}

/// With a decimal prefix before `unit`.
pub(super) fn scaled(value: f64, unit: &str) -> String {
    let mut value = value;
    for prefix in ["", "k", "M", "G"] {
        if value.abs() < 1000.0 {
            return format!("{} {prefix}{unit}", figure(value));
        }
        value /= 1000.0;
    }
    format!("{} T{unit}", figure(value))
}

fn params(object: &Value) -> String {
    let Ok(names) = object.try_iter() else { return object.to_string() };
    let pair = |name: Value| {
        let value = object.get_item(&name).unwrap_or_default();
        format!("{name}={value}")
    };
    names.map(pair).collect::<Vec<_>>().join(", ")
}
