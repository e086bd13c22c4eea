//! Reviews and their comments: all of a review, or nothing of it.

use git2::Oid;
use serde_json::{Value, json};

use super::{Answer, Call, Outcome, page, pull_at, repository, required, short_enough, text};
use crate::mock::git::{self, ChangedFile};
use crate::mock::state::{Pull, Review, ReviewComment};
use crate::mock::world::World;

const READ: &[(&str, &str)] = &[("pull_requests", "read")];
const WRITE: &[(&str, &str)] = &[("pull_requests", "write")];
/// More comments than this, and a review is refused.
const MOST_COMMENTS: usize = 100;

pub fn answer(world: &mut World, call: &Call, method: &str, path: &[&str]) -> Option<Outcome> {
    let ["repos", owner, name, "pulls", rest @ ..] = path else { return None };
    Some(match (method, rest) {
        ("GET", [number, "reviews"]) => world.allow(call, owner, name, READ).and_then(|id| {
            let (number, _) = pull_at(world, id, number)?;
            let of = |one: &&Review| one.repository == id && one.number == number;
            let all = world.reviews.iter().filter(of).map(|one| world.review_json(one)).collect();
            Ok(page(world, call, all))
        }),
        ("POST", [number, "reviews"]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| create(world, call, id, number))
        }
        ("GET", [number, "reviews", review, "comments"]) => {
            world.allow(call, owner, name, READ).and_then(|id| {
                pull_at(world, id, number)?;
                Ok(comments(world, call, |one| one.review.to_string() == *review))
            })
        }
        ("GET", [number, "comments"]) => world.allow(call, owner, name, READ).and_then(|id| {
            let (number, _) = pull_at(world, id, number)?;
            Ok(comments(world, call, |one| one.repository == id && one.number == number))
        }),
        ("POST", [number, "comments"]) => world
            .allow(call, owner, name, WRITE)
            .and_then(|id| file_comment(world, call, id, number)),
        _ => return None,
    })
}

fn comments(world: &World, call: &Call, of: impl Fn(&ReviewComment) -> bool) -> Answer {
    let all = world.review_comments.iter().filter(|one| of(one));
    page(world, call, all.map(|one| world.review_comment_json(one)).collect())
}

fn create(world: &mut World, call: &Call, id: u64, number: &str) -> Outcome {
    let (number, pull) = pull_at(world, id, number)?;
    let input = call.input()?;
    let body = text(&input, "body").unwrap_or_default();
    short_enough(body)?;
    let state = match text(&input, "event") {
        None => "PENDING",
        Some("COMMENT") => "COMMENTED",
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        Some(_) => return Err(Answer::invalid(&["Event is not a valid value"])),
    };
    let asked = input.get("comments").and_then(Value::as_array).cloned().unwrap_or_default();
    if state == "COMMENTED" && body.is_empty() && asked.is_empty() {
        return Err(Answer::invalid(&["Review cannot be blank"]));
    }
    if asked.len() > MOST_COMMENTS {
        return Err(Answer::invalid(&["Too many comments"]));
    }
    let commit = commit_of(world, id, &pull, &input)?;
    let git = repository(world, id).git();
    let changed = git::changed_files(&git::pull_diff(&git, pull.base_sha, commit));
    let (review, bot, now) = (world.id(), world.bot(), world.now());
    let mut made = Vec::new();
    for comment in &asked {
        let anchor = anchor(&changed, comment)?;
        let body = required(comment, "body")?;
        short_enough(body)?;
        made.push(ReviewComment {
            id: world.id(),
            repository: id,
            number,
            review,
            author: bot.clone(),
            body: body.to_owned(),
            path: required(comment, "path")?.to_owned(),
            commit,
            line: anchor.line,
            start_line: anchor.start_line,
            side: anchor.side,
            hunk: anchor.hunk,
            created: now,
            minimized: None,
        });
    }
    let full = repository(world, id).full_name();
    let mut what = format!("reviews {full}#{number} at {commit}, {state}:\n{body}");
    for comment in &made {
        let from = comment.start_line.map_or(String::new(), |line| format!("{line}-"));
        what += &format!("\n-- {}:{from}{}\n{}", comment.path, comment.line, comment.body);
    }
    world.wrote(what);
    world.reviews.push(Review {
        id: review,
        repository: id,
        number,
        author: bot.clone(),
        body: body.to_owned(),
        state: state.to_owned(),
        commit,
        created: now,
        minimized: None,
    });
    world.review_comments.extend(made);
    let review = world.review_json(world.reviews.last().unwrap());
    let base = repository(world, id);
    let event = json!({ "review": review, "pull_request": world.pull_json(base, &pull) });
    world.send(id, "pull_request_review", Some("submitted"), event, &bot);
    Ok(Answer::json(200, &review))
}

/// The commit a review is about: one of the pull request's, else its head.
fn commit_of(world: &World, id: u64, pull: &Pull, input: &Value) -> Result<Oid, Answer> {
    let Some(asked) = text(input, "commit_id") else { return Ok(pull.head_sha) };
    let git = repository(world, id).git();
    let known = Oid::from_str(asked).ok().filter(|commit| {
        *commit == pull.head_sha || git.graph_descendant_of(pull.head_sha, *commit).unwrap_or(false)
    });
    known.ok_or_else(|| Answer::invalid(&["commit_id is not part of the pull request"]))
}

struct Anchor {
    line: u32,
    start_line: Option<u32>,
    side: String,
    hunk: String,
}

/// Where a comment stands: both ends in one hunk of the diff, in order.
fn anchor(changed: &[ChangedFile], comment: &Value) -> Result<Anchor, Answer> {
    let refuse = |why: &str| Err(Answer::invalid(&[why]));
    let path = required(comment, "path")?;
    let number = |field: &str| comment.get(field).and_then(Value::as_u64).map(|n| n as u32);
    let Some(line) = number("line") else {
        return refuse("Pull request review thread line must be part of the diff");
    };
    let start_line = number("start_line");
    let side = text(comment, "side").unwrap_or("RIGHT");
    if !matches!(side, "LEFT" | "RIGHT") {
        return refuse("side is not included in the list");
    }
    if text(comment, "start_side").is_some_and(|start| start != side) {
        return refuse("start_side must be the same as side");
    }
    if start_line.is_some_and(|start| start >= line) {
        return refuse("start_line must precede the end line");
    }
    let Some(file) = changed.iter().find(|file| file.path == path) else {
        return refuse("Path could not be resolved");
    };
    let on = |hunk: &git::Hunk, line: u32| {
        if side == "RIGHT" { hunk.right.contains(&line) } else { hunk.left.contains(&line) }
    };
    let Some(hunk) = file.hunks.iter().find(|hunk| on(hunk, line)) else {
        return refuse("Line could not be resolved");
    };
    if start_line.is_some_and(|start| !on(hunk, start)) {
        return refuse("Start line must be part of the same hunk as the line.");
    }
    Ok(Anchor { line, start_line, side: side.to_owned(), hunk: hunk.text.clone() })
}

/// A single comment, on a line or (`subject_type: file`) on a file of the diff.
fn file_comment(world: &mut World, call: &Call, id: u64, number: &str) -> Outcome {
    let (number, pull) = pull_at(world, id, number)?;
    let input = call.input()?;
    let (path, body) = (required(&input, "path")?, required(&input, "body")?);
    short_enough(body)?;
    required(&input, "commit_id")?;
    let commit = commit_of(world, id, &pull, &input)?;
    let git = repository(world, id).git();
    let changed = git::changed_files(&git::pull_diff(&git, pull.base_sha, commit));
    let anchor = if text(&input, "subject_type") == Some("file") {
        if !changed.iter().any(|file| file.path == path) {
            return Err(Answer::invalid(&["Path could not be resolved"]));
        }
        Anchor { line: 1, start_line: None, side: "RIGHT".into(), hunk: String::new() }
    } else {
        anchor(&changed, &input)?
    };
    let (bot, full) = (world.bot(), repository(world, id).full_name());
    let comment = ReviewComment {
        id: world.id(),
        repository: id,
        number,
        review: 0,
        author: bot,
        body: body.to_owned(),
        path: path.to_owned(),
        commit,
        line: anchor.line,
        start_line: anchor.start_line,
        side: anchor.side,
        hunk: anchor.hunk,
        created: world.now(),
        minimized: None,
    };
    world.wrote(format!("comments on file {path} of {full}#{number}:\n{body}"));
    let answer = world.review_comment_json(&comment);
    world.review_comments.push(comment);
    Ok(Answer::json(201, &answer))
}
