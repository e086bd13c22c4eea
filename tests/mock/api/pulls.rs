//! Repositories, pull requests and their diffs.

use serde_json::{Value, json};

use super::{Answer, Call, Outcome, page, pull_at, repository, required, short_enough, text};
use crate::mock::git::{self, ChangedFile};
use crate::mock::state::Pull;
use crate::mock::world::World;

/// Above these, GitHub has no diff to give.
const DIFF_FILES: usize = 300;
const DIFF_LINES: usize = 20_000;
/// Above this many lines, a file has no `patch`.
const PATCH_LINES: usize = 3000;
const READ: &[(&str, &str)] = &[("pull_requests", "read")];
const WRITE: &[(&str, &str)] = &[("pull_requests", "write")];

pub fn answer(world: &mut World, call: &Call, method: &str, path: &[&str]) -> Option<Outcome> {
    let ["repos", owner, name, rest @ ..] = path else { return None };
    Some(match (method, rest) {
        ("GET", []) => world
            .allow(call, owner, name, &[("metadata", "read")])
            .map(|id| Answer::json(200, &world.repository_json(repository(world, id)))),
        ("GET", ["pulls"]) => world.allow(call, owner, name, READ).map(|id| list(world, call, id)),
        ("POST", ["pulls"]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| open(world, call, id))
        }
        ("GET", ["pulls", number]) => {
            world.allow(call, owner, name, READ).and_then(|id| one(world, call, id, number))
        }
        ("PATCH", ["pulls", number]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| change(world, call, id, number))
        }
        ("GET", ["pulls", number, "files"]) => {
            world.allow(call, owner, name, READ).and_then(|id| files(world, call, id, number))
        }
        ("GET", ["commits", sha, "pulls"]) => world.allow(call, owner, name, READ).map(|id| {
            let base = repository(world, id);
            let all = base.pulls.values().filter(|pull| pull.head_sha.to_string() == *sha);
            let all = all.map(|pull| world.pull_json(base, pull)).collect();
            page(world, call, all)
        }),
        _ => return None,
    })
}

fn list(world: &World, call: &Call, id: u64) -> Answer {
    let base = repository(world, id);
    let state = call.query("state").unwrap_or_else(|| "open".into());
    let fits = |pull: &&Pull| {
        let head_owner = pull
            .head_repository
            .and_then(|id| world.by_id(id))
            .map_or("", |one| one.owner.as_str());
        let in_state = state == "all" || (state == "open") == pull.open;
        let head = call.query("head").is_none_or(|head| {
            !head.contains(':') || head == format!("{head_owner}:{}", pull.head_ref)
        });
        in_state && head && call.query("base").is_none_or(|base| base == pull.base_ref)
    };
    let all = base.pulls.values().rev().filter(fits).map(|pull| world.pull_json(base, pull));
    page(world, call, all.collect())
}

fn one(world: &World, call: &Call, id: u64, number: &str) -> Outcome {
    let (_, pull) = pull_at(world, id, number)?;
    let base = repository(world, id);
    if !call.accept.contains("diff") {
        return Ok(Answer::json(200, &world.pull_json(base, &pull)));
    }
    let git = base.git();
    let diff = git::pull_diff(&git, pull.base_sha, pull.head_sha);
    let changed = git::changed_files(&diff);
    let lines: usize = changed.iter().map(|file| file.additions + file.deletions).sum();
    if changed.len() > DIFF_FILES || lines > DIFF_LINES {
        return Err(Answer::error(
            406,
            "Sorry, the diff exceeded the maximum number of lines (20000) or files (300)",
        ));
    }
    Ok(Answer::raw("application/vnd.github.v3.diff; charset=utf-8", git::unified(&diff)))
}

fn files(world: &World, call: &Call, id: u64, number: &str) -> Outcome {
    let (_, pull) = pull_at(world, id, number)?;
    let base = repository(world, id);
    let git = base.git();
    let changed = git::changed_files(&git::pull_diff(&git, pull.base_sha, pull.head_sha));
    let all = changed.iter().take(3000).map(|file| file_json(world, id, file, &pull)).collect();
    Ok(page(world, call, all))
}

pub fn file_json(world: &World, id: u64, file: &ChangedFile, pull: &Pull) -> Value {
    let base = repository(world, id);
    let full = base.full_name();
    let mut value = json!({
        "sha": file.blob.to_string(), "filename": file.path, "status": file.status,
        "additions": file.additions, "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": format!("{}/{full}/blob/{}/{}", world.site, pull.head_sha, file.path),
        "raw_url": format!("{}/{full}/raw/{}/{}", world.site, pull.head_sha, file.path),
        "contents_url": format!("{}/contents/{}?ref={}", world.repository_url(base), file.path, pull.head_sha),
    });
    if let Some(before) = &file.before {
        value["previous_filename"] = before.as_str().into();
    }
    if file.additions + file.deletions <= PATCH_LINES
        && let Some(patch) = file.patch()
    {
        value["patch"] = patch.into();
    }
    value
}

fn open(world: &mut World, call: &Call, id: u64) -> Outcome {
    let input = call.input()?;
    let (head, base_ref) = (required(&input, "head")?, required(&input, "base")?);
    let title = required(&input, "title")?;
    let body = text(&input, "body").unwrap_or_default();
    short_enough(body)?;
    let draft = input.get("draft").and_then(Value::as_bool).unwrap_or(false);
    let base = repository(world, id);
    if draft && base.refuses_drafts {
        return Err(Answer::invalid(&[
            "Draft pull requests are not supported in this repository.",
        ]));
    }
    let head_repository = match head.split_once(':') {
        Some((owner, _)) => world.by_name(owner, &base.name).map(|one| one.id),
        None => Some(id),
    };
    let head_ref = head.rsplit(':').next().unwrap_or(head).to_owned();
    let head_sha = head_repository
        .and_then(|head| repository(world, head).branch(&head_ref))
        .ok_or_else(|| Answer::invalid(&["head is invalid"]))?;
    let base_sha = base.branch(base_ref).ok_or_else(|| Answer::invalid(&["base is invalid"]))?;
    if head_sha == base_sha {
        return Err(Answer::invalid(&["No commits between base and head"]));
    }
    let same = base.pulls.values().any(|pull| {
        pull.open
            && pull.head_repository == head_repository
            && pull.head_ref == head_ref
            && pull.base_ref == base_ref
    });
    if same {
        return Err(Answer::invalid(&["A pull request already exists for this head."]));
    }
    let (title, bot, full) = (title.to_owned(), world.bot(), base.full_name());
    let head = (head_repository.unwrap_or(id), head_ref.as_str());
    let number = world.open_pull(id, &bot, &title, body, base_ref, head, draft);
    let kind = if draft { "draft pull request" } else { "pull request" };
    world.wrote(format!(
        "opens {kind} {full}#{number} from {head_ref} into {base_ref}: {title}\n{body}"
    ));
    let base = repository(world, id);
    Ok(Answer::json(201, &world.pull_json(base, &base.pulls[&number])))
}

fn change(world: &mut World, call: &Call, id: u64, number: &str) -> Outcome {
    let (number, _) = pull_at(world, id, number)?;
    let input = call.input()?;
    let bot = world.bot();
    let pull = world.by_id_mut(id).pulls.get_mut(&number).unwrap();
    if let Some(title) = text(&input, "title") {
        pull.title = title.to_owned();
    }
    if let Some(body) = text(&input, "body") {
        short_enough(body)?;
        pull.body = body.to_owned();
    }
    let closes = text(&input, "state") == Some("closed") && pull.open;
    if closes {
        pull.open = false;
    }
    let full = repository(world, id).full_name();
    world.wrote(format!("changes {full}#{number}: {input}"));
    if closes {
        world.send_pull(id, number, "closed", json!({}), &bot);
    }
    let base = repository(world, id);
    Ok(Answer::json(200, &world.pull_json(base, &base.pulls[&number])))
}
