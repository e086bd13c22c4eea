//! Mirrors and work trees against a git server: exactly what was approved, and nothing that a
//! hostile tree asks for.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "mock/mod.rs"]
mod mock;

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

/// A tree by hand: name, mode and object of each entry, none of it checked.
fn tree(repository: &Repo, entries: &[(&str, u32, Oid)]) -> Oid {
    let mut raw = Vec::new();
    for (name, mode, id) in entries {
        raw.extend_from_slice(format!("{mode:o} {name}\0").as_bytes());
        raw.extend_from_slice(id.as_bytes());
    }
    repository.git().odb().unwrap().write(ObjectType::Tree, &raw).unwrap()
}

fn blob(repository: &Repo, text: &str) -> Oid {
    repository.git().blob(text.as_bytes()).unwrap()
}

/// A branch with one commit of that tree.
fn commit_of(repository: &Repo, tree: Oid) -> Sha {
    let id = mock::git::commit_tree(&repository.git(), tree, Vec::new(), "mona", "By hand", 1);
    repository.set_branch("by-hand", id);
    sha(id)
}

/// Fetches and checks out into a new folder.
fn check_out(repository: &Repo, commit: &Sha) -> (TempDir, Vec<LeftOut>) {
    let cache = TempDir::new().unwrap();
    let mirror = Mirror::open(cache.path(), repository.id).unwrap();
    fetch(&mirror, &reader(repository), std::slice::from_ref(commit)).unwrap();
    let folder = TempDir::new().unwrap();
    let done = mirror.check_out(commit, folder.path(), CheckoutLimits::default()).unwrap();
    (folder, done.left_out)
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
fn hostile_names_links_and_modules_stay_outside_and_are_named() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let evil = blob(&kernels, "evil\n");
    let link = |target: &str| blob(&kernels, target);
    let below = tree(
        &kernels,
        &[
            ("config", 0o100_644, evil),
            ("hooks", 0o040_000, tree(&kernels, &[("x", 0o100_755, evil)])),
        ],
    );
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    let good =
        tree(&kernels, &[("up", 0o120_000, link("../good.py")), ("run.sh", 0o100_755, evil)]);
    let module = Oid::from_str(&"7".repeat(40)).unwrap();
    let root = tree(
        &kernels,
        &[
            ("../evil", 0o100_644, evil),
            ("..", 0o040_000, below),
            (".GiT", 0o040_000, below),
            (".git", 0o040_000, below),
            ("a", 0o120_000, link("b")),
            ("b", 0o120_000, link("..")),
            ("big.bin", 0o100_644, blob(&kernels, pointer)),
            ("dir", 0o120_000, link("/tmp")),
            ("dir", 0o040_000, good),
            ("good.py", 0o100_644, evil),
            ("module", 0o160_000, module),
            ("passwd", 0o120_000, link("/etc/passwd")),
            ("sub", 0o040_000, good),
            ("through", 0o120_000, link("../../outside")),
        ],
    );
    let (folder, left_out) = check_out(&kernels, &commit_of(&kernels, root));
    let shown: Vec<String> =
        left_out.iter().map(|one| format!("{}: {:?}", one.path, one.why)).collect();
    assert_eq!(
        shown,
        [
            "..: Name",
            "../evil: Name",
            ".GiT: Name",
            ".git: Name",
            "a: LinkOutside",
            "b: LinkOutside",
            "big.bin: LfsPointer",
            "dir: LinkOutside",
            // Its folder may be the link of the same name, and then it would lead elsewhere.
            "dir/up: LinkOutside",
            "module: Submodule",
            "passwd: LinkOutside",
            "through: LinkOutside",
        ]
    );
    let names: Vec<String> = listing(folder.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["big.bin", "dir/run.sh", "good.py", "sub/run.sh", "sub/up"]);
    let mode =
        |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o111;
    assert_ne!(mode("sub/run.sh"), 0);
    assert_eq!(mode("good.py"), 0);
    assert!(!folder.path().parent().unwrap().join("evil").exists());
}

#[test]
fn a_path_that_is_both_folder_and_link_is_written_once_and_inside() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let file = blob(&kernels, "x\n");
    let inside = tree(&kernels, &[("f", 0o100_644, file)]);
    // A harmless link, and a folder of the same name with a file below it.
    let root = tree(
        &kernels,
        &[
            ("d", 0o120_000, blob(&kernels, "other")),
            ("d", 0o040_000, inside),
            ("other", 0o040_000, inside),
        ],
    );
    let (folder, left_out) = check_out(&kernels, &commit_of(&kernels, root));
    assert_eq!(left_out, [LeftOut { path: "d".into(), why: WhyLeftOut::Twice }]);
    let names: Vec<String> = listing(folder.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["d/f", "other/f"]);
}

#[test]
fn trees_over_the_limits_are_refused_before_anything_is_written() {
    let github = GitHub::start();
    let kernels = github.repository("acme/kernels");
    let small = blob(&kernels, "x\n");
    let leaf_names: Vec<String> = (0..1000).map(|at| format!("f{at:03}")).collect();
    let leaf: Vec<_> = leaf_names.iter().map(|name| (name.as_str(), 0o100_644, small)).collect();
    let leaf = tree(&kernels, &leaf);
    let branches: Vec<_> =
        leaf_names.iter().take(100).map(|name| (name.as_str(), 0o040_000, leaf)).collect();
    let many = commit_of(&kernels, tree(&kernels, &branches));
    let giant = blob(&kernels, &"0".repeat(30 << 20));
    let giant = commit_of(&kernels, tree(&kernels, &[("giant.bin", 0o100_644, giant)]));

    let cache = TempDir::new().unwrap();
    let mirror = Mirror::open(cache.path(), kernels.id).unwrap();
    fetch(&mirror, &reader(&kernels), &[many.clone(), giant.clone()]).unwrap();
    let folder = TempDir::new().unwrap();
    let limits = CheckoutLimits { files: 99_999, bytes: 20 << 20 };
    let error = mirror.check_out(&many, folder.path(), limits).unwrap_err();
    assert_eq!(error.to_string(), "the tree has more than the 99999 files and folders allowed");
    let error = mirror.check_out(&giant, folder.path(), limits).unwrap_err();
    assert!(
        matches!(&error, RepoError::TooManyBytes { path, .. } if path == "giant.bin"),
        "{error}"
    );
    assert!(matches!(mirror.tree_paths(&many, 500), Err(RepoError::TooManyFiles { .. })));
    assert_eq!(listing(folder.path()), []);
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
