//! `kernelbrain memory`: what earlier runs have shown about moves.

use std::path::PathBuf;

use super::{
    CommandResult,
    common::{block_on, terminal_style},
};
use crate::{
    engine::{
        EngineError, MoveMemory, exit, export_memory, forget_memory, import_memory, list_memory,
    },
    generate::task::Standing,
    report::{cleaned, terminal::Style},
    store::ExperienceFilter,
};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Database that keeps it [default: in the user's data folder]
    #[arg(long, value_name = "FILE", env = "KERNELBRAIN_DB", global = true)]
    db: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List what each move has come to, by kind of kernel and of GPU
    List {
        #[command(flatten)]
        which: Which,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write observations as JSON lines, for another machine
    Export {
        /// [default: standard output]
        file: Option<PathBuf>,
        #[command(flatten)]
        which: Which,
    },
    /// Take over the observations of such a file; of two about the same candidate the later stays
    Import { file: PathBuf },
    /// Forget observations
    Forget {
        #[command(flatten)]
        which: Which,
        /// Forget everything
        #[arg(long, conflicts_with_all = ["operator", "arch", "step", "run"])]
        all: bool,
    },
}

/// Which observations are meant.
#[derive(Clone, Debug, clap::Args)]
struct Which {
    /// Those of this kind of kernel, as the list shows it
    #[arg(long)]
    operator: Option<String>,
    /// Those of this architecture: sm_90, or cpu
    #[arg(long)]
    arch: Option<String>,
    /// Those of this move, as the list shows it
    #[arg(long = "move", value_name = "MOVE")]
    step: Option<String>,
    /// Those of this run
    #[arg(long)]
    run: Option<String>,
}

impl From<Which> for ExperienceFilter {
    fn from(which: Which) -> Self {
        let Which { operator, arch, step, run } = which;
        Self { operator, arch, step, run }
    }
}

pub(super) fn run(options: Options) -> CommandResult {
    let Options { db, action } = options;
    match action {
        Action::List { which, json } => {
            let filter = which.into();
            let moves = block_on(list_memory(db, &filter))?;
            if json {
                outln!("{:#}", serde_json::json!({"schema": 1, "moves": moves}));
            } else if moves.is_empty() {
                outln!("{}", if filter.is_empty() { "no experience yet" } else { NO_MATCH });
            } else {
                out!("{}", table(&moves, terminal_style()));
            }
        }
        Action::Export { file: None, which } => {
            out!("{}", block_on(export_memory(db, &which.into()))?.0);
        }
        Action::Export { file: Some(file), which } => {
            let (text, count) = block_on(export_memory(db, &which.into()))?;
            std::fs::write(&file, text)
                .map_err(|source| EngineError::Write { path: file.clone(), source })?;
            outln!("{} written to {}", observations(count), cleaned(&file.display().to_string()));
        }
        Action::Import { file } => {
            let imported = block_on(import_memory(db, &file))?;
            outln!("{} read, {} new", observations(imported.read), imported.new);
        }
        Action::Forget { which, all } => {
            let filter: ExperienceFilter = which.into();
            if filter.is_empty() && !all {
                return Err(EngineError::Usage(
                    "say what to forget: --operator, --arch, --move, --run or several of them; \
                     or --all"
                        .to_owned(),
                ));
            }
            match block_on(forget_memory(db, &filter))? {
                0 => outln!("nothing forgotten: {NO_MATCH}"),
                count => outln!("{} forgotten", observations(count)),
            }
        }
    }
    Ok(exit::FINISHED)
}

const NO_MATCH: &str = "no experience of that kind (`kernelbrain memory list` shows all)";

fn observations(count: impl TryInto<u64>) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => "1 observation".to_owned(),
        count => format!("{count} observations"),
    }
}

/// Titles of the columns; all but the first and the last hold numbers or one word.
const TITLES: [&str; 6] = ["move", "tries", "helped", "gain if so", "standing", "last failure"];

/// A block for each kind of kernel and GPU, its moves in the order in which they come.
fn table(moves: &[MoveMemory], style: Style) -> String {
    let rows: Vec<[String; 6]> = moves.iter().map(cells).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([TITLES[column].len()]).max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |cells: &[String; 6], paint: &dyn Fn(&str) -> String| {
        let [step, tries, helped, gain, standing, failure] = cells;
        let [w0, w1, w2, w3, w4, _] = widths;
        let padded = format!("{standing:<w4$}");
        let start = format!("  {step:<w0$}  {tries:>w1$}  {helped:>w2$}  {gain:>w3$}  ");
        let used = start.chars().count() + w4 + 2;
        let failure = shortened(failure, style.width.saturating_sub(used).max(SHORTEST_FAILURE));
        format!("{start}{}  {failure}", paint(&padded)).trim_end().to_owned() + "\n"
    };
    let mut text = String::new();
    let mut kind = None;
    for (it, row) in moves.iter().zip(&rows) {
        if kind.replace((&it.operator, &it.arch)) != Some((&it.operator, &it.arch)) {
            if !text.is_empty() {
                text.push('\n');
            }
            let (operator, arch) = (one_line(&it.operator), one_line(&it.arch));
            text.push_str(&painted(style, BOLD, &format!("{operator} on {arch}")));
            text.push('\n');
            text.push_str(&line(&TITLES.map(str::to_owned), &str::to_owned));
        }
        let colour = match it.standing {
            Standing::Use => GREEN,
            Standing::Open => "",
            Standing::Avoid => RED,
        };
        text.push_str(&line(row, &|standing| painted(style, colour, standing)));
    }
    text
}

const BOLD: &str = "1";
const RED: &str = "31";
const GREEN: &str = "32";

/// Columns for the last failure on terminals that have too few.
const SHORTEST_FAILURE: usize = 24;

fn painted(style: Style, colour: &str, text: &str) -> String {
    if style.colour && !colour.is_empty() {
        format!("\u{1b}[{colour}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

fn cells(it: &MoveMemory) -> [String; 6] {
    let standing = match it.standing {
        Standing::Use => "USE",
        Standing::Open => "OPEN",
        Standing::Avoid => "AVOID",
    };
    let failure = it.last_failure.as_ref();
    [
        shortened(&one_line(&it.step), LONGEST_MOVE),
        it.tries.to_string(),
        it.successes.to_string(),
        it.median_gain.map_or_else(|| "–".to_owned(), |gain| format!("{gain:.2}×")),
        standing.to_owned(),
        failure.map_or_else(String::new, |it| one_line(&format!("{}: {}", it.gate, it.reason))),
    ]
}

/// Columns for a move: every recipe that the program makes fits, so that its name can be copied.
const LONGEST_MOVE: usize = 64;

/// Text that may be somebody else's, harmless and on one line.
fn one_line(text: &str) -> String {
    cleaned(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
