//! Commands in comments: `/kernelbrain optimize rmsnorm budget=20m`.
//!
//! [`COMMANDS`] is the one list of what there is; parser, help and documentation follow from it.

mod parse;
mod prose;

use std::time::Duration;

pub use parse::{CommandError, parse};

/// The word a command's line begins with.
pub const PREFIX: &str = "/kernelbrain";

/// What a person asks for in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Optimize(Wish),
    Status,
    Cancel,
    /// Put the verified kernel on the pull request's branch.
    Commit,
    Help,
}

/// The arguments of `optimize`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Names of kernels; empty for all that the pull request touches.
    pub kernels: Vec<String>,
    pub budget: Option<Duration>,
    /// The commit that is approved, in full.
    pub sha: Option<String>,
}

/// A command for the help text.
#[derive(Clone, Copy, Debug)]
pub struct CommandHelp {
    pub name: &'static str,
    pub arguments: &'static str,
    pub what: &'static str,
}

/// Every command.
pub const COMMANDS: [CommandHelp; 5] = [
    CommandHelp {
        name: "optimize",
        arguments: "[kernel…] [budget=20m] [sha]",
        what: "search for faster versions of the kernels this pull request touches, or of those named; \
               the commit's full SHA is needed for a pull request from a fork",
    },
    CommandHelp {
        name: "status",
        arguments: "",
        what: "say what is queued, under way and done for this pull request",
    },
    CommandHelp { name: "cancel", arguments: "", what: "stop the search of this pull request" },
    CommandHelp {
        name: "commit",
        arguments: "",
        what: "put the verified kernel on this pull request's branch as a commit",
    },
    CommandHelp { name: "help", arguments: "", what: "show this list" },
];

#[cfg(test)]
mod tests;
