//! GitHub as far as suggestions go, written without the code under test: diffs as git makes them, what
//! a comment may stand on, how a body is read, what applying does.

use similar::{Algorithm, ChangeTag, capture_diff_slices};

use super::Suggestion;

/// Hunks of `base → head` with `context` unchanged lines, as in the `patch` of a pull request's file.
pub(super) fn patch(base: &str, head: &str, context: usize) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (base.split_inclusive('\n').collect(), head.split_inclusive('\n').collect());
    let lines: Vec<(ChangeTag, &str)> = capture_diff_slices(Algorithm::Myers, &old, &new)
        .iter()
        .flat_map(|op| op.iter_changes(&old, &new))
        .map(|change| (change.tag(), change.value()))
        .collect();
    let near = |at: usize| {
        let window = at.saturating_sub(context)..lines.len().min(at + context + 1);
        lines[window].iter().any(|(tag, _)| *tag != ChangeTag::Equal)
    };
    let (mut patch, mut at, mut before) = (String::new(), 0, [0usize, 0]);
    while at < lines.len() {
        let hunk: Vec<_> =
            lines[at..].iter().enumerate().take_while(|(n, _)| near(at + n)).collect();
        if hunk.is_empty() {
            before = before.map(|count| count + 1);
            at += 1;
            continue;
        }
        let count = |other| hunk.iter().filter(|(_, (tag, _))| *tag != other).count();
        let sides = [count(ChangeTag::Insert), count(ChangeTag::Delete)];
        let range = |side: usize| match sides[side] {
            0 => format!("{},0", before[side]),
            length => format!("{},{length}", before[side] + 1),
        };
        patch += &format!("@@ -{} +{} @@ def something\n", range(0), range(1));
        for (_, (tag, text)) in &hunk {
            patch += &format!("{tag}{text}");
            if !text.ends_with('\n') {
                patch += "\n\\ No newline at end of file\n";
            }
        }
        before = [before[0] + sides[0], before[1] + sides[1]];
        at += hunk.len();
    }
    patch.strip_suffix('\n').unwrap_or(&patch).to_owned()
}

/// For each hunk, the numbers of the lines on its right side.
pub(super) fn right_sides(patch: &str) -> Vec<Vec<u32>> {
    let mut hunks: Vec<Vec<u32>> = Vec::new();
    let mut number = 0;
    for line in patch.split('\n') {
        if line.starts_with("@@ ") {
            let new = line.split(' ').nth(2).unwrap();
            let start = new[1..].split(',').next().unwrap();
            number = start.parse().unwrap();
            hunks.push(Vec::new());
        } else if line.starts_with(['+', ' ']) {
            hunks.last_mut().unwrap().push(number);
            number += 1;
        }
    }
    hunks
}

/// The lines in the first fenced block whose info is `suggestion` (CommonMark 4.5): opened by three or
/// more backticks or tildes, closed by at least as many of the same and nothing else.
fn suggested(body: &str) -> Option<Vec<String>> {
    let fence = |line: &str| {
        let mark =
            line.trim_start_matches(' ').chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let line = line.trim_start_matches(' ');
        let length = line.chars().take_while(|c| *c == mark).count();
        (length >= 3).then(|| (mark, length, line[length..].trim().to_owned()))
    };
    let mut lines = body.split('\n');
    while let Some(line) = lines.next() {
        let Some((mark, length, info)) = fence(line) else { continue };
        let closes = |line: &str| {
            fence(line).is_some_and(|(m, l, rest)| m == mark && l >= length && rest.is_empty())
        };
        let inside: Vec<String> =
            lines.by_ref().take_while(|line| !closes(line)).map(str::to_owned).collect();
        if info == "suggestion" {
            return Some(inside);
        }
    }
    None
}

/// Posts a review and applies all of it as one batch: the file, or why GitHub would refuse.
pub(super) fn apply_batch(
    head: &str,
    patch: &str,
    suggestions: &[Suggestion],
) -> Result<String, String> {
    let hunks = right_sides(patch);
    let mut file: Vec<String> = head.split('\n').map(str::to_owned).collect();
    let mut taken = Vec::new();
    let mut above = u32::MAX;
    for comment in suggestions {
        let start = comment.start_line.unwrap_or(comment.line);
        if comment.start_line.is_some_and(|start| start >= comment.line) {
            return Err(format!("start_line {start} must precede line {}", comment.line));
        }
        if !hunks.iter().any(|hunk| hunk.contains(&start) && hunk.contains(&comment.line)) {
            return Err(format!("{start} to {} is not part of one hunk", comment.line));
        }
        if (start..=comment.line).any(|line| taken.contains(&line)) {
            return Err(format!("a second suggestion on {start} to {}", comment.line));
        }
        taken.extend(start..=comment.line);
        if comment.line >= above {
            return Err("lower lines come first".into());
        }
        above = start;
        if comment.body.chars().count() > 65_536 {
            return Err("body is too long".into());
        }
        // One after another, without minding what those before have moved: the order has to do it.
        let lines = suggested(&comment.body).ok_or("no suggestion in the body")?;
        file.splice(start as usize - 1..comment.line as usize, lines);
    }
    Ok(file.join("\n"))
}
