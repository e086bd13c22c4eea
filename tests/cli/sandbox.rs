//! What a candidate can do to the machine that runs it: nothing. The attempts run in the
//! baseline, which no static policy judges, and beside it outside the sandbox, where each succeeds.

use std::{
    collections::BTreeSet,
    net::{TcpListener, UdpSocket},
    process::Command,
};

use crate::support::{Desk, SOFTMAX, python};

const SECRET: &str = "canary-72e1";

/// Python that tries, and lists what it could do.
fn attempts(desk: &Desk, tcp: u16, udp: u16) -> String {
    let folder = desk.folder().display();
    format!(
        r#"
import os, pathlib, socket, subprocess

def _try_write_beside_the_kernel():
    pathlib.Path("{folder}/out").mkdir(exist_ok=True)
    pathlib.Path("{folder}/escaped").write_text("x")

def _try_write_to_tmp():
    path = pathlib.Path("/tmp/escaped-" + str(os.getpid()))
    path.write_text("x")
    path.unlink()

def _try_connect():
    socket.create_connection(("127.0.0.1", {tcp}), timeout=5).send(b"x")

def _try_send_datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {udp}))

def _try_read_the_contract():
    assert "def reference" in open("{folder}/test.py").read()

def _try_read_a_secret_at_home():
    assert "{SECRET}" in open("{folder}/home/.netrc").read()

def _try_read_the_database():
    open("{folder}/runs.db", "rb").read(1)

def _try_know_a_secret_of_the_environment():
    for process in ["self", *filter(str.isdigit, os.listdir("/proc"))]:
        try:
            if b"KERNELBRAIN_TEST_TOKEN={SECRET}" in open(f"/proc/{{process}}/environ", "rb").read():
                return
        except OSError:
            pass
    raise PermissionError

def _try_run_a_shell():
    assert subprocess.run(["/bin/sh", "-c", "exit 0"]).returncode == 0

def _ancestors():
    process = os.getppid()
    while process > 1:
        yield process
        process = int(open(f"/proc/{{process}}/stat").read().rpartition(")")[2].split()[1])

def _try_signal_an_ancestor():
    for process in _ancestors():
        try:
            return os.kill(process, 0)
        except OSError:
            pass
    raise PermissionError

def escapes():
    done = []
    for name, attempt in list(globals().items()):
        if name.startswith("_try_"):
            try:
                attempt()
                done.append(name)
            except Exception:
                pass
    return done
"#
    )
}

/// Every attempt, by its name in the source.
fn all(attempts: &str) -> BTreeSet<String> {
    let names = attempts.lines().filter_map(|line| line.strip_prefix("def ")?.strip_suffix("():"));
    names.filter(|name| name.starts_with("_try_")).map(str::to_owned).collect()
}

#[test]
fn a_candidate_reaches_nothing_outside_of_its_folder() {
    let desk = Desk::tiny();
    desk.write("home/.netrc", SECRET);
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    for socket in [tcp.set_nonblocking(true), udp.set_nonblocking(true)] {
        socket.unwrap();
    }
    let ports = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let attempts = attempts(&desk, ports.0, ports.1);
    desk.write("attempts.py", format!("{attempts}\nprint(*escapes())\n"));
    desk.run(desk.kernelbrain(&["runs"])).exits_with(0);

    // Outside, everything succeeds.
    let mut control = Command::new(python());
    desk.seat(control.arg("attempts.py").env("KERNELBRAIN_TEST_TOKEN", SECRET));
    let outside = desk.run(control);
    outside.exits_with(0);
    let done = outside.stdout.split_whitespace().map(str::to_owned).collect();
    let expected = all(&attempts);
    assert_eq!(expected.difference(&done).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(expected.len() >= 10, "{expected:?}");
    tcp.accept().unwrap();
    udp.recv(&mut [0; 8]).unwrap();
    std::fs::remove_file(desk.path("escaped")).unwrap();

    // In a candidate nothing does: neither at its import nor in its call.
    let kernel = format!(
        "{attempts}\n_AT_IMPORT = escapes()\n{}\n\ndef kernel_function(x):\n    \
         done = _AT_IMPORT + escapes()\n    \
         if done:\n        raise RuntimeError('ESCAPED: ' + ' '.join(done))\n    \
         return honest(x)\n",
        SOFTMAX.replace("def kernel_function", "def honest")
    );
    desk.write("kernel.py", kernel);
    let mut command = desk.optimize(&["--budget", "60s", "--evaluations", "2"]);
    command.env("KERNELBRAIN_TEST_TOKEN", SECRET);
    let ran = desk.run(command);
    ran.exits_with(0);
    assert!(!ran.printed().contains("ESCAPED"), "{}", ran.printed());
    assert!(!desk.path("escaped").exists());
    let nobody = std::io::ErrorKind::WouldBlock;
    assert_eq!(tcp.accept().map(drop).unwrap_err().kind(), nobody);
    assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), nobody);
}

#[test]
fn a_candidate_that_would_get_out_is_told_from_one_that_does_not() {
    // The test above could not fail if a candidate's error did not reach the report.
    let desk = Desk::tiny_with("", "raise RuntimeError('ESCAPED: nowhere')");
    let ran = desk.run(desk.optimize(&["--budget", "60s"]));
    ran.exits_with(2).says("ESCAPED: nowhere");
}
