//! The one thing REST cannot do: folding an outdated comment away.

use serde_json::{Value, json};

use super::{Answer, Call, Outcome};
use crate::mock::world::World;

const REASONS: [&str; 6] = ["SPAM", "ABUSE", "OFF_TOPIC", "OUTDATED", "DUPLICATE", "RESOLVED"];

pub fn answer(world: &mut World, call: &Call, method: &str, path: &[&str]) -> Option<Outcome> {
    match (method, path) {
        ("POST", ["graphql"] | ["api", "graphql"]) => Some(minimize(world, call)),
        _ => None,
    }
}

fn failed(kind: &str, message: &str) -> Answer {
    Answer::json(200, &json!({ "data": null, "errors": [{ "type": kind, "message": message }] }))
}

fn minimize(world: &mut World, call: &Call) -> Outcome {
    let token = world.token(call)?.clone();
    let input = call.input()?;
    let query = input.get("query").and_then(Value::as_str).unwrap_or_default();
    if !query.contains("minimizeComment") {
        return Err(failed("undefinedField", "This mock knows minimizeComment only"));
    }
    let argument = |name: &str| {
        let in_variables = input.pointer(&format!("/variables/{name}"));
        let nested = input.pointer(&format!("/variables/input/{name}"));
        in_variables.or(nested).and_then(Value::as_str).map(str::to_owned)
    };
    let literal = |name: &str| {
        let after = query.split_once(&format!("{name}:"))?.1.trim_start();
        let word = after.trim_start_matches('"');
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        Some(word[..end].to_owned()).filter(|word| !word.is_empty())
    };
    let names = ["subjectId", "subject", "id", "nodeId", "node_id"];
    let subject = names.iter().find_map(|name| argument(name)).or_else(|| literal("subjectId"));
    let reason = ["classifier", "reason"]
        .iter()
        .find_map(|name| argument(name))
        .or_else(|| literal("classifier"))
        .unwrap_or_default();
    if !REASONS.contains(&reason.as_str()) {
        return Err(failed(
            "argumentLiteralsIncompatible",
            "classifier is not a ReportedContentClassifiers",
        ));
    }
    let subject = subject.unwrap_or_default();
    let Some((repository, what)) = subject_named(world, &subject) else {
        return Err(failed("NOT_FOUND", "Could not resolve to a node with the global id"));
    };
    let may = token.permissions.get("pull_requests").is_some_and(|level| level == "write");
    if !may || !world.reaches(&token, repository) {
        return Err(failed("FORBIDDEN", "Resource not accessible by integration"));
    }
    set_minimized(world, &subject, &reason);
    world.wrote(format!("minimizes {what} as {reason}"));
    Ok(Answer::json(
        200,
        &json!({ "data": { "minimizeComment": { "minimizedComment": {
            "isMinimized": true, "minimizedReason": reason.to_lowercase() } } } }),
    ))
}

fn subject_named(world: &World, node: &str) -> Option<(u64, String)> {
    let (kind, id) = node.rsplit_once('_')?;
    let id: u64 = id.parse().ok()?;
    match kind {
        "IC" => {
            let one = world.comments.iter().find(|one| one.id == id)?;
            Some((one.repository, format!("comment {id} on #{}", one.number)))
        }
        "PRR" => {
            let one = world.reviews.iter().find(|one| one.id == id)?;
            Some((one.repository, format!("review {id} on #{}", one.number)))
        }
        "PRRC" => {
            let one = world.review_comments.iter().find(|one| one.id == id)?;
            Some((one.repository, format!("review comment {id} on #{}", one.number)))
        }
        _ => None,
    }
}

fn set_minimized(world: &mut World, node: &str, reason: &str) {
    let Some((kind, id)) = node.rsplit_once('_') else { return };
    let reason = Some(reason.to_owned());
    for one in world.comments.iter_mut().filter(|one| kind == "IC" && one.id.to_string() == id) {
        one.minimized.clone_from(&reason);
    }
    for one in world.reviews.iter_mut().filter(|one| kind == "PRR" && one.id.to_string() == id) {
        one.minimized.clone_from(&reason);
    }
    for one in
        world.review_comments.iter_mut().filter(|one| kind == "PRRC" && one.id.to_string() == id)
    {
        one.minimized.clone_from(&reason);
    }
}
