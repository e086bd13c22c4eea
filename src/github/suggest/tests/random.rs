//! Random files, pull requests and verified kernels: what GitHub makes of a review is the verified
//! file, or there is no review.

use std::cell::Cell;

use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config, TestRunner},
};

use super::{github, *};

/// An edit of one line: what happens, where, with which text.
type Edit = (u8, Index, String);

fn line() -> impl Strategy<Value = String> {
    let code = prop::sample::select(vec![
        "a = 1",
        "b = 2",
        "",
        "",
        "    return x",
        "# note",
        "def f(x):",
        "\tx += 1",
        "trailing  ",
    ]);
    let marks = prop::sample::select(vec![
        "```",
        "````suggestion",
        "~~~",
        "~~~~ x",
        "   ```",
        "` `` `",
        "@@ -1 +1 @@",
        "--- a",
        "+++ b",
        "\\ No newline",
        "> quote",
        "- item",
        "<details>",
    ]);
    let odd = prop::sample::select(vec!["é = 'ß'", "# 🔥 日本", "# \u{301}x", "x = 'a\u{a0}b'"]);
    prop_oneof![
        12 => code.prop_map(str::to_owned),
        2 => marks.prop_map(str::to_owned),
        2 => odd.prop_map(str::to_owned),
        4 => any::<u16>().prop_map(|n| format!("v{n} = {n}")),
        1 => (200usize..3000).prop_map(|n| format!("long = '{}'", "xy".repeat(n))),
    ]
}

/// The same, and now and then what is never offered, by rule.
fn wild_line() -> impl Strategy<Value = String> {
    let wild =
        prop::sample::select(vec!["crlf\r", "lone\rreturn", "\u{c}", "a\u{2028}b", "\u{feff}"]);
    prop_oneof![60 => line(), 1 => wild.prop_map(str::to_owned)]
}

fn edits(line: BoxedStrategy<String>) -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((0u8..4, any::<Index>(), line), 1..6)
}

/// Edits `lines` within `range` (of lines as they were), which moves as the edits go.
fn edit(lines: &mut Vec<String>, mut range: std::ops::Range<usize>, edits: &[Edit]) {
    for (what, place, text) in edits {
        let at = range.start + place.index(range.len() + 1);
        match what {
            0 if at < range.end => lines[at].clone_from(text),
            1 if range.len() > 1 && at < range.end => {
                lines.remove(at);
                range.end -= 1;
            }
            _ => {
                lines.insert(at, text.clone());
                range.end += 1;
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Scene {
    base: Vec<String>,
    pull: Vec<Edit>,
    search: Vec<Edit>,
    hunk: Index,
    /// Newlines at the end of head and verified file.
    newlines: (bool, bool),
    context: usize,
}

impl Scene {
    fn text(lines: &[String], newline: bool) -> String {
        let text = lines.join("\n");
        if newline && !lines.is_empty() { text + "\n" } else { text }
    }

    fn head_lines(&self) -> Vec<String> {
        let mut head = self.base.clone();
        let all = 0..head.len();
        edit(&mut head, all, &self.pull);
        head
    }

    fn base_and_head(&self) -> (String, String) {
        let newline = self.newlines.0;
        (Self::text(&self.base, newline), Self::text(&self.head_lines(), newline))
    }
}

fn scenes(line: BoxedStrategy<String>) -> impl Strategy<Value = Scene> {
    let newlines = prop_oneof![
        20 => Just((true, true)), 2 => Just((false, false)), 1 => Just((true, false)), 1 => Just((false, true)),
    ];
    let base = prop_oneof![1 => Just(Vec::new()), 9 => prop::collection::vec(line.clone(), 0..60)];
    let context = prop_oneof![6 => Just(3usize), 1 => Just(0), 1 => Just(1)];
    (base, edits(line.clone()), edits(line), any::<Index>(), newlines, context).prop_map(
        |(base, pull, search, hunk, newlines, context)| Scene {
            base,
            pull,
            search,
            hunk,
            newlines,
            context,
        },
    )
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

#[test]
fn what_github_makes_of_it_is_the_verified_file_or_nothing_is_offered() {
    let (offered, refused) = (Cell::new(0u32), Cell::new(0u32));
    runner(3000)
        .run(&scenes(wild_line().boxed()), |scene| {
            let (base, head) = scene.base_and_head();
            let mut verified = scene.head_lines();
            let all = 0..verified.len();
            edit(&mut verified, all, &scene.search);
            let verified = Scene::text(&verified, scene.newlines.1);
            let patch = github::patch(&base, &head, scene.context);
            let diff = FileDiff::parse(&patch).expect(&patch);
            match suggest("k.py", &head, &verified, &diff) {
                Ok(review) => {
                    prop_assert!(!review.is_empty() && review.len() <= AT_MOST);
                    let applied = github::apply_batch(&head, &patch, &review);
                    prop_assert_eq!(applied.as_ref(), Ok(&verified), "{}", patch);
                    prop_assert_eq!(apply(&head, &review), Ok(verified));
                    offered.set(offered.get() + 1);
                }
                // It would have been right all along: the last check is there for what nobody thought of.
                Err(NoSuggestion::NotTheVerifiedFile) => prop_assert!(false, "{}", patch),
                Err(_) => refused.set(refused.get() + 1),
            }
            Ok(())
        })
        .unwrap();
    assert!(offered.get() > 300 && refused.get() > 300, "{offered:?} {refused:?}");
}

#[test]
fn of_edits_inside_one_hunk_at_least_95_in_100_get_a_suggestion() {
    let (offered, inside) = (Cell::new(0u32), Cell::new(0u32));
    runner(3000)
        .run(&scenes(line().boxed()), |scene| {
            let (base, head) = scene.base_and_head();
            let patch = github::patch(&base, &head, 3);
            let hunks = github::right_sides(&patch);
            let newline = scene.newlines.0;
            let shown: Vec<_> = hunks.iter().filter(|hunk| !hunk.is_empty()).collect();
            if shown.is_empty() {
                return Ok(());
            }
            let hunk = scene.hunk.get(&shown);
            let range = hunk[0] as usize - 1..hunk[hunk.len() - 1] as usize;
            let mut verified = scene.head_lines();
            edit(&mut verified, range, &scene.search);
            let verified = Scene::text(&verified, newline);
            if verified == head {
                return Ok(());
            }
            inside.set(inside.get() + 1);
            let diff = FileDiff::parse(&patch).expect(&patch);
            if let Ok(review) = suggest("k.py", &head, &verified, &diff) {
                let applied = github::apply_batch(&head, &patch, &review);
                prop_assert_eq!(applied.as_ref(), Ok(&verified), "{}", patch);
                offered.set(offered.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    let (offered, inside) = (offered.get(), inside.get());
    println!("{offered} of {inside} edits inside one hunk got a suggestion");
    assert!(inside > 1000 && offered * 100 >= inside * 95, "{offered} of {inside}");
}
