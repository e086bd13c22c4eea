//! Files of a commit, and how two commits differ.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use git2::{ObjectType, Oid, Repository as Git};
use serde_json::{Value, json};

use super::pulls::file_json;
use super::{Answer, Call, Outcome, repository};
use crate::mock::git;
use crate::mock::payload::time;
use crate::mock::state::{Pull, Repository};
use crate::mock::world::World;

const READ: &[(&str, &str)] = &[("contents", "read")];
/// Above this, the JSON form has no content.
const INLINE: usize = 1024 * 1024;

pub fn answer(world: &mut World, call: &Call, method: &str, path: &[&str]) -> Option<Outcome> {
    let ["repos", owner, name, rest @ ..] = path else { return None };
    Some(match (method, rest) {
        ("GET", ["contents", file @ ..]) => world
            .allow(call, owner, name, READ)
            .and_then(|id| contents(world, call, id, &file.join("/"))),
        ("GET", ["compare", range @ ..]) => {
            world.allow(call, owner, name, READ).and_then(|id| compare(world, id, &range.join("/")))
        }
        ("GET", ["commits", reference]) => world.allow(call, owner, name, READ).and_then(|id| {
            let base = repository(world, id);
            let commit = resolve(base, reference).ok_or_else(|| {
                Answer::error(422, &format!("No commit found for SHA: {reference}"))
            })?;
            Ok(Answer::json(200, &commit_json(world, base, commit)))
        }),
        _ => return None,
    })
}

/// A commit by SHA, branch or full reference.
pub fn resolve(base: &Repository, reference: &str) -> Option<Oid> {
    let git = base.git();
    if let Some(tip) =
        base.branch(reference.trim_start_matches("refs/").trim_start_matches("heads/"))
    {
        return Some(tip);
    }
    let id = Oid::from_str(reference).ok().filter(|_| reference.len() == 40)?;
    git.find_commit(id).ok().map(|commit| commit.id())
}

fn contents(world: &World, call: &Call, id: u64, path: &str) -> Outcome {
    let base = repository(world, id);
    let reference = call.query("ref").unwrap_or_else(|| base.default_branch.clone());
    let commit = resolve(base, &reference)
        .ok_or_else(|| Answer::error(404, &format!("No commit found for the ref {reference}")))?;
    let git = base.git();
    let tree = git.find_commit(commit).unwrap().tree().unwrap();
    if path.is_empty() {
        return Ok(listing(world, base, &tree, path, &reference));
    }
    let entry =
        tree.get_path(std::path::Path::new(path)).map_err(|_| Answer::error(404, "Not Found"))?;
    match entry.kind() {
        Some(ObjectType::Tree) => {
            let below = git.find_tree(entry.id()).unwrap();
            Ok(listing(world, base, &below, path, &reference))
        }
        Some(ObjectType::Blob) => {
            let blob = git.find_blob(entry.id()).unwrap();
            if call.accept.contains("raw") {
                return Ok(Answer::raw(
                    "application/vnd.github.raw; charset=utf-8",
                    blob.content().to_vec(),
                ));
            }
            let symlink = entry.filemode() == 0o120_000;
            let kind = if symlink { "symlink" } else { "file" };
            let mut value =
                entry_json(world, base, path, entry.id(), kind, blob.size(), &reference);
            let inline = blob.size() <= INLINE;
            value["encoding"] = if inline { "base64" } else { "none" }.into();
            value["content"] = if inline { wrapped(blob.content()) } else { String::new() }.into();
            if symlink {
                value["target"] = String::from_utf8_lossy(blob.content()).into_owned().into();
            }
            Ok(Answer::json(200, &value))
        }
        _ => Err(Answer::error(404, "Not Found")),
    }
}

/// Base64 in lines of 60 characters, as GitHub sends it.
fn wrapped(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    let lines = text.as_bytes().chunks(60).map(|line| String::from_utf8_lossy(line) + "\n");
    lines.collect()
}

fn entry_json(
    world: &World,
    base: &Repository,
    path: &str,
    id: Oid,
    kind: &str,
    size: usize,
    reference: &str,
) -> Value {
    let url = format!("{}/contents/{path}?ref={reference}", world.repository_url(base));
    let git_url = format!("{}/git/blobs/{id}", world.repository_url(base));
    let html = format!("{}/{}/blob/{reference}/{path}", world.site, base.full_name());
    json!({
        "name": path.rsplit('/').next(), "path": path, "sha": id.to_string(), "size": size,
        "url": url, "html_url": html, "git_url": git_url, "type": kind,
        "download_url": format!("{}/{}/raw/{reference}/{path}", world.site, base.full_name()),
        "_links": { "self": url, "git": git_url, "html": html },
    })
}

fn listing(
    world: &World,
    base: &Repository,
    tree: &git2::Tree<'_>,
    below: &str,
    reference: &str,
) -> Answer {
    let git = base.git();
    let all = tree.iter().map(|entry| {
        let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let (kind, size) = match entry.kind() {
            Some(ObjectType::Tree) => ("dir", 0),
            Some(ObjectType::Blob) => ("file", git.find_blob(entry.id()).unwrap().size()),
            _ => ("submodule", 0),
        };
        entry_json(world, base, &path, entry.id(), kind, size, reference)
    });
    Answer::json(200, &Value::Array(all.collect()))
}

fn commit_json(world: &World, base: &Repository, id: Oid) -> Value {
    let git = base.git();
    let commit = git.find_commit(id).unwrap();
    let url = format!("{}/commits/{id}", world.repository_url(base));
    let when = u64::try_from(commit.time().seconds()).unwrap_or(0);
    let name = String::from_utf8_lossy(commit.author().name_bytes()).into_owned();
    let who = json!({ "name": name, "email": format!("{name}@users.noreply.example"), "date": time(when) });
    let tree = json!({
        "sha": commit.tree_id().to_string(),
        "url": format!("{}/git/trees/{}", world.repository_url(base), commit.tree_id()),
    });
    let html = format!("{}/{}/commit/{id}", world.site, base.full_name());
    json!({
        "url": url, "sha": id.to_string(), "node_id": format!("C_{id}"), "html_url": html,
        "comments_url": format!("{url}/comments"),
        "commit": {
            "url": format!("{}/git/commits/{id}", world.repository_url(base)), "author": who,
            "committer": who, "message": String::from_utf8_lossy(commit.message_bytes()),
            "comment_count": 0, "tree": tree,
        },
        "author": world.user_json(&name), "committer": world.user_json(&name),
        "parents": commit.parent_ids().map(|parent| json!({
            "sha": parent.to_string(),
            "url": format!("{}/commits/{parent}", world.repository_url(base)),
            "html_url": format!("{}/{}/commit/{parent}", world.site, base.full_name()),
        })).collect::<Vec<_>>(),
    })
}

fn compare(world: &World, id: u64, range: &str) -> Outcome {
    let not_found = || Answer::error(404, "Not Found");
    let base = repository(world, id);
    let (from, to) = range.split_once("...").ok_or_else(not_found)?;
    let side = |text: &str| match text.split_once(':') {
        Some((owner, branch)) => resolve(world.by_name(owner, &base.name)?, branch),
        None => resolve(base, text),
    };
    let (from, to) = (side(from).ok_or_else(not_found)?, side(to).ok_or_else(not_found)?);
    let git = base.git();
    let merge_base = git.merge_base(from, to).map_err(|_| not_found())?;
    let (ahead, behind) = git.graph_ahead_behind(to, from).unwrap();
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let stand_in = stand_in(base, from, to);
    let files: Vec<Value> = git::changed_files(&git::pull_diff(&git, from, to))
        .iter()
        .take(300)
        .map(|file| file_json(world, id, file, &stand_in))
        .collect();
    let url = format!("{}/compare/{from}...{to}", world.repository_url(base));
    let html = format!("{}/{}/compare/{from}...{to}", world.site, base.full_name());
    Ok(Answer::json(
        200,
        &json!({
            "url": url, "html_url": html, "permalink_url": html, "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"), "base_commit": commit_json(world, base, from),
            "merge_base_commit": commit_json(world, base, merge_base), "status": status,
            "ahead_by": ahead, "behind_by": behind, "total_commits": ahead,
            "commits": commits_between(world, base, &git, merge_base, to), "files": files,
        }),
    ))
}

fn commits_between(world: &World, base: &Repository, git: &Git, from: Oid, to: Oid) -> Vec<Value> {
    let mut walk = git.revwalk().unwrap();
    walk.push(to).unwrap();
    walk.hide(from).unwrap();
    let mut all: Vec<Value> = walk.flatten().map(|id| commit_json(world, base, id)).collect();
    all.reverse();
    all.truncate(250);
    all
}

/// A pull request that is none, for the addresses of a compared file.
fn stand_in(base: &Repository, base_sha: Oid, head_sha: Oid) -> Pull {
    Pull {
        id: 0,
        number: 0,
        title: String::new(),
        body: String::new(),
        author: base.owner.clone(),
        base_ref: base.default_branch.clone(),
        base_sha,
        head_repository: Some(base.id),
        head_ref: String::new(),
        head_sha,
        draft: false,
        open: true,
        merged: false,
        locked: false,
        labels: Vec::new(),
        reactions: Vec::new(),
        created: 0,
    }
}
