//! What can go wrong with a store, in words that tell what to do.

use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot write to the folder {}: {source}; choose another with --db (database) or --out (results)", folder.display())]
    Folder { folder: PathBuf, source: io::Error },

    #[error(
        "the database {database} cannot be opened for writing; check its permissions and its folder's, or choose another place with --db"
    )]
    Unwritable { database: String },

    #[error("{database} is not a database; move it away or choose another place with --db")]
    NotADatabase { database: String },

    #[error("{database} belongs to another program; choose another place with --db")]
    Foreign { database: String },

    #[error(
        "the database {database} was written by a newer kernelbrain (migration {migration}); upgrade or use --db"
    )]
    Newer { database: String, migration: i64 },

    #[error("the disk is full: {database} cannot grow; free some space, then resume the run")]
    Full { database: String },

    #[error(
        "the database {database} is locked by another process; try again when that one is done, or use --db"
    )]
    Locked { database: String },

    #[error(
        "the database {database} is damaged ({detail}); move it away or choose another place with --db"
    )]
    Damaged { database: String, detail: String },

    #[error("no run {run} in {database}; `kernelbrain runs` lists them")]
    UnknownRun { database: String, run: String },

    #[error("there is a run {run} in {database} already")]
    RunExists { database: String, run: String },

    #[error(
        "an event of kind {kind} would not read back as it was written (a number that is not finite?)"
    )]
    Unfaithful { kind: String },

    #[error("the path {} is not Unicode; rename it", path.display())]
    PathNotUnicode { path: PathBuf },

    #[error("another kernelbrain{} is writing to {}; wait for it or use another --out", owner(*pid), folder.display())]
    OutputInUse { folder: PathBuf, pid: Option<u32> },

    #[error(
        "the address of the database is not understood ({problem}); it has the form postgres://user:password@host:5432/name"
    )]
    Address { problem: String },

    #[error(
        "the database {database} cannot be reached ({detail}); check that the server runs there and takes connections from here"
    )]
    Unreachable { database: String, detail: String },

    #[error(
        "the database {database} does not let us in ({detail}); check user, password and name in its address"
    )]
    NoEntry { database: String, detail: String },

    #[error(
        "the database {database} is in use by a newer kernelbrain (migration {migration}); upgrade this one"
    )]
    NewerServer { database: String, migration: i64 },

    #[error(
        "the database {database} cannot be prepared ({detail}); give kernelbrain an empty one of its own, whose owner it is"
    )]
    Unprepared { database: String, detail: String },

    #[error(
        "the job {job} cannot go from {from} to {to}: only a lease puts a job into the hands of a runner"
    )]
    NotLeased { job: String, from: &'static str, to: &'static str },

    #[error(
        "the copy of run {run} has {kept} events, and those after {after} do not follow; copy it from the beginning"
    )]
    JournalGap { run: String, after: u64, kept: u64 },

    #[error("the database {database} failed: {source}")]
    Database { database: String, source: sqlx::Error },
}

fn owner(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}
