//! A diagnosis for a terminal.

use super::{Check, Diagnosis, Status};

/// Lines with what was found and, indented, what to do about it; with a final newline.
pub fn render(diagnosis: &Diagnosis, colour: bool) -> String {
    let width = diagnosis.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for check in &diagnosis.checks {
        let (word, code) = mark(check);
        let word = if colour { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word.into() };
        text.push_str(&format!("{word}  {:width$}  {}\n", check.name, one_line(&check.found)));
        if let Some(advice) = &check.advice {
            text.push_str(&format!("{:9}{:width$}  → {}\n", "", "", one_line(advice)));
        }
    }
    text.push_str(if diagnosis.can_run() {
        "\nReady to optimise kernels.\n"
    } else {
        "\nNot ready: what is marked missing must be there first.\n"
    });
    text
}

fn mark(check: &Check) -> (&'static str, &'static str) {
    match check.status {
        Status::Ok => ("ok     ", "32"),
        Status::Warn => ("warning", "33"),
        Status::Missing => ("missing", "31"),
    }
}

/// What a program said about itself may hold anything.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
