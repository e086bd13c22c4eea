//! Trees made by hand, as no git client would make them.

use super::*;

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
