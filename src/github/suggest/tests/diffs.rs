//! Diffs as GitHub and git give them.

use super::*;

const WHOLE: &str = r#"diff --git a/gone.py b/gone.py
deleted file mode 100644
index 1..0
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/kernels/a b.py b/kernels/a b.py
index 1..2 100644
--- a/kernels/a b.py	
+++ b/kernels/a b.py	
@@ -1,3 +1,3 @@
 a
--- minus
+++ plus
 c
@@ -10 +10,2 @@ def f():
-j
+j1
+j2
\ No newline at end of file
diff --git a/picture.png b/picture.png
Binary files a/picture.png and b/picture.png differ
diff --git "a/n\303\251 \"q\".py" "b/n\303\251 \"q\".py"
new file mode 100644
--- /dev/null
+++ "b/n\303\251 \"q\".py"
@@ -0,0 +1 @@
+x
"#;

#[test]
fn a_whole_diff_is_read_file_by_file() {
    let files = FileDiff::parse_all(WHOLE).unwrap();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["kernels/a b.py", "né \"q\".py"]);
    let spaced = &files[0].1;
    assert_eq!(
        [0..1, 0..3, 2..4, 9..11, 8..10, 11..12].map(|lines| spaced.hunk_of(&lines)),
        [Some(0), Some(0), None, Some(1), None, None]
    );
    let head = "a\n++ plus\nc\nd\ne\nf\ng\nh\ni\nj1\nj2";
    assert_eq!(spaced.belongs_to(head), Ok(()));
}

#[test]
fn the_patch_of_a_file_has_no_headers_and_no_last_newline() {
    let diff = FileDiff::parse("@@ -1,2 +1,3 @@\n a\n+b\n c").unwrap();
    assert_eq!((diff.hunk_of(&(0..3)), diff.hunk_of(&(3..4))), (Some(0), None));
    // A context line that lost its space, and a marker between two sides.
    let diff =
        FileDiff::parse("@@ -1,2 +1,2 @@\n\n-b\n\\ No newline at end of file\n+c\n").unwrap();
    assert_eq!(diff.belongs_to("\nc\n"), Ok(()));
    assert_eq!(FileDiff::parse("").unwrap(), FileDiff::default());
}

#[test]
fn what_is_no_diff_is_said_with_its_line() {
    let said = |patch: &str| FileDiff::parse(patch).unwrap_err().to_string();
    assert!(said("hello").contains("line 1 of the diff should begin a hunk"));
    assert!(said("@@ -1,99999999999999999999 +1 @@\n a").contains("begin a hunk"));
    assert!(said("@@ -1,2 +1,2 @@\n a").contains("ends inside a hunk"));
    assert!(said("@@ -1 +1 @@\n*a").contains("line 2"));
    assert!(said("@@ -1 +0,0 @@\n+a").contains("line 2"));
    assert!(said("@@ -5 +5 @@\n a\n@@ -1 +1 @@\n b").contains("out of order at line 3"));
}

#[test]
fn what_git_writes_is_read_whatever_the_file_is_called() {
    let base: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let head = base.replace("line 3\n", "line 3\n-- odd\n++ odder\n\n").replace("line 20\n", "")
        + "no end";
    for name in ["k.py", "my kernel.py", "né \"q\".py", "back\\slash.py", "tab\there.py"] {
        let folder = tempfile::tempdir().unwrap();
        for (side, text) in [("old", &base), ("new", &head)] {
            std::fs::create_dir(folder.path().join(side)).unwrap();
            std::fs::write(folder.path().join(side).join(name), text).unwrap();
        }
        let output = std::process::Command::new("git")
            .args(["diff", "--no-index", "old", "new"])
            .current_dir(folder.path())
            // Whatever the machine is configured to show must not decide a test.
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()
            .unwrap();
        let written = String::from_utf8(output.stdout).unwrap();
        let files = FileDiff::parse_all(&written).unwrap();
        let [(path, diff)] = &files[..] else { panic!("{written}") };
        assert_eq!(path, &format!("new/{name}"));
        assert_eq!(diff.belongs_to(&head), Ok(()));
        // And what the other tests take for git's hunks are git's hunks.
        assert_eq!(diff, &FileDiff::parse(&github::patch(&base, &head, 3)).unwrap());
    }
}
