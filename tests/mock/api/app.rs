//! The App, its installations and their tokens, and what became of its webhooks.

use serde_json::{Value, json};

use super::{Answer, Call, Outcome, page, page_of};
use crate::mock::auth::TOKEN_LIFE_S;
use crate::mock::payload::time;
use crate::mock::state::Token;
use crate::mock::world::World;

pub fn answer(world: &mut World, call: &Call, method: &str, path: &[&str]) -> Option<Outcome> {
    Some(match (method, path) {
        ("GET", ["app"]) => world.check_jwt(call).map(|()| Answer::json(200, &world.app_json())),
        ("GET", ["app", "installations"]) => world.check_jwt(call).map(|()| {
            let all = world.installations.iter().map(|one| world.installation_json(one)).collect();
            page(world, call, all)
        }),
        ("GET", ["app", "installations", id]) => world.check_jwt(call).and_then(|()| {
            let one = world.installations.iter().find(|one| one.id.to_string() == *id);
            let one = one.ok_or_else(|| Answer::error(404, "Not Found"))?;
            Ok(Answer::json(200, &world.installation_json(one)))
        }),
        ("GET", ["repos", owner, name, "installation"]) => world.check_jwt(call).and_then(|()| {
            let one = world.by_name(owner, name).and_then(|one| world.installation_of(one.id));
            let one = one.ok_or_else(|| Answer::error(404, "Not Found"))?;
            Ok(Answer::json(200, &world.installation_json(one)))
        }),
        ("POST", ["app", "installations", id, "access_tokens"]) => mint(world, call, id),
        ("GET", ["installation", "repositories"]) => token_repositories(world, call),
        ("GET", ["app", "hook", "deliveries"]) => deliveries(world, call),
        ("POST", ["app", "hook", "deliveries", id, "attempts"]) => redeliver(world, call, id),
        ("GET", ["rate_limit"]) => world.token(call).map(|_| rate_limit(world)),
        _ => return None,
    })
}

fn mint(world: &mut World, call: &Call, id: &str) -> Outcome {
    world.check_jwt(call)?;
    let input = call.input()?;
    let installation = world
        .installations
        .iter()
        .find(|one| one.id.to_string() == id)
        .ok_or_else(|| Answer::error(404, "Not Found"))?
        .clone();
    if installation.suspended {
        return Err(Answer::error(403, "This installation has been suspended"));
    }
    let mut permissions = installation.permissions.clone();
    if let Some(asked) = input.get("permissions").and_then(Value::as_object) {
        let granted = |(what, level): (&String, &Value)| {
            let level = level.as_str().unwrap_or_default().to_owned();
            let has = installation.permissions.get(what)?;
            (*has == level || has == "write").then(|| (what.clone(), level))
        };
        let narrowed: Option<_> = asked.iter().map(granted).collect();
        permissions = narrowed.ok_or_else(|| {
            Answer::error(422, "The permissions requested are not granted to this installation.")
        })?;
        permissions.entry("metadata".into()).or_insert_with(|| "read".into());
    }
    let repositories = narrowed_repositories(world, &input, &installation.repositories)?;
    let number = world.id();
    let now = world.now();
    let token = Token {
        // GitHub's format: the App, then something like a JWT.
        text: format!("ghs_{}_eyJhbGciOiJub25lIn0.{number:012x}.c2lnbmVk-{number}", world.app_id),
        installation: installation.id,
        repositories: repositories.clone(),
        permissions: permissions.clone(),
        expires: now + TOKEN_LIFE_S,
    };
    let mut answer = json!({
        "token": token.text, "expires_at": time(token.expires), "permissions": permissions,
        "repository_selection": if repositories.is_some() { "selected" } else { "all" },
    });
    if let Some(ids) = repositories {
        let shown = ids.iter().filter_map(|id| world.by_id(*id));
        answer["repositories"] = shown.map(|one| world.repository_json(one)).collect();
    }
    world.tokens.push(token);
    Ok(Answer::json(201, &answer))
}

/// The repositories asked for, by id or by name, all of them the installation's.
fn narrowed_repositories(
    world: &World,
    input: &Value,
    installed: &[u64],
) -> Result<Option<Vec<u64>>, Answer> {
    let refused = || {
        Answer::error(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        )
    };
    let mut ids = Vec::new();
    for id in input.get("repository_ids").and_then(Value::as_array).into_iter().flatten() {
        ids.push(id.as_u64().ok_or_else(refused)?);
    }
    for name in input.get("repositories").and_then(Value::as_array).into_iter().flatten() {
        let found = installed.iter().find(|id| {
            world.by_id(**id).is_some_and(|one| Some(one.name.as_str()) == name.as_str())
        });
        ids.push(*found.ok_or_else(refused)?);
    }
    if ids.iter().any(|id| !installed.contains(id)) {
        return Err(refused());
    }
    Ok((!ids.is_empty()).then_some(ids))
}

fn token_repositories(world: &World, call: &Call) -> Outcome {
    let token = world.token(call)?;
    let all: Vec<Value> = world
        .repositories
        .iter()
        .filter(|one| world.reaches(token, one.id))
        .map(|one| world.repository_json(one))
        .collect();
    let total = all.len();
    Ok(page_of(world, call, all, |shown| json!({ "total_count": total, "repositories": shown })))
}

/// Newest first, by cursor, as GitHub pages this list alone.
fn deliveries(world: &World, call: &Call) -> Outcome {
    world.check_jwt(call)?;
    let size = call.query("per_page").and_then(|text| text.parse().ok()).unwrap_or(30_usize);
    let below = call.query("cursor").and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
    let mut all: Vec<(u64, Value)> = world
        .hooks
        .all
        .iter()
        .filter(|one| one.id < below)
        .filter_map(|one| Some((one.id, one.summary()?)))
        .collect();
    all.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    let more = all.len() > size.min(100);
    all.truncate(size.min(100));
    let shown: Vec<Value> = all.iter().map(|(_, summary)| summary.clone()).collect();
    let answer = Answer::json(200, &Value::Array(shown));
    Ok(match all.last() {
        Some((last, _)) if more => answer.with(
            "link",
            format!(
                "<{}/app/hook/deliveries?per_page={size}&cursor={last}>; rel=\"next\"",
                world.api
            ),
        ),
        _ => answer,
    })
}

fn redeliver(world: &mut World, call: &Call, id: &str) -> Outcome {
    world.check_jwt(call)?;
    let fresh = world.id();
    let known = id.parse().is_ok_and(|id| world.hooks.redeliver(id, fresh));
    if known { Ok(Answer::json(202, &json!({}))) } else { Err(Answer::error(404, "Not Found")) }
}

fn rate_limit(world: &World) -> Answer {
    let one = json!({ "limit": 5000, "used": 10, "remaining": 4990, "reset": world.now() + 3600 });
    Answer::json(
        200,
        &json!({ "resources": { "core": one, "search": one, "graphql": one }, "rate": one }),
    )
}
