//! Answers to what people ask or forgot.

use super::{
    Progress, check_output,
    fit::{self, Priority, Section, plain},
    marker,
};
use crate::report::{
    clean,
    escape::{code, fence, span},
    format,
};

/// A kernel that a pull request touches and no configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundKernel {
    /// Path in the repository.
    pub source: String,
    /// Its `@triton.jit` functions.
    pub kernel_names: Vec<String>,
}

/// A command as the parser knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandHelp<'t> {
    /// `/kernelbrain optimize [kernel…] [budget=20m]`.
    pub usage: &'t str,
    /// What it does, in a sentence.
    pub what: &'t str,
}

/// Whom an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'t> {
    /// What makes the answer the only one: the comment or the delivery that asked.
    pub key: &'t str,
    /// Login.
    pub by: &'t str,
}

/// A job as `status` tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobStatus {
    pub job: String,
    pub head_sha: String,
    /// `queued`, `running`, …
    pub state: String,
    pub requested_by: String,
    /// Jobs that come before it.
    pub ahead: Option<usize>,
    /// Of one under way.
    pub progress: Option<Progress>,
    /// Why it ended.
    pub reason: String,
}

/// What to add to `kernelbrain.toml`, marked as `configuration` of `key`.
pub fn no_configuration(key: &str, kernels: &[FoundKernel]) -> String {
    const SHOWN: usize = 10;
    let head = format!(
        "{}\n**Nothing to optimise yet: no kernel of this pull request is in the base branch's \
         `kernelbrain.toml`.** Add these lines for each that is to be made faster, and a contract \
         (`test`) that says what it must compute; then ask again.",
        marker("configuration", key)
    );
    let mut sections: Vec<Section> = kernels.iter().take(SHOWN).map(table).collect();
    if kernels.len() > SHOWN {
        let rest = format!("{} more files have kernels.", kernels.len() - SHOWN);
        sections.push(Section::new(Priority::Spend, "the rest", "", &rest));
    }
    if kernels.is_empty() {
        let none = "No `@triton.jit` function was found in the files that it changes.";
        sections.push(Section::new(Priority::Core, "the finding", "", none));
    }
    fit::page(&head, sections, "")
}

/// Five lines for one source.
fn table(found: &FoundKernel) -> Section {
    let clean = |text: &str| format::shorten(&clean::text(text).replace(['\n', '\t'], " "), 200);
    let quoted = |text: &str| toml::Value::String(text.replace("<!--", "<! --")).to_string();
    let source = clean(&found.source);
    let kernel = found.kernel_names.first().map_or_else(|| "kernel".to_owned(), |name| clean(name));
    let name = kernel.trim_matches('_').trim_end_matches("_kernel").to_owned();
    let stem = source.strip_suffix(".py").unwrap_or(&source);
    let module = stem.replace('/', ".");
    let toml = format!(
        "[[kernel]]\nname = {}\nsource = {}\nentry = {}  # the function that launches it\ntest = {}  \
         # its contract\n",
        quoted(&name),
        quoted(&source),
        quoted(&format!("{module}:FUNCTION")),
        quoted(&format!("contracts/{name}.py")),
    );
    let names: Vec<String> =
        found.kernel_names.iter().take(8).map(|name| span(&clean(name))).collect();
    let fence = fence(&toml);
    let text =
        format!("In {} ({}):\n\n{fence}toml\n{toml}{fence}", span(&source), names.join(", "));
    Section::new(Priority::Core, "the lines", &name, &text)
}

/// The commands, after what was wrong with the one that was given; marked as `help` of the question.
pub fn help(asked: Asked<'_>, problem: Option<&str>, commands: &[CommandHelp<'_>]) -> String {
    let mut text = marker("help", asked.key);
    text += &match problem {
        Some(problem) => format!("\n**Not understood.** {}\n", plain(&clean::text(problem), 600)),
        None => String::from("\nWhat you can write in a comment, on a line of its own:\n"),
    };
    text += "\n| command | what it does |\n| --- | --- |\n";
    for CommandHelp { usage, what } in commands {
        text += &format!("| {} | {} |\n", code(usage), plain(what, 300));
    }
    fit::page(text.trim_end(), Vec::new(), &to(asked))
}

/// Why nothing is done, and what would help; marked as `refusal` of the question.
pub fn refusal(asked: Asked<'_>, why: &str, what_to_do: &str) -> String {
    let text = format!(
        "{}\n**Not started.** {} {}",
        marker("refusal", asked.key),
        plain(&clean::text(why), 600),
        plain(&clean::text(what_to_do), 600)
    );
    fit::page(text.trim_end(), Vec::new(), &to(asked))
}

/// The jobs of a pull request, the newest first; marked as `status` of the question.
pub fn status(asked: Asked<'_>, jobs: &[JobStatus]) -> String {
    const SHOWN: usize = 10;
    let mut head = marker("status", asked.key) + "\n";
    if jobs.is_empty() {
        head += "**Nothing was asked for in this pull request yet.**";
    } else {
        head += "| job | commit | state | asked for by | |\n| --- | --- | --- | --- | --- |";
    }
    for job in jobs.iter().take(SHOWN) {
        let short = |text: &str, length| code(format::shorten(&clean::text(text), length));
        let note = match job.ahead {
            Some(0) => "next".to_owned(),
            Some(ahead) => format!("{} before it", format::count(ahead, "job")),
            None => plain(&clean::text(&job.reason), 200),
        };
        let cells = [
            short(&job.job, 40),
            short(job.head_sha.get(..12).unwrap_or(&job.head_sha), 40),
            plain(&clean::text(&job.state), 40),
            short(&job.requested_by, 40),
            note,
        ];
        head += &format!("\n| {} |", cells.join(" | "));
    }
    let sections = jobs.iter().take(SHOWN).filter_map(|job| {
        let text = check_output(job.progress.as_ref()?).summary;
        Some(Section::new(Priority::Core, "the progress", &clean::text(&job.job), &text))
    });
    fit::page(&head, sections.collect(), &to(asked))
}

fn to(asked: Asked<'_>) -> String {
    if asked.by.is_empty() {
        return String::new();
    }
    format!("<sub>For {}.</sub>", span(&format::shorten(&clean::text(asked.by), 80)))
}
