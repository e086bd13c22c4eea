//! Blobs, trees, commits and references: how a bot commits without a clone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use git2::{FileMode, Oid, build::TreeUpdateBuilder};
use serde_json::{Value, json};

use super::{Answer, Call, Outcome, repository, required, text};
use crate::mock::git;
use crate::mock::payload::time;
use crate::mock::world::World;

const READ: &[(&str, &str)] = &[("contents", "read")];
const WRITE: &[(&str, &str)] = &[("contents", "write")];

pub fn answer(world: &mut World, call: &Call, method: &str, path: &[&str]) -> Option<Outcome> {
    let ["repos", owner, name, "git", rest @ ..] = path else { return None };
    Some(match (method, rest) {
        ("POST", ["blobs"]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| create_blob(world, call, id))
        }
        ("POST", ["trees"]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| create_tree(world, call, id))
        }
        ("GET", ["trees", sha]) => world.allow(call, owner, name, READ).and_then(|id| {
            tree_json(world, id, sha)
                .map(|value| Answer::json(200, &value))
                .ok_or_else(|| Answer::error(404, "Not Found"))
        }),
        ("POST", ["commits"]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| create_commit(world, call, id))
        }
        ("GET", ["commits", sha]) => world.allow(call, owner, name, READ).and_then(|id| {
            let commit = Oid::from_str(sha).map_err(|_| Answer::error(404, "Not Found"))?;
            commit_json(world, id, commit)
                .map(|value| Answer::json(200, &value))
                .ok_or_else(|| Answer::error(404, "Not Found"))
        }),
        ("GET", ["ref" | "refs", reference @ ..]) => {
            world.allow(call, owner, name, READ).and_then(|id| {
                let at = repository(world, id).git().refname_to_id(&full(&reference.join("/")));
                let at = at.map_err(|_| Answer::error(404, "Not Found"))?;
                Ok(Answer::json(200, &ref_json(world, id, &full(&reference.join("/")), at)))
            })
        }
        ("GET", ["matching-refs", prefix @ ..]) => world.allow(call, owner, name, READ).map(|id| {
            let git = repository(world, id).git();
            let glob = format!("{}*", full(&prefix.join("/")));
            let all = git
                .references_glob(&glob)
                .unwrap()
                .flatten()
                .filter_map(|one| Some(ref_json(world, id, one.name().ok()?, one.target()?)));
            Answer::json(200, &Value::Array(all.collect()))
        }),
        ("POST", ["refs"]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| create_ref(world, call, id))
        }
        ("PATCH", ["refs", reference @ ..]) => world
            .allow(call, owner, name, WRITE)
            .and_then(|id| move_ref(world, call, id, &full(&reference.join("/")))),
        ("DELETE", ["refs", reference @ ..]) => world
            .allow(call, owner, name, WRITE)
            .and_then(|id| delete_ref(world, id, &full(&reference.join("/")))),
        _ => return None,
    })
}

fn full(reference: &str) -> String {
    format!("refs/{}", reference.trim_start_matches("refs/"))
}

fn object(world: &World, id: u64, sha: &str) -> Result<Oid, Answer> {
    let git = repository(world, id).git();
    Oid::from_str(sha)
        .ok()
        .filter(|oid| sha.len() == 40 && git.find_object(*oid, None).is_ok())
        .ok_or_else(|| Answer::error(422, "Object does not exist"))
}

/// One level of a tree.
fn tree_json(world: &World, id: u64, sha: &str) -> Option<Value> {
    let base = repository(world, id);
    let (git, url) = (base.git(), world.repository_url(base));
    let tree = git.find_tree(Oid::from_str(sha).ok()?).ok()?;
    let entries: Vec<Value> = tree
        .iter()
        .filter_map(|entry| {
            let kind = entry.kind()?.str();
            let size = git.find_blob(entry.id()).map(|blob| blob.size()).ok();
            let mut value = json!({
                "path": String::from_utf8_lossy(entry.name_bytes()),
                "mode": format!("{:06o}", entry.filemode()), "type": kind,
                "sha": entry.id().to_string(),
                "url": format!("{url}/git/{kind}s/{}", entry.id()),
            });
            if let Some(size) = size {
                value["size"] = json!(size);
            }
            Some(value)
        })
        .collect();
    let url = format!("{url}/git/trees/{sha}");
    Some(json!({ "sha": sha, "url": url, "tree": entries, "truncated": false }))
}

fn create_blob(world: &World, call: &Call, id: u64) -> Outcome {
    let input = call.input()?;
    let content = required(&input, "content")?;
    let bytes = match text(&input, "encoding") {
        Some("base64") => STANDARD
            .decode(content.replace('\n', ""))
            .map_err(|_| Answer::invalid(&["content is not valid Base64"]))?,
        None | Some("utf-8") => content.as_bytes().to_vec(),
        Some(_) => return Err(Answer::invalid(&["encoding must be utf-8 or base64"])),
    };
    let base = repository(world, id);
    let sha = base.git().blob(&bytes).unwrap();
    let url = format!("{}/git/blobs/{sha}", world.repository_url(base));
    Ok(Answer::json(201, &json!({ "sha": sha.to_string(), "url": url })))
}

fn create_tree(world: &World, call: &Call, id: u64) -> Outcome {
    let input = call.input()?;
    let base = repository(world, id);
    let git = base.git();
    let mut builder = TreeUpdateBuilder::new();
    let entries = input.get("tree").and_then(Value::as_array);
    for entry in entries.ok_or_else(|| Answer::invalid(&["tree must be an array"]))? {
        let path = required(entry, "path")?;
        if path.starts_with(".github/workflows/") {
            return Err(Answer::error(403, "Resource not accessible by integration"));
        }
        if path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git")) {
            return Err(Answer::error(422, "tree.path contains a malformed path component"));
        }
        let mode = match text(entry, "mode") {
            Some("100644") => FileMode::Blob,
            Some("100755") => FileMode::BlobExecutable,
            Some("120000") => FileMode::Link,
            Some("040000") => FileMode::Tree,
            _ => return Err(Answer::error(422, "tree.mode is not valid")),
        };
        if entry.get("sha").is_some_and(Value::is_null) {
            builder.remove(path);
            continue;
        }
        let sha = match (text(entry, "sha"), text(entry, "content")) {
            (Some(sha), None) => object(world, id, sha)?,
            (None, Some(content)) => git.blob(content.as_bytes()).unwrap(),
            _ => return Err(Answer::error(422, "Must supply either tree.sha or tree.content")),
        };
        builder.upsert(path, sha, mode);
    }
    let start = match text(&input, "base_tree") {
        Some(sha) => {
            let tree = git.find_object(object(world, id, sha)?, None).unwrap().peel_to_tree();
            tree.map_err(|_| Answer::error(422, "base_tree is not a tree"))?
        }
        None => git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap(),
    };
    let sha = builder
        .create_updated(&git, &start)
        .map_err(|_| Answer::error(422, "GitRPC::BadObjectState"))?;
    let shown: Vec<Value> = git
        .find_tree(sha)
        .unwrap()
        .iter()
        .map(|entry| {
            let kind = entry.kind().map_or("commit", |kind| kind.str());
            json!({
                "path": entry.name().ok(), "mode": format!("{:06o}", entry.filemode()),
                "type": kind, "sha": entry.id().to_string(),
                "url": format!("{}/git/{kind}s/{}", world.repository_url(base), entry.id()),
            })
        })
        .collect();
    let url = format!("{}/git/trees/{sha}", world.repository_url(base));
    let body = json!({ "sha": sha.to_string(), "url": url, "tree": shown, "truncated": false });
    Ok(Answer::json(201, &body))
}

/// What lies directly in a tree.
fn create_commit(world: &mut World, call: &Call, id: u64) -> Outcome {
    let input = call.input()?;
    let message = required(&input, "message")?.to_owned();
    let tree = object(world, id, required(&input, "tree")?)?;
    let mut parents = Vec::new();
    for parent in input.get("parents").and_then(Value::as_array).into_iter().flatten() {
        parents.push(object(world, id, parent.as_str().unwrap_or_default())?);
    }
    let (seconds, bot) = (world.commit_time(), world.bot());
    let git = repository(world, id).git();
    if git.find_tree(tree).is_err() {
        return Err(Answer::error(422, "Tree SHA does not exist"));
    }
    if parents.iter().any(|parent| git.find_commit(*parent).is_err()) {
        return Err(Answer::error(422, "Parent SHA does not exist or is not a commit object"));
    }
    let commit = git::commit_tree(&git, tree, parents, &bot, &message, seconds);
    Ok(Answer::json(201, &commit_json(world, id, commit).unwrap()))
}

fn commit_json(world: &World, id: u64, commit: Oid) -> Option<Value> {
    let base = repository(world, id);
    let git = base.git();
    let commit = git.find_commit(commit).ok()?;
    let name = String::from_utf8_lossy(commit.author().name_bytes()).into_owned();
    let when = time(u64::try_from(commit.time().seconds()).unwrap_or(0));
    let who =
        json!({ "name": name, "email": format!("{name}@users.noreply.example"), "date": when });
    let url = world.repository_url(base);
    let html = format!("{}/{}/commit", world.site, base.full_name());
    let sha = commit.id().to_string();
    Some(json!({
        "sha": sha, "node_id": format!("C_{sha}"), "url": format!("{url}/git/commits/{sha}"),
        "html_url": format!("{html}/{sha}"), "author": who, "committer": who,
        "message": String::from_utf8_lossy(commit.message_bytes()),
        "tree": { "sha": commit.tree_id().to_string(), "url": format!("{url}/git/trees/{}", commit.tree_id()) },
        "parents": commit.parent_ids().map(|parent| json!({
            "sha": parent.to_string(), "url": format!("{url}/git/commits/{parent}"),
            "html_url": format!("{html}/{parent}"),
        })).collect::<Vec<_>>(),
        "verification": { "verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null },
    }))
}

fn ref_json(world: &World, id: u64, reference: &str, at: Oid) -> Value {
    let url = world.repository_url(repository(world, id));
    json!({
        "ref": reference, "node_id": format!("REF_{reference}"), "url": format!("{url}/git/{reference}"),
        "object": { "type": "commit", "sha": at.to_string(), "url": format!("{url}/git/commits/{at}") },
    })
}

/// A commit, and no other object.
fn commit_at(world: &World, id: u64, sha: &str) -> Result<Oid, Answer> {
    let at = object(world, id, sha)?;
    let commit = repository(world, id).git().find_commit(at).is_ok();
    if commit { Ok(at) } else { Err(Answer::error(422, "Object is not a commit")) }
}

fn create_ref(world: &mut World, call: &Call, id: u64) -> Outcome {
    let input = call.input()?;
    let reference = required(&input, "ref")?.to_owned();
    let at = commit_at(world, id, required(&input, "sha")?)?;
    let Some(branch) = reference.strip_prefix("refs/heads/").filter(|name| !name.is_empty()) else {
        return Err(Answer::error(422, "Reference name must start with 'refs/' and have a branch"));
    };
    let base = repository(world, id);
    if !git2::Reference::is_valid_name(&reference) {
        return Err(Answer::error(422, "Reference name is not valid"));
    }
    if base.branch(branch).is_some() {
        return Err(Answer::error(422, "Reference already exists"));
    }
    let (what, bot) =
        (format!("creates branch {branch} of {} at {at}", base.full_name()), world.bot());
    world.wrote(what);
    world.move_branch(id, branch, at, &bot);
    Ok(Answer::json(201, &ref_json(world, id, &reference, at)))
}

fn move_ref(world: &mut World, call: &Call, id: u64, reference: &str) -> Outcome {
    let input = call.input()?;
    let to = commit_at(world, id, required(&input, "sha")?)?;
    let force = input.get("force").and_then(Value::as_bool).unwrap_or(false);
    let branch = reference.trim_start_matches("refs/heads/").to_owned();
    let base = repository(world, id);
    let Some(from) = base.branch(&branch) else {
        return Err(Answer::error(422, "Reference does not exist"));
    };
    let forward = from == to || base.git().graph_descendant_of(to, from).unwrap_or(false);
    if !forward && !force {
        return Err(Answer::error(422, "Update is not a fast forward"));
    }
    let how = if forward { "moves" } else { "forces" };
    let (what, bot) =
        (format!("{how} branch {branch} of {} to {to}", base.full_name()), world.bot());
    world.wrote(what);
    world.move_branch(id, &branch, to, &bot);
    Ok(Answer::json(200, &ref_json(world, id, reference, to)))
}

fn delete_ref(world: &mut World, id: u64, reference: &str) -> Outcome {
    let base = repository(world, id);
    let git = base.git();
    let Ok(mut found) = git.find_reference(reference) else {
        return Err(Answer::error(422, "Reference does not exist"));
    };
    found.delete().unwrap();
    let what = format!("deletes {reference} of {}", base.full_name());
    world.wrote(what);
    Ok(Answer::empty(204))
}
