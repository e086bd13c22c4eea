//! Why nothing is begun, in words.

use super::marked;
use crate::{
    report::pull_request::{self as text, Asked, FoundKernel},
    service::{decide::Refusal, key::Key, targets::NoTarget},
};

/// Why nothing is begun, and what would help.
pub(in crate::service) fn refused(refusal: &Refusal, by: &str, key: &Key) -> String {
    let id = key.to_string();
    let asked = Asked { key: &id, by };
    let text = match refusal {
        Refusal::NoTarget(NoTarget::NotConfigured { found }) => {
            let found: Vec<FoundKernel> = found
                .iter()
                .map(|it| FoundKernel {
                    source: it.source.clone(),
                    kernel_names: it.kernels.clone(),
                })
                .collect();
            text::no_configuration(&id, &found)
        }
        other => text::refusal(asked, &sentence(&other.to_string()), what_to_do(other)),
    };
    marked(key, &text)
}

fn what_to_do(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Permission { .. } => "Ask somebody who has it.",
        Refusal::Closed => "Open it again, then ask again.",
        Refusal::OtherHead { .. } => "Read the newer commits, then ask again.",
        Refusal::ForkNeedsSha { .. } => "Read the changes, then write that line in a comment.",
        Refusal::UnderWay { .. } => {
            "The check run shows how far it is; `/kernelbrain cancel` stops it."
        }
        Refusal::TooMuch { .. } => "Ask for less.",
        Refusal::TooLittle { .. } => "Then ask again.",
        Refusal::Spent { .. } => "Ask for less with budget=, wait, or have the limit raised.",
        Refusal::NoTarget(NoTarget::NoneTouched { .. }) => {
            "Name one in the command, or list what it depends on as `depends`."
        }
        Refusal::NoTarget(_) => "Correct that, then ask again.",
    }
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if text.ends_with(['.', '?']) { "" } else { "." };
    // What is the name of a file or an option stays as it is.
    let starts_a_name = text.split(' ').next().is_some_and(|word| word.contains(['.', '=', '@']));
    if starts_a_name { format!("{text}{end}") } else { format!("{first}{}{end}", letters.as_str()) }
}
