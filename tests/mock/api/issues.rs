//! The conversation: comments, reactions, labels, and who may do what.

use serde_json::{Value, json};

use super::{Answer, Call, Outcome, page, pull_at, readable, repository, required, text};
use crate::mock::state::Comment;
use crate::mock::world::World;

const READ: &[(&str, &str)] = &[("pull_requests", "read"), ("issues", "read")];
/// On a pull request, `issues: write` alone gets a 403.
const WRITE: &[(&str, &str)] = &[("pull_requests", "write")];
const REACTIONS: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

pub fn answer(world: &mut World, call: &Call, method: &str, path: &[&str]) -> Option<Outcome> {
    let ["repos", owner, name, rest @ ..] = path else { return None };
    Some(match (method, rest) {
        ("GET", ["collaborators", login, "permission"]) => world
            .allow(call, owner, name, &[("metadata", "read")])
            .and_then(|id| permission(world, id, login)),
        ("GET", ["issues", "comments", comment]) => world
            .allow(call, owner, name, READ)
            .and_then(|id| find(world, id, comment))
            .map(|at| Answer::json(200, &world.comment_json(&world.comments[at]))),
        ("PATCH", ["issues", "comments", comment]) => world
            .allow(call, owner, name, WRITE)
            .and_then(|id| find(world, id, comment))
            .and_then(|at| edit(world, call, at)),
        ("DELETE", ["issues", "comments", comment]) => world
            .allow(call, owner, name, WRITE)
            .and_then(|id| find(world, id, comment))
            .map(|at| delete(world, at)),
        ("GET", ["issues", "comments", comment, "reactions"]) => {
            world.allow(call, owner, name, READ).and_then(|id| find(world, id, comment)).map(|at| {
                let all = &world.comments[at].reactions;
                page(world, call, all.iter().map(|one| world.reaction_json(one)).collect())
            })
        }
        ("POST", ["issues", "comments", comment, "reactions"]) => world
            .allow(call, owner, name, WRITE)
            .and_then(|id| find(world, id, comment))
            .and_then(|at| react_to_comment(world, call, at)),
        ("GET", ["issues", number]) => world.allow(call, owner, name, READ).and_then(|id| {
            let (_, pull) = pull_at(world, id, number)?;
            Ok(Answer::json(200, &world.issue_json(repository(world, id), &pull)))
        }),
        ("GET", ["issues", number, "comments"]) => {
            world.allow(call, owner, name, READ).and_then(|id| {
                let (number, _) = pull_at(world, id, number)?;
                let all = world.comments_of(id, number).map(|one| world.comment_json(one));
                Ok(page(world, call, all.collect()))
            })
        }
        ("POST", ["issues", number, "comments"]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| comment(world, call, id, number))
        }
        ("POST", ["issues", number, "reactions"]) => world
            .allow(call, owner, name, WRITE)
            .and_then(|id| react_to_pull(world, call, id, number)),
        ("GET", ["issues", number, "labels"]) => {
            world.allow(call, owner, name, READ).and_then(|id| {
                let (number, _) = pull_at(world, id, number)?;
                Ok(labels(world, id, number))
            })
        }
        ("POST", ["issues", number, "labels"]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| add_labels(world, call, id, number))
        }
        ("DELETE", ["issues", number, "labels", label]) => world
            .allow(call, owner, name, WRITE)
            .and_then(|id| remove_label(world, id, number, label)),
        _ => return None,
    })
}

fn permission(world: &World, id: u64, login: &str) -> Outcome {
    if !world.users.contains_key(login) {
        return Err(Answer::error(404, &format!("{login} is not a user")));
    }
    let permission = repository(world, id).permission_of(login);
    let mut user = world.user_json(login);
    let at_least = |other| permission >= other;
    use crate::mock::state::Permission as P;
    user["permissions"] = json!({
        "pull": at_least(P::Read), "triage": at_least(P::Triage), "push": at_least(P::Write),
        "maintain": at_least(P::Maintain), "admin": at_least(P::Admin),
    });
    user["role_name"] = permission.role().into();
    let body =
        json!({ "permission": permission.coarse(), "role_name": permission.role(), "user": user });
    Ok(Answer::json(200, &body))
}

/// Where a comment of this repository is in the list.
fn find(world: &World, repository: u64, id: &str) -> Result<usize, Answer> {
    world
        .comments
        .iter()
        .position(|one| one.repository == repository && one.id.to_string() == id)
        .ok_or_else(|| Answer::error(404, "Not Found"))
}

fn comment(world: &mut World, call: &Call, id: u64, number: &str) -> Outcome {
    let (number, pull) = pull_at(world, id, number)?;
    let input = call.input()?;
    let body = readable(&input, "body")?;
    if pull.locked {
        return Err(Answer::error(403, "Unable to create comment because issue is locked."));
    }
    let (bot, full) = (world.bot(), repository(world, id).full_name());
    world.wrote(format!("comments on {full}#{number}:\n{body}"));
    let made = world.add_comment(id, number, &bot, body);
    let made = world.comments.iter().find(|one| one.id == made).unwrap();
    Ok(Answer::json(201, &world.comment_json(made)))
}

fn named(world: &World, comment: &Comment) -> String {
    let full = repository(world, comment.repository).full_name();
    format!("comment {} of {} on {full}#{}", comment.id, comment.author, comment.number)
}

fn edit(world: &mut World, call: &Call, at: usize) -> Outcome {
    let input = call.input()?;
    let body = readable(&input, "body")?.to_owned();
    let (bot, now) = (world.bot(), world.now());
    if world.comments[at].author != bot {
        return Err(Answer::error(403, "Resource not accessible by integration"));
    }
    world.comments[at].body.clone_from(&body);
    world.comments[at].updated = now;
    let comment = world.comments[at].clone();
    world.wrote(format!("edits {}:\n{body}", named(world, &comment)));
    world.send_comment(comment.id, "edited", &bot);
    Ok(Answer::json(200, &world.comment_json(&comment)))
}

fn delete(world: &mut World, at: usize) -> Answer {
    let (bot, id) = (world.bot(), world.comments[at].id);
    let what = named(world, &world.comments[at]);
    world.send_comment(id, "deleted", &bot);
    world.comments.remove(at);
    world.wrote(format!("deletes {what}"));
    Answer::empty(204)
}

fn reaction_of(call: &Call) -> Result<String, Answer> {
    let input: Value = call.input()?;
    let content = required(&input, "content")?;
    if !REACTIONS.contains(&content) {
        return Err(Answer::invalid(&["content is not included in the list"]));
    }
    Ok(content.to_owned())
}

fn react_to_comment(world: &mut World, call: &Call, at: usize) -> Outcome {
    let content = reaction_of(call)?;
    let (bot, there) = (world.bot(), world.comments[at].reactions.clone());
    let (reaction, new) = world.react(&there, &content, &bot);
    if new {
        let what = named(world, &world.comments[at]);
        world.wrote(format!("reacts {content} to {what}"));
        world.comments[at].reactions.push(reaction.clone());
    }
    Ok(Answer::json(if new { 201 } else { 200 }, &world.reaction_json(&reaction)))
}

fn react_to_pull(world: &mut World, call: &Call, id: u64, number: &str) -> Outcome {
    let content = reaction_of(call)?;
    let (number, pull) = pull_at(world, id, number)?;
    let bot = world.bot();
    let (reaction, new) = world.react(&pull.reactions, &content, &bot);
    if new {
        let full = repository(world, id).full_name();
        world.wrote(format!("reacts {content} to {full}#{number}"));
        let pull = world.by_id_mut(id).pulls.get_mut(&number).unwrap();
        pull.reactions.push(reaction.clone());
    }
    Ok(Answer::json(if new { 201 } else { 200 }, &world.reaction_json(&reaction)))
}

fn labels(world: &World, id: u64, number: u64) -> Answer {
    let base = repository(world, id);
    let all = base.pulls[&number].labels.iter().map(|name| world.label_json(base, name));
    Answer::json(200, &Value::Array(all.collect()))
}

fn add_labels(world: &mut World, call: &Call, id: u64, number: &str) -> Outcome {
    let (number, _) = pull_at(world, id, number)?;
    let input = call.input()?;
    let names: Vec<String> = input
        .get("labels")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|label| label.as_str().or_else(|| text(label, "name")).map(str::to_owned))
        .collect();
    let (bot, full) = (world.bot(), repository(world, id).full_name());
    for name in names {
        world.set_label(id, number, &name, true, &bot);
        world.wrote(format!("adds label {name} to {full}#{number}"));
    }
    Ok(labels(world, id, number))
}

fn remove_label(world: &mut World, id: u64, number: &str, label: &str) -> Outcome {
    let (number, pull) = pull_at(world, id, number)?;
    if !pull.labels.iter().any(|one| one == label) {
        return Err(Answer::error(404, "Label does not exist"));
    }
    let (bot, full) = (world.bot(), repository(world, id).full_name());
    world.set_label(id, number, label, false, &bot);
    world.wrote(format!("removes label {label} from {full}#{number}"));
    Ok(labels(world, id, number))
}
