//! Mirrors and work trees against a git server: exactly what was approved, and nothing that a
//! hostile tree asks for.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "mock/mod.rs"]
mod mock;

#[path = "repo/hostile.rs"]
mod hostile;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use git2::{ObjectType, Oid};
use kernelbrain::repo::{
    CheckoutLimits, FetchLimits, LeftOut, Mirror, Remote, RepoError, Sha, WhyLeftOut,
};
use mock::{Fault, GitHub, Repo};
use tempfile::TempDir;

static RUN: AtomicBool = AtomicBool::new(false);

fn sha(id: impl ToString) -> Sha {
    id.to_string().parse().unwrap()
}

fn with_token(repository: &Repo, token: &str) -> Remote {
    Remote { url: repository.clone_url(), token: Some(token.to_owned().into()) }
}

fn reader(repository: &Repo) -> Remote {
    with_token(repository, &repository.github.mint(repository, &[("contents", "read")]))
}

fn fetch(mirror: &Mirror, remote: &Remote, wanted: &[Sha]) -> Result<(), RepoError> {
    mirror.fetch(remote, wanted, FetchLimits::default(), &RUN)
}

/// Every file below a folder with its text, in order; links as `-> target`.
fn listing(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_symlink() {
                all.push((name, format!("-> {}", fs::read_link(&path).unwrap().display())));
            } else if path.is_dir() {
                open.push(path);
            } else {
                all.push((name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn a_mirror_whose_making_was_cut_short_is_made_anew() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let main = kernels.commit("main", &[("softmax.py", "slow\n")]);
    let cache = TempDir::new().unwrap();
    // What git leaves where it is killed while it makes a repository.
    for name in ["7.git", "7.new"] {
        fs::create_dir_all(cache.path().join(name)).unwrap();
        fs::write(cache.path().join(name).join("HEAD.lock"), "").unwrap();
    }
    let mirror = Mirror::open(cache.path(), 7).unwrap();
    fetch(&mirror, &reader(&kernels), &[sha(main)]).unwrap();
    // Nor does the next one make it again.
    assert!(Mirror::open(cache.path(), 7).unwrap().has(&sha(main)).unwrap());
}

#[test]
fn exactly_the_approved_commit_of_a_forks_pull_request() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    kernels.set_private();
    kernels.commit("main", &[("softmax.py", "slow\n"), ("README.md", "Kernels\n")]);
    let fork = github.fork(&kernels, "outsider");
    fork.commit("faster", &[("src/fast.py", "fast\n")]);
    let pull = kernels.open_pull_from(&fork, "outsider", "faster");
    let approved = sha(pull.head_sha());
    pull.push("outsider", &[("src/fast.py", "evil\n")]);

    let cache = TempDir::new().unwrap();
    let mirror = Mirror::open(cache.path(), kernels.id).unwrap();
    assert!(!mirror.has(&approved).unwrap());
    fetch(&mirror, &reader(&kernels), std::slice::from_ref(&approved)).unwrap();
    assert!(mirror.has(&approved).unwrap());
    let folder = TempDir::new().unwrap();
    let done = mirror.check_out(&approved, folder.path(), CheckoutLimits::default()).unwrap();
    assert_eq!(done.left_out, []);
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        listing(folder.path()),
        [
            file("README.md", "Kernels\n"),
            file("softmax.py", "slow\n"),
            file("src/fast.py", "fast\n")
        ]
    );
    assert_eq!(mirror.read(&approved, "src/fast.py", 5).unwrap().unwrap(), b"fast\n");
    assert_eq!(mirror.read(&approved, "src", 5).unwrap(), None);
    assert_eq!(mirror.read(&approved, "none.py", 5).unwrap(), None);
    let large = mirror.read(&approved, "src/fast.py", 4).unwrap_err();
    assert!(matches!(large, RepoError::FileTooLarge { size: 5, limit: 4, .. }), "{large}");
    let paths = mirror.tree_paths(&approved, 10).unwrap();
    assert_eq!(paths, ["README.md", "softmax.py", "src/fast.py"]);

    // Its parent was not asked for, and so it is not there.
    let parent = sha(pull.base_sha());
    assert!(!mirror.has(&parent).unwrap());
    let missing = mirror.read(&parent, "README.md", 9).unwrap_err();
    assert!(matches!(missing, RepoError::Missing(_)), "{missing}");
    let full = mirror.check_out(&approved, folder.path(), CheckoutLimits::default()).unwrap_err();
    assert!(matches!(full, RepoError::NotEmpty(_)), "{full}");
}

#[test]
fn a_token_that_does_not_open_the_door_is_named_as_the_reason_and_never_shown() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    kernels.set_private();
    let head = sha(kernels.commit("main", &[("a.py", "a\n")]));
    let elsewhere = github.repository("acme/other");
    let cache = TempDir::new().unwrap();
    let mirror = Mirror::open(cache.path(), kernels.id).unwrap();
    let good = github.mint(&kernels, &[("contents", "read")]);
    let expired = github.mint(&kernels, &[("contents", "read")]);
    let other = github.mint(&elsewhere, &[("contents", "read")]);
    let narrow = github.mint(&kernels, &[("checks", "write")]);
    let said = |token: &str| {
        let error = fetch(&mirror, &with_token(&kernels, token), std::slice::from_ref(&head));
        let error = error.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains(token), "{text}");
        error
    };
    assert!(matches!(said(&other), RepoError::Forbidden { status: 404, .. }));
    assert!(matches!(said(&narrow), RepoError::Forbidden { status: 403, .. }));
    assert!(matches!(said("ghs_made_up"), RepoError::Unauthorised { .. }));
    fetch(&mirror, &with_token(&kernels, &good), std::slice::from_ref(&head)).unwrap();
    github.expire_tokens();
    let newer = sha(kernels.commit("main", &[("a.py", "b\n")]));
    let error = fetch(&mirror, &with_token(&kernels, &expired), &[newer]).unwrap_err();
    assert!(matches!(error, RepoError::Unauthorised { .. }), "{error}");

    for (name, text) in listing(cache.path()) {
        for token in [&good, &expired, &other, &narrow] {
            assert!(!text.contains(token.as_str()), "{name}");
        }
    }
}

#[test]
fn addresses_with_passwords_and_other_hosts_are_refused() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let head = sha(kernels.commit("main", &[("a.py", "a\n")]));
    let cache = TempDir::new().unwrap();
    let mirror = Mirror::open(cache.path(), kernels.id).unwrap();
    for url in
        ["https://me:hunter2@github.test/a/b.git", "http://github.test/a/b.git", "file:///etc"]
    {
        let remote = Remote { url: url.into(), token: None };
        let error = fetch(&mirror, &remote, std::slice::from_ref(&head)).unwrap_err();
        assert!(matches!(error, RepoError::Address(_)), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let secret = "ghs_not_for_others";
    for (to, refused) in [
        ("https://evil.test/a.git/git-upload-pack", true),
        ("/acme/kernels.git/git-upload-pack", false),
    ] {
        let from = redirecting(to);
        let remote =
            Remote { url: format!("{from}/old/name.git"), token: Some(secret.to_owned().into()) };
        let error = fetch(&mirror, &remote, std::slice::from_ref(&head)).unwrap_err();
        assert_eq!(matches!(error, RepoError::Redirected { .. }), refused, "{error}");
        assert!(!error.to_string().contains(secret), "{error}");
    }
}

/// A server that sends everybody to one place.
fn redirecting(to: &str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let to = to.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            use std::io::{Read, Write};
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let answer = format!(
                "HTTP/1.1 307 Moved\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_second_fetch_brings_only_what_is_new() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let noise: String =
        (0..60_000u64).map(|at| format!("{:x} ", at.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let first = sha(kernels.commit("main", &[("large.txt", &noise), ("a.py", "a\n")]));
    let second = sha(kernels.commit("main", &[("a.py", "b\n")]));
    let cache = TempDir::new().unwrap();
    let mirror = Mirror::open(cache.path(), kernels.id).unwrap();
    fetch(&mirror, &reader(&kernels), std::slice::from_ref(&first)).unwrap();

    let tight = FetchLimits { bytes: 10_000, time: Duration::from_secs(60) };
    mirror.fetch(&reader(&kernels), &[first.clone(), second.clone()], tight, &RUN).unwrap();
    assert_eq!(mirror.read(&second, "large.txt", 1 << 30).unwrap().unwrap(), noise.as_bytes());
    let requests = github.requests().len();
    fetch(&mirror, &reader(&kernels), &[first, second.clone()]).unwrap();
    assert_eq!(github.requests().len(), requests, "nothing is missing, so nobody is asked");

    let empty = TempDir::new().unwrap();
    let fresh = Mirror::open(empty.path(), kernels.id).unwrap();
    let error = fresh.fetch(&reader(&kernels), &[second], tight, &RUN).unwrap_err();
    assert!(matches!(error, RepoError::PackTooLarge { limit: 10_000 }), "{error}");
}

#[test]
fn a_fetch_that_was_cut_short_leaves_a_mirror_that_works() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let head = sha(kernels.commit("main", &[("a.py", "a\n")]));
    let cache = TempDir::new().unwrap();
    let mirror = Mirror::open(cache.path(), kernels.id).unwrap();
    let wanted = std::slice::from_ref(&head);
    let pack = "/acme/kernels.git/git-upload-pack";

    github.fail(1, "POST", pack, Fault::DropAfter);
    let error = fetch(&mirror, &reader(&kernels), wanted).unwrap_err();
    assert!(error.may_pass(), "{error}");
    github.fail(1, "POST", pack, Fault::ErrorBefore);
    let error = fetch(&mirror, &reader(&kernels), wanted).unwrap_err();
    assert!(matches!(error, RepoError::Status { status: 500, .. }), "{error}");
    github.fail(1, "POST", pack, Fault::Delay(Duration::from_secs(20)));
    let short = FetchLimits { time: Duration::from_millis(100), ..FetchLimits::default() };
    let error = mirror.fetch(&reader(&kernels), wanted, short, &RUN).unwrap_err();
    assert!(matches!(error, RepoError::TimedOut(_)), "{error}");
    let error = fetch(&mirror, &reader(&kernels), &[sha("1".repeat(40))]).unwrap_err();
    assert!(matches!(&error, RepoError::Remote(why) if why.contains("not our ref")), "{error}");

    // What a process leaves that was killed in the middle of a pack.
    let folder = cache.path().join(format!("{}.git", kernels.id));
    fs::create_dir(folder.join("incoming")).unwrap();
    fs::write(folder.join("incoming/_git2_half"), "PACK").unwrap();
    assert!(!mirror.has(&head).unwrap());
    fetch(&mirror, &reader(&kernels), wanted).unwrap();
    assert_eq!(mirror.read(&head, "a.py", 9).unwrap().unwrap(), b"a\n");
    assert!(!folder.join("incoming").exists());
}

#[test]
fn stopping_ends_a_fetch_that_waits() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let head = sha(kernels.commit("main", &[("a.py", "a\n")]));
    let cache = TempDir::new().unwrap();
    let mirror = Mirror::open(cache.path(), kernels.id).unwrap();
    github.fail(1, "*", "/acme/kernels.git/**", Fault::Delay(Duration::from_secs(60)));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let fetching = scope.spawn(|| {
            mirror.fetch(&reader(&kernels), &[head], FetchLimits::default(), &stop).unwrap_err()
        });
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(fetching.join().unwrap(), RepoError::Stopped));
    });
}

#[test]
fn two_fetches_at_once_take_turns() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let commits: Vec<Sha> =
        (0..8).map(|at| sha(kernels.commit("main", &[("a.py", &format!("{at}\n"))]))).collect();
    let cache = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for wanted in commits.chunks(2) {
            let (cache, kernels) = (cache.path(), &kernels);
            scope.spawn(move || {
                let mirror = Mirror::open(cache, kernels.id).unwrap();
                fetch(&mirror, &reader(kernels), wanted).unwrap();
            });
        }
    });
    let mirror = Mirror::open(cache.path(), kernels.id).unwrap();
    for (at, commit) in commits.iter().enumerate() {
        assert_eq!(mirror.read(commit, "a.py", 9).unwrap().unwrap(), format!("{at}\n").as_bytes());
    }
}

#[test]
fn a_commit_is_named_in_full() {
    for text in ["", "abc", "HEAD", &"G".repeat(40), &"A".repeat(40), &"a".repeat(41)] {
        let error = text.parse::<Sha>().unwrap_err();
        assert!(error.to_string().contains("all 40"), "{error}");
    }
}
