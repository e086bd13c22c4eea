//! Where a run writes: folders and databases that are taken, full, foreign or not writable.

use std::process::Command;

use crate::support::Desk;

const SHORT: [&str; 4] = ["--budget", "60s", "--evaluations", "2"];

#[test]
fn one_run_at_a_time_writes_to_an_output_folder() {
    let desk = Desk::tiny_with("import time", "time.sleep(600)");
    let mut first = desk.start(desk.optimize(&["--budget", "300s"]));
    first.until_true("the lock", |_| desk.path("out/.kernelbrain.lock").exists());
    std::thread::sleep(std::time::Duration::from_millis(500));
    // Another desk's file, so that its end is not held against the first one's processes.
    let other = Desk::tiny();
    let out = desk.path("out");
    let search = ["optimize", "kernel.py", "--test", "test.py", "--device", "cpu", "--plain"];
    let mut command = other.kernelbrain(&search);
    command.arg("--out").arg(&out);
    let second = other.run(command);
    second.exits_with(3).says(&format!("another kernelbrain (process {})", first.pid()));
    second.says("wait for it or use another --out");
    assert!(!first.is_over());
    first.kill();
    // The lock is the kernel's: it went with its owner.
    let mut command = other.kernelbrain(&[&search[..], &SHORT[..]].concat());
    command.arg("--out").arg(&out);
    other.run(command).exits_with(0);
}

#[test]
fn an_output_folder_that_cannot_be_written_is_named() {
    let desk = Desk::tiny();
    desk.write("file", "in the way");
    let search = ["optimize", "kernel.py", "--test", "test.py", "--device", "cpu", "--plain"];
    for place in ["file", "file/out", "/proc/kernelbrain-out"] {
        let ran = desk.run(desk.kernelbrain(&[&search[..], &["--out", place]].concat()));
        ran.exits_with(3).says(place).says("--out");
    }
    assert!(!desk.path("runs.db").exists(), "nothing was begun");
    assert_eq!(desk.read("file"), "in the way");
}

#[test]
fn a_database_that_cannot_be_used_is_left_as_it_is() {
    let desk = Desk::tiny();
    desk.write("garbage.db", "This was never a database.\n".repeat(400));
    sqlite(&desk, "newer.db", "");
    desk.run(desk.kernelbrain(&["runs", "--db", "newer.db"])).exits_with(0);
    sqlite(
        &desk,
        "newer.db",
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'of tomorrow', 1, x'00', 0)",
    );
    sqlite(&desk, "foreign.db", "CREATE TABLE songs (title TEXT)");
    std::fs::create_dir(desk.path("folder.db")).unwrap();

    let mut said = String::new();
    for name in ["garbage.db", "newer.db", "foreign.db", "folder.db", "/proc/runs.db"] {
        let before = std::fs::read(desk.path(name)).ok();
        for words in [&["runs"][..], &["report", "any"], &[]] {
            let ran = match words {
                [] => desk.run(desk.optimize(&["--db", name])),
                _ => desk.run(desk.kernelbrain(&[words, &["--db", name]].concat())),
            };
            ran.exits_with(3);
            if words == ["runs"] {
                said.push_str(&format!("{name}: {}\n", desk.anonymous(ran.error())));
            }
        }
        assert!(std::fs::read(desk.path(name)).ok() == before, "{name} was written");
    }
    insta::assert_snapshot!("databases", said);
}

#[test]
fn a_run_that_is_not_there_cannot_be_gone_on_with() {
    let desk = Desk::tiny();
    let resumed = desk.run(desk.optimize(&["--resume", "20200101-000000-nothing-0000"]));
    resumed.exits_with(2).says("no run 20200101-000000-nothing-0000").says("kernelbrain runs");
    let report = desk.run(desk.kernelbrain(&["report", "nothing"]));
    report.exits_with(2).says("no run nothing");
}

/// A shell in a mount namespace of its own, where the test may fill a disk: `full` below the
/// desk is a file system of `size`.
fn with_small_disk(desk: &Desk, size: &str, script: &str) -> Command {
    std::fs::create_dir(desk.path("full")).unwrap();
    let mut command = Command::new("unshare");
    let rooted = rustix::process::geteuid().is_root();
    command.args(if rooted { &["--mount"][..] } else { &["--mount", "--map-root-user"] });
    command.args(["sh", "-euc", &format!("mount -t tmpfs -o size={size} disk full\n{script}")]);
    command.env("KERNELBRAIN", env!("CARGO_BIN_EXE_kernelbrain"));
    desk.seat(&mut command);
    command
}

#[test]
fn a_disk_that_is_full_when_the_report_is_written_costs_the_report_only() {
    let desk = Desk::tiny();
    let ran = desk.run(with_small_disk(
        &desk,
        "16k",
        r#"exec "$KERNELBRAIN" optimize kernel.py --test test.py --device cpu --plain \
               --out full/out --budget 60s --evaluations 2"#,
    ));
    ran.exits_with(3).says("full/out/").says("No space left on device").says("kernelbrain report");
    let id = ran.stderr.lines().find_map(|line| line.strip_prefix("run ")).unwrap();
    desk.run(desk.kernelbrain(&["report", id, "--out", "roomy"])).exits_with(0);
    assert!(desk.read("roomy/report.json").contains(id));
}

#[test]
fn a_disk_that_is_full_for_the_journal_stops_the_run_until_there_is_room() {
    let desk = Desk::tiny();
    let ran = desk.run(with_small_disk(
        &desk,
        "1m",
        r#"fill() { dd if=/dev/zero of=full/ballast bs=1k "$@" 2>/dev/null || true; }
           search() {
             "$KERNELBRAIN" optimize kernel.py --test test.py --device cpu --plain --out out \
                 --db full/runs.db --budget 200s --max-candidates 4 --evaluations 5
           }
           "$KERNELBRAIN" runs --db full/runs.db
           # No room at all.
           fill
           search && exit 1 || echo "first status $?"
           # Room to begin.
           rm full/ballast
           fill count="$(($(stat -f -c '%a * %S / 1024' full) - 80))"
           search && exit 1 || echo "second status $?"
           "$KERNELBRAIN" runs --db full/runs.db
           rm full/ballast
           search
           "$KERNELBRAIN" runs --db full/runs.db"#,
    ));
    ran.exits_with(0).says("first status 3").says("second status 3").says("going on with run");
    assert_eq!(ran.stderr.matches("the disk is full").count(), 2, "{}", ran.printed());
}

fn sqlite(desk: &Desk, name: &str, statement: &str) {
    use sqlx::ConnectOptions;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = sqlx::sqlite::SqliteConnectOptions::new()
            .filename(desk.path(name))
            .create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    });
}
