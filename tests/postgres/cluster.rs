//! A Postgres server of the tests' own, which lives as long as their process.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::binaries::Binaries;

/// Runs the server and waits on a pipe of which this process has the other end. That closes when this
/// process ends, however it ends, `kill -9` included; then the server ends and its folder goes.
const KEEPER: &str = r#"
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=200 \
    -c fsync=off -c synchronous_commit=off -c full_page_writes=off >"$2/log" 2>&1 &
while read -r _; do :; done
kill -QUIT $!
wait
rm -rf "$2"
"#;

/// The server and its folder.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Where its socket is.
    pub(crate) folder: PathBuf,
    /// Its end of the pipe is open as long as this.
    _keeper: Child,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        // Not $TMPDIR: the path of a socket has at most 107 bytes, and another user must get there.
        let folder = tempfile::Builder::new().prefix("kb-pg-").tempdir_in("/tmp").unwrap();
        let user = User::of_servers();
        user.give(folder.path());
        let found = Binaries::find();
        let reachable = user.command(&found.folder.join("initdb")).arg("--version").output();
        let binaries = match reachable {
            Ok(answer) if answer.status.success() => found,
            _ => found.copied_to(folder.path()),
        };
        user.give(folder.path());
        let prepared = user
            .command(&binaries.folder.join("initdb"))
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"])
            .args(["--no-sync", "-D"])
            .arg(folder.path().join("data"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&prepared.stderr);
        assert!(prepared.status.success(), "initdb failed: {said}");
        let keeper = user
            .command(Path::new("/bin/sh"))
            .args(["-c", KEEPER, "keeper"])
            .arg(&binaries.folder)
            .arg(folder.path())
            .stdin(Stdio::piped())
            // Ctrl-C ends the tests; what follows from that is the keeper's to do.
            .process_group(0)
            .spawn()
            .unwrap();
        let cluster = Self { folder: folder.keep(), _keeper: keeper };
        cluster.await_ready();
        cluster
    }

    /// As `pg_ctl` does: the server says in its file when it takes connections.
    fn await_ready(&self) {
        let begun = Instant::now();
        let ready = || {
            let said = fs::read_to_string(self.folder.join("data/postmaster.pid"));
            said.is_ok_and(|said| said.lines().any(|line| line.trim() == "ready"))
        };
        while !ready() {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "Postgres does not start: {}",
                log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Who runs the server. Postgres refuses to be run by root.
#[derive(Clone, Copy, Debug)]
enum User {
    Myself,
    Other { id: u32, group: u32 },
}

impl User {
    fn of_servers() -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self::Myself;
        }
        let users = fs::read_to_string("/etc/passwd").unwrap();
        let find = |name: &str| {
            users.lines().find_map(|line| match line.split(':').collect::<Vec<_>>()[..] {
                [user, _, id, group, ..] if user == name => {
                    Some(Self::Other { id: id.parse().ok()?, group: group.parse().ok()? })
                }
                _ => None,
            })
        };
        let found = find("postgres").or_else(|| find("nobody"));
        found.expect("root cannot run Postgres, and there is no user postgres or nobody; add one")
    }

    /// The folder with all that is in it.
    fn give(self, folder: &Path) {
        if let Self::Other { id, group } = self {
            let mut chown = Command::new("chown");
            let given = chown.arg("-R").arg(format!("{id}:{group}")).arg(folder).status().unwrap();
            assert!(given.success(), "cannot give {} to user {id}", folder.display());
        }
    }

    /// A command of this user's, with nothing of our environment but a usual `PATH`.
    fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        if let Self::Other { id, group } = self {
            command.uid(id).gid(group);
        }
        command
    }
}
