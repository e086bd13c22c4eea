//! Text from outside, made harmless to look at.

use std::iter::Peekable;

use serde_json::{Map, Value};

use super::{ProfileEntry, Report, ReviewRow};

const ESCAPE: char = '\u{1b}';
/// Begins a control sequence by itself.
const CSI: char = '\u{9b}';

/// The report with every text in it cleaned by [`text`]; the sources stay, byte for byte.
pub(super) fn clean(report: &Report) -> Report {
    let mut clean = report.clone();
    let run = &mut clean.run;
    let target = &mut clean.target;
    let device = &mut clean.device;
    let mut fields = vec![
        &mut run.id,
        &mut run.started,
        &mut run.kernelbrain,
        &mut run.command,
        &mut target.name,
        &mut target.source,
        &mut target.contract,
        &mut target.kind,
        &mut target.entry,
        &mut device.kind,
        &mut device.name,
        &mut device.torch,
        &mut device.triton,
        &mut clean.reason,
    ];
    fields.extend(&mut device.driver);
    fields.extend(device.ceilings.iter_mut().flat_map(|ceilings| ceilings.skipped.values_mut()));
    fields.extend(&mut clean.warnings);
    fields.extend(&mut clean.budget.stopped);
    if let Some(generation) = &mut clean.generation {
        fields.push(&mut generation.model);
        fields.extend(generation.unused.iter_mut().chain(&mut generation.awaiting));
    }
    fields.extend(clean.trajectory.iter_mut().map(|point| &mut point.candidate));
    for row in &mut clean.candidates {
        fields.extend([&mut row.id, &mut row.origin]);
        fields.extend(row.parent.iter_mut().chain(&mut row.reason));
        fields.extend(&mut row.same_program_as);
    }
    for finding in &mut clean.audit.passed {
        fields.extend([&mut finding.mutant, &mut finding.case, &mut finding.advice]);
    }
    let profile = &mut clean.profile;
    fields.extend(&mut profile.note);
    for entry in profile.baseline.iter_mut().chain(&mut profile.best) {
        let ProfileEntry { diagnosis, profile } = entry;
        fields.push(&mut profile.case);
        fields.extend(profile.kernels.iter_mut().map(|kernel| &mut kernel.name));
        fields.extend(diagnosis.findings.iter_mut().chain(&mut diagnosis.suggestions));
        fields.extend(diagnosis.details.iter_mut().filter_map(|finding| finding.kernel.as_mut()));
    }
    if let Some(best) = &mut clean.best {
        fields.extend([&mut best.id, &mut best.file, &mut best.patch]);
        fields.extend(&mut best.moves);
        fields.extend(best.build.iter_mut().map(|kernel| &mut kernel.kernel));
        fields.extend(best.observed.iter_mut().filter_map(|observed| observed.bounds.as_mut()));
    }
    for ReviewRow { candidate, review } in &mut clean.reviews {
        fields.extend([candidate, &mut review.model]);
        fields.extend(review.kind.iter_mut().chain(&mut review.reasons));
    }
    for row in &mut clean.cases {
        row.params = map(&row.params);
        fields.push(&mut row.name);
    }
    for field in fields {
        *field = text(field);
    }
    clean
}

/// `dirty` without terminal escape sequences, control characters other than tab and newline, and
/// characters that reorder what follows (the "Trojan Source" set).
pub fn text(dirty: &str) -> String {
    let mut clean = String::with_capacity(dirty.len());
    let mut rest = dirty.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            ESCAPE => skip_escape_sequence(&mut rest),
            CSI => skip_control_sequence(&mut rest),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            _ if is_hidden(next) => {}
            _ => clean.push(next),
        }
    }
    clean
}

/// A line of source with what [`text`] would take out made visible instead: in a diff, hiding it
/// would hide the change.
pub(super) fn code(line: &str) -> String {
    line.chars().fold(String::with_capacity(line.len()), |mut shown, next| {
        if is_hidden(next) || next == ESCAPE || next == '\r' {
            shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(next)));
        } else {
            shown.push(next);
        }
        shown
    })
}

fn is_hidden(c: char) -> bool {
    let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
    let invisible = matches!(c, '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    reorders || invisible || (c.is_control() && c != '\n' && c != '\t')
}

/// Skips what follows an escape character: a control sequence (`[` … final byte), a system command
/// (`]` … bell or `ESC \`), or one character.
fn skip_escape_sequence(rest: &mut Peekable<impl Iterator<Item = char>>) {
    match rest.next() {
        Some('[') => skip_control_sequence(rest),
        Some(']') => {
            while let Some(next) = rest.next() {
                if next == '\u{7}' || (next == ESCAPE && rest.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {}
    }
}

fn skip_control_sequence(rest: &mut Peekable<impl Iterator<Item = char>>) {
    while rest.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
    rest.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
}

fn map(dirty: &Map<String, Value>) -> Map<String, Value> {
    dirty.iter().map(|(name, inner)| (text(name), value(inner))).collect()
}

fn value(dirty: &Value) -> Value {
    match dirty {
        Value::String(inner) => Value::String(text(inner)),
        Value::Array(inner) => Value::Array(inner.iter().map(value).collect()),
        Value::Object(inner) => Value::Object(map(inner)),
        other => other.clone(),
    }
}
