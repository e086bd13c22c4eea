//! Reading back: what the bot wrote, and a pull request's page as text.

use std::fmt::Write as _;

use super::GitHub;
use super::pull_request::PullRequest;
use super::state::{CheckRun, Reaction};

impl GitHub {
    /// Every write so far, read or not.
    pub fn writes(&self) -> Vec<String> {
        self.world().writes.iter().map(|write| write.what.clone()).collect()
    }

    /// Writes nobody has read yet; they count as read now.
    pub fn unread_writes(&self) -> Vec<String> {
        let mut world = self.world();
        let unread = world.writes.iter_mut().filter(|write| !write.read);
        unread
            .map(|write| {
                write.read = true;
                write.what.clone()
            })
            .collect()
    }

    /// Reads the first unread write that contains the text.
    pub fn read_write(&self, containing: &str) -> Option<String> {
        let mut world = self.world();
        let fits =
            |write: &&mut super::state::Write| !write.read && write.what.contains(containing);
        let write = world.writes.iter_mut().find(fits)?;
        write.read = true;
        Some(write.what.clone())
    }

    /// The same, where it has to be there.
    pub fn expect_write(&self, containing: &str) -> String {
        self.read_write(containing).unwrap_or_else(|| {
            let all = self.writes().join("\n\n");
            panic!("no unread write contains {containing:?}; all writes:\n{all}")
        })
    }

    /// The same, once it is there.
    pub async fn await_write(&self, containing: &str) -> String {
        let there = |github: &Self| {
            let world = github.world();
            world.writes.iter().any(|write| !write.read && write.what.contains(containing))
        };
        self.until(&format!("a write contains {containing:?}"), there).await;
        self.expect_write(containing)
    }

    /// Counts every write that contains the text as read, however many: progress, say.
    pub fn read_all(&self, containing: &str) -> Vec<String> {
        let mut world = self.world();
        let fits = |write: &&mut super::state::Write| write.what.contains(containing);
        let all = world.writes.iter_mut().filter(fits);
        all.map(|write| {
            write.read = true;
            write.what.clone()
        })
        .collect()
    }

    /// Ends a test: a write nobody read is one nobody expected.
    #[track_caller]
    pub fn finish(&self) {
        let unread = self.unread_writes();
        assert!(unread.is_empty(), "writes nobody expected:\n{}", unread.join("\n\n"));
    }

    pub fn check_runs(&self) -> Vec<CheckRun> {
        self.world().checks.clone()
    }
}

impl PullRequest {
    /// The page of the pull request: labels, reactions, comments, reviews, and every state its
    /// check runs went through. Addresses and SHAs are replaced by names.
    pub fn conversation(&self) -> String {
        let mut out = String::new();
        let pull = self.now();
        let state = match (pull.open, pull.merged) {
            (true, _) if pull.draft => "draft",
            (true, _) => "open",
            (false, true) => "merged",
            (false, false) => "closed",
        };
        let _ = write!(out, "# {} #{} ({state})", pull.title, self.number);
        let _ = writeln!(out, " {}{}", pull.labels.join(", "), reactions(&pull.reactions));
        if !pull.body.is_empty() {
            let _ = writeln!(out, "{}", pull.body);
        }
        for comment in self.comments() {
            let folded = comment.minimized.map_or(String::new(), |why| format!(" [{why}]"));
            let _ = writeln!(
                out,
                "\n## {}{}{folded}\n{}",
                comment.author,
                reactions(&comment.reactions),
                comment.body
            );
        }
        for review in self.reviews() {
            let _ =
                writeln!(out, "\n## {} reviews: {}\n{}", review.author, review.state, review.body);
            for comment in self.review_comments(review.id) {
                let from = comment.start_line.map_or(String::new(), |line| format!("{line}-"));
                let _ = writeln!(
                    out,
                    "\n### {}:{from}{}\n{}",
                    comment.path, comment.line, comment.body
                );
            }
        }
        for run in self.repository.github.check_runs() {
            if run.repository == self.repository.id && self.has_commit(&run.head_sha) {
                let _ = writeln!(out, "\n## check run {} on {}", run.name, run.head_sha);
                for state in &run.history {
                    let _ = writeln!(out, "{state}");
                }
            }
        }
        self.named(&out)
    }

    fn has_commit(&self, sha: &str) -> bool {
        let git = self.repository.git();
        let head = self.now().head_sha;
        git2::Oid::from_str(sha)
            .is_ok_and(|sha| sha == head || git.graph_descendant_of(head, sha).unwrap_or(false))
    }

    /// The text with this pull request's SHAs (and their first 8 and 7 digits) and the server's
    /// address replaced.
    pub fn named(&self, text: &str) -> String {
        let pull = self.now();
        let mut text = text.replace(&self.repository.github.site(), "https://github.test");
        for (sha, name) in [(pull.head_sha, "HEAD"), (pull.base_sha, "BASE")] {
            let sha = sha.to_string();
            for digits in [40, 12, 8, 7] {
                text = text.replace(&sha[..digits], &format!("<{name}{}>", suffix(digits)));
            }
        }
        text
    }
}

fn suffix(digits: usize) -> String {
    if digits == 40 { String::new() } else { format!(":{digits}") }
}

fn reactions(all: &[Reaction]) -> String {
    let shown: Vec<String> =
        all.iter().map(|one| format!(" :{}: by {}", one.content, one.author)).collect();
    shown.concat()
}
