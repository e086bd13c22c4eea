//! From a comment to a command, or to what is wrong with it.

use std::{collections::HashSet, time::Duration};

use super::{COMMANDS, Command, PREFIX, Wish, prose};

/// Longest piece of a command that is repeated to people.
const SHOWN: usize = 40;
/// Kernels that one command may name.
const MOST_KERNELS: usize = 20;

/// Why a line that begins like a command is none. Whatever of it is repeated has to be escaped where it
/// is shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("there is no command \"{word}\"{}", did_you_mean(.meant))]
    Unknown { word: String, meant: Option<&'static str> },
    #[error("`{command}` takes no arguments, and \"{word}\" is one")]
    Surplus { command: &'static str, word: String },
    #[error("budget=\"{value}\" is no time: write for example budget=20m")]
    Budget { value: String },
    #[error("there is no option \"{name}=\"{}", did_you_mean(.meant))]
    Option { name: String, meant: Option<&'static str> },
    #[error("\"{word}\" is neither the name of a kernel nor a commit's full SHA of 40 digits")]
    Word { word: String },
    #[error("a command names at most {MOST_KERNELS} kernels")]
    TooMany,
    #[error("a comment carries one command, and this one has {count}")]
    Several { count: usize },
}

fn did_you_mean(meant: &Option<&'static str>) -> String {
    meant.map_or_else(String::new, |meant| format!("; did you mean \"{meant}\"?"))
}

/// The command of a comment; `None` where nothing in it looks like one.
pub fn parse(comment: &str) -> Option<Result<Command, CommandError>> {
    let lines = prose::lines(comment);
    let mut commands = lines.iter().filter_map(|line| arguments(line));
    let first = commands.next()?;
    let more = commands.count();
    if more > 0 {
        return Some(Err(CommandError::Several { count: more + 1 }));
    }
    Some(read(first))
}

/// What follows the prefix.
fn arguments(line: &str) -> Option<&str> {
    let head = line.get(..PREFIX.len())?;
    let rest = &line[PREFIX.len()..];
    let is_word = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (head.eq_ignore_ascii_case(PREFIX) && is_word).then_some(rest)
}

fn read(arguments: &str) -> Result<Command, CommandError> {
    let mut words = arguments.split_whitespace();
    let Some(name) = words.next() else { return Ok(Command::Help) };
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        // Whoever writes British English is understood.
        "optimize" | "optimise" => wish(words).map(Command::Optimize),
        "status" => alone("status", words, Command::Status),
        "cancel" => alone("cancel", words, Command::Cancel),
        "commit" => alone("commit", words, Command::Commit),
        "help" => alone("help", words, Command::Help),
        other => Err(CommandError::Unknown {
            word: shown(name),
            meant: nearest(other, COMMANDS.iter().map(|command| command.name)),
        }),
    }
}

fn alone<'w>(
    command: &'static str,
    mut words: impl Iterator<Item = &'w str>,
    meant: Command,
) -> Result<Command, CommandError> {
    match words.next() {
        None => Ok(meant),
        Some(word) => Err(CommandError::Surplus { command, word: shown(word) }),
    }
}

fn wish<'w>(words: impl Iterator<Item = &'w str>) -> Result<Wish, CommandError> {
    let mut wish = Wish::default();
    for word in words {
        if let Some((name, value)) = word.split_once('=') {
            match name.to_ascii_lowercase().as_str() {
                "budget" => wish.budget = Some(budget(value)?),
                "sha" => wish.sha = Some(sha(value)?),
                other => {
                    return Err(CommandError::Option {
                        name: shown(name),
                        meant: nearest(other, ["budget", "sha"].into_iter()),
                    });
                }
            }
        } else if is_sha(word) {
            wish.sha = Some(sha(word)?);
        } else if is_kernel_name(word) {
            wish.kernels.push(word.to_owned());
        } else {
            return Err(CommandError::Word { word: shown(word) });
        }
    }
    let mut seen = HashSet::new();
    wish.kernels.retain(|kernel| seen.insert(kernel.clone()));
    if wish.kernels.len() > MOST_KERNELS {
        return Err(CommandError::TooMany);
    }
    Ok(wish)
}

fn budget(value: &str) -> Result<Duration, CommandError> {
    let wrong = || CommandError::Budget { value: shown(value) };
    let budget = humantime::parse_duration(value).map_err(|_| wrong())?;
    if budget.as_secs() == 0 { Err(wrong()) } else { Ok(budget) }
}

fn sha(word: &str) -> Result<String, CommandError> {
    if is_sha(word) {
        Ok(word.to_ascii_lowercase())
    } else {
        Err(CommandError::Word { word: shown(word) })
    }
}

/// Nothing but the whole of it: of a prefix, somebody can make another commit that begins alike.
fn is_sha(word: &str) -> bool {
    word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_kernel_name(word: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    word.len() <= 200 && word.chars().all(allowed)
}

fn nearest(word: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let rated = known.map(|name| (strsim::damerau_levenshtein(word, name), name));
    rated.filter(|(distance, _)| *distance <= 3).min().map(|(_, name)| name)
}

fn shown(word: &str) -> String {
    let mut shown: String = word.chars().take(SHOWN).collect();
    if shown.len() < word.len() {
        shown.push('…');
    }
    shown
}
