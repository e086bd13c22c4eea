//! Check runs: made and changed by the App, every state remembered.

use serde_json::{Value, json};

use super::{Answer, Call, Outcome, page_of, repository, required, text};
use crate::mock::state::CheckRun;
use crate::mock::world::World;

const READ: &[(&str, &str)] = &[("checks", "read")];
const WRITE: &[(&str, &str)] = &[("checks", "write")];
const CONCLUSIONS: [&str; 7] =
    ["success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"];
/// Longest summary or text, in characters.
const LONGEST: usize = 65_535;

pub fn answer(world: &mut World, call: &Call, method: &str, path: &[&str]) -> Option<Outcome> {
    let ["repos", owner, name, rest @ ..] = path else { return None };
    Some(match (method, rest) {
        ("POST", ["check-runs"]) => {
            world.allow(call, owner, name, WRITE).and_then(|id| create(world, call, id))
        }
        ("GET", ["check-runs", run]) => world.allow(call, owner, name, READ).and_then(|id| {
            let at = find(world, id, run)?;
            Ok(Answer::json(200, &world.check_run_json(&world.checks[at])))
        }),
        ("PATCH", ["check-runs", run]) => world.allow(call, owner, name, WRITE).and_then(|id| {
            let at = find(world, id, run)?;
            update(world, call, at)
        }),
        ("GET", ["commits", reference @ .., "check-runs"]) => world
            .allow(call, owner, name, READ)
            .map(|id| of_commit(world, call, id, &reference.join("/"))),
        _ => return None,
    })
}

fn find(world: &World, repository: u64, id: &str) -> Result<usize, Answer> {
    world
        .checks
        .iter()
        .position(|run| run.repository == repository && run.id.to_string() == id)
        .ok_or_else(|| Answer::error(404, "Not Found"))
}

fn of_commit(world: &World, call: &Call, id: u64, reference: &str) -> Answer {
    let sha = repository(world, id)
        .branch(reference.trim_start_matches("heads/"))
        .map_or_else(|| reference.to_owned(), |sha| sha.to_string());
    let fits = |run: &&CheckRun| {
        run.repository == id
            && run.head_sha == sha
            && call.query("check_name").is_none_or(|name| name == run.name)
            && call.query("status").is_none_or(|status| status == run.status)
            && call.query("app_id").is_none_or(|app| app == world.app_id.to_string())
    };
    let mut all: Vec<&CheckRun> = world.checks.iter().filter(fits).collect();
    if call.query("filter").is_none_or(|filter| filter == "latest") {
        let newest =
            |run: &CheckRun| !all.iter().any(|other| other.name == run.name && other.id > run.id);
        let kept: Vec<u64> = all.iter().filter(|run| newest(run)).map(|run| run.id).collect();
        all.retain(|run| kept.contains(&run.id));
    }
    let shown: Vec<Value> = all.iter().rev().map(|run| world.check_run_json(run)).collect();
    let total = shown.len();
    page_of(world, call, shown, |page| json!({ "total_count": total, "check_runs": page }))
}

fn create(world: &mut World, call: &Call, id: u64) -> Outcome {
    let input = call.input()?;
    let (name, head_sha) = (required(&input, "name")?, required(&input, "head_sha")?);
    let git = repository(world, id).git();
    let known = git2::Oid::from_str(head_sha).is_ok_and(|sha| git.find_commit(sha).is_ok());
    if !known || head_sha.len() != 40 {
        return Err(Answer::error(422, &format!("No commit found for SHA: {head_sha}")));
    }
    let suite = head_sha.bytes().map(u64::from).sum();
    let mut run = CheckRun {
        id: 0,
        repository: id,
        suite,
        name: name.to_owned(),
        head_sha: head_sha.to_owned(),
        external_id: String::new(),
        details_url: None,
        status: "queued".into(),
        conclusion: None,
        title: None,
        summary: None,
        text: None,
        actions: Vec::new(),
        annotations: 0,
        started: world.now(),
        completed: None,
        history: Vec::new(),
    };
    apply(&mut run, &input, world.now())?;
    run.id = world.id();
    let what = format!("creates check run {} on {head_sha}: {}", run.name, run.shown());
    world.wrote(what);
    let (run_id, bot) = (run.id, world.bot());
    world.checks.push(run);
    world.send_check(run_id, "created", json!({}), &bot);
    let run = world.checks.last().unwrap();
    Ok(Answer::json(201, &world.check_run_json(run)))
}

fn update(world: &mut World, call: &Call, at: usize) -> Outcome {
    let input = call.input()?;
    let mut run = world.checks[at].clone();
    let was_done = run.status == "completed";
    apply(&mut run, &input, world.now())?;
    world.wrote(format!("updates check run {} on {}: {}", run.name, run.head_sha, run.shown()));
    let (id, done, bot) = (run.id, run.status == "completed", world.bot());
    world.checks[at] = run;
    if done && !was_done {
        world.send_check(id, "completed", json!({}), &bot);
    }
    Ok(Answer::json(200, &world.check_run_json(&world.checks[at])))
}

/// Takes over what a request says, or refuses all of it.
fn apply(run: &mut CheckRun, input: &Value, now: u64) -> Result<(), Answer> {
    let refuse = |why: String| Err(Answer::invalid(&[&why]));
    if let Some(name) = text(input, "name") {
        run.name = name.to_owned();
    }
    if let Some(id) = text(input, "external_id") {
        run.external_id = id.to_owned();
    }
    if let Some(url) = text(input, "details_url") {
        if !url.starts_with("http") {
            return refuse("details_url must use http or https scheme".into());
        }
        run.details_url = Some(url.to_owned());
    }
    if let Some(status) = text(input, "status") {
        if !matches!(status, "queued" | "in_progress" | "completed") {
            return refuse(format!("status {status} is not included in the list"));
        }
        if status != "completed" {
            run.conclusion = None;
            run.completed = None;
        }
        run.status = status.to_owned();
    }
    if let Some(conclusion) = text(input, "conclusion") {
        if !CONCLUSIONS.contains(&conclusion) {
            return refuse(format!("conclusion {conclusion} is not included in the list"));
        }
        run.status = "completed".into();
        run.conclusion = Some(conclusion.to_owned());
        run.completed = Some(now);
    }
    if run.status == "completed" && run.conclusion.is_none() {
        return refuse("conclusion is required when status is completed".into());
    }
    if let Some(output) = input.get("output").filter(|output| output.is_object()) {
        let summary = required(output, "summary")?;
        let body = text(output, "text");
        if summary.chars().count() > LONGEST || body.is_some_and(|b| b.chars().count() > LONGEST) {
            return refuse(format!("only {LONGEST} characters are allowed"));
        }
        let annotations = output.get("annotations").and_then(Value::as_array).map_or(0, Vec::len);
        if annotations > 50 {
            return refuse("no more than 50 annotations a request".into());
        }
        run.annotations += annotations;
        if let Some(title) = text(output, "title") {
            run.title = Some(title.to_owned());
        }
        run.summary = Some(summary.to_owned());
        run.text = body.map(str::to_owned).or(run.text.take());
    }
    if run.title.is_none() && run.summary.is_some() {
        return refuse("output title is required".into());
    }
    if let Some(actions) = input.get("actions").and_then(Value::as_array) {
        check_actions(actions)?;
        run.actions.clone_from(actions);
    }
    run.history.push(run.shown());
    Ok(())
}

fn check_actions(actions: &[Value]) -> Result<(), Answer> {
    if actions.len() > 3 {
        return Err(Answer::invalid(&["no more than 3 actions are allowed"]));
    }
    for action in actions {
        for (field, most) in [("label", 20), ("description", 40), ("identifier", 20)] {
            if required(action, field)?.chars().count() > most {
                return Err(Answer::invalid(&[&format!(
                    "action {field} is over {most} characters"
                )]));
            }
        }
    }
    Ok(())
}

impl CheckRun {
    /// What somebody sees of it, in a few lines.
    pub fn shown(&self) -> String {
        let state = self.conclusion.as_deref().unwrap_or(&self.status);
        let mut out = format!("[{state}] {}", self.title.as_deref().unwrap_or_default());
        for action in &self.actions {
            out += &format!(" ({})", text(action, "label").unwrap_or_default());
        }
        for part in [&self.summary, &self.text].into_iter().flatten() {
            out += &format!("\n{part}");
        }
        out
    }
}
