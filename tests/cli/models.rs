//! Conversations in which a language model takes part, or something in its place.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    thread,
};

use serde_json::Value;

use crate::support::{Desk, Ran, python};

/// A desk with a scripted model, and how it is named.
fn desk(play: &str) -> (Desk, String) {
    let desk = Desk::tiny();
    desk.write("model.py", include_str!("support/scripted_model.py"));
    let named = format!("command:{} model.py {play}", python().display());
    (desk, named)
}

/// A short run with that model.
fn run(desk: &Desk, model: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["--model", model, "--seeds", "2"];
    arguments.extend(["--evaluations", "14", "--budget", "60s"]);
    arguments.extend(more);
    desk.run(desk.optimize(&arguments))
}

fn candidates(report: &Value) -> &[Value] {
    report["candidates"].as_array().unwrap()
}

fn rewrites(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = candidates(report).iter().map(|it| (text(&it["move"]), text(&it["verdict"])));
    all.filter(|(origin, _)| origin.starts_with("rewrite: ")).collect()
}

#[test]
fn a_program_answers_and_what_it_says_is_tried_beside_the_recipes() {
    let (desk, model) = desk("recipes");
    run(&desk, &model, &["--rewrites", "3"]).exits_with(0);
    let report = desk.report();
    assert!(!rewrites(&report).is_empty(), "{:#?}", report["candidates"]);
    let moves = report["candidates"].to_string();
    assert!(moves.contains("\"tile BLOCK="), "recipes are tried too: {moves}");
    let asked = desk.events("asked").len();
    assert_eq!(desk.read("calls.txt").lines().count(), asked, "each question once");
    assert!(report["budget"]["tokens_spent"].as_u64().unwrap() > 1000);
    assert_eq!(report["generation"]["tokens_estimated"], true, "a program counts none");
    assert!(desk.read("out/report.md").contains(" (estimated)"), "{}", desk.read("out/report.md"));
    // What it said is kept with the run, and can be given again without it.
    let id = report["run"]["id"].as_str().unwrap().to_owned();
    let replayed = Desk::tiny();
    std::fs::copy(desk.path("runs.db"), replayed.path("runs.db")).unwrap();
    run(&replayed, &format!("replay:{id}"), &["--rewrites", "3"]).exits_with(0);
    // Answers come in another order then, and of two that say the same the later is discarded; but
    // what is proposed is what was said.
    let again = replayed.report();
    assert!(!rewrites(&again).is_empty(), "{:#?}", again["candidates"]);
    let said: Vec<&Value> = candidates(&report).iter().map(|it| &it["id"]).collect();
    let is_rewrite = |it: &&Value| it["move"].as_str().unwrap().starts_with("rewrite: ");
    for rewrite in candidates(&again).iter().filter(is_rewrite) {
        assert!(said.contains(&&rewrite["id"]), "{rewrite:#}");
    }
    assert!(!replayed.path("calls.txt").exists(), "nobody was asked");
}

#[test]
fn what_cannot_be_read_and_what_a_gate_rejects_goes_back() {
    let (desk, model) = desk("learner");
    run(&desk, &model, &["--moves", "rewrites", "--rewrites", "1"]).exits_with(0);
    let rewrites = rewrites(&desk.report());
    let [(first, verdict), (last, _)] = rewrites.as_slice() else { panic!("{rewrites:?}") };
    assert!(first.ends_with(", repaired") && verdict == "rejected", "{rewrites:?}");
    assert!(last.ends_with(", repaired 2 times"), "{rewrites:?}");
    assert_eq!(desk.read("calls.txt"), "0\n1\n2\n");
}

#[test]
fn whatever_a_model_says_a_run_goes_on() {
    let (desk, model) = desk("useless");
    // A search with recipes may be over before all of it was said.
    let ran = run(&desk, &model, &["--moves", "rewrites", "--rewrites", "8"]);
    ran.exits_with(0);
    let calls = desk.read("calls.txt").lines().count();
    assert!(calls >= 8, "each way at least once: {calls}");
    let report = desk.report();
    assert!(rewrites(&report).is_empty(), "{:?}", rewrites(&report));
    let generation = &report["generation"];
    assert_eq!((&generation["right"], &generation["right_at_once"]), (&0.into(), &0.into()));
    assert!(!generation["unused"].as_array().unwrap().is_empty(), "{generation}");
    let warned = report["warnings"].to_string();
    assert!(warned.contains("the language model gave no answer"), "{warned}");
    assert!(!ran.printed().contains('\u{1b}'));
}

#[test]
fn a_folder_of_prompts_parks_the_run_until_somebody_has_answered() {
    let desk = Desk::tiny();
    let arguments = ["--model", "folder:prompts", "--rewrites", "2", "--seeds", "1"];
    let arguments = [arguments.as_slice(), &["--evaluations", "12", "--budget", "60s"]].concat();
    let parked = desk.run(desk.optimize(&arguments));
    parked.exits_with(5).says("prompts");
    let prompts: Vec<_> = files(&desk.path("prompts"), ".prompt.md");
    assert_eq!(prompts.len(), 2);
    let spent = desk.events("debited").len();

    // Nobody has answered yet.
    desk.run(desk.optimize(&arguments)).exits_with(5);
    assert_eq!(desk.events("debited").len(), spent, "what is left is kept for the answers");

    // In another order; one is late; one belongs to no question.
    let answer = |prompt: &str, text: &str| {
        desk.write(&format!("prompts/{}", prompt.replace(".prompt.", ".answer.")), text);
    };
    answer(&prompts[1], "```recipe\ntile BLOCK=64; warps 2; evict first x_ptr#3\n```\n");
    answer("0123456789abcdef.prompt.md", "```recipe\nwarps 8\n```\n");
    let ran = desk.run(desk.optimize(&arguments));
    ran.exits_with(5).says("0123456789abcdef.answer.md has no prompt beside it");
    answer(&prompts[0], "I would rather not.\n");
    let ran = desk.run(desk.optimize(&arguments));
    assert!(
        ran.printed().contains("prompts"),
        "an answer that cannot be read is asked about again"
    );
    let rewritten = || {
        let added = desk.events("candidate_added");
        added.iter().filter(|it| it["candidate"]["move"]["kind"] == "rewrite").count()
    };
    assert_eq!(rewritten(), 1);

    // Whoever does not want to wait any more has to say so.
    let id = desk.report()["run"]["id"].as_str().unwrap().to_owned();
    let forgot = desk.run(desk.optimize(&["--resume", &id]));
    forgot.exits_with(2).says("or end it with what it has by --finish");
    // What lies there by then is taken, and nothing more is asked.
    let all = files(&desk.path("prompts"), ".prompt.md");
    let again: Vec<_> = all.iter().filter(|name| !prompts.contains(name)).collect();
    answer(again[0], "```recipe\ntile BLOCK=64; warps 8; evict last x_ptr#3\n```\n");
    let finished = [arguments.as_slice(), &["--finish"]].concat();
    desk.run(desk.optimize(&finished)).exits_with(0);
    assert_eq!(desk.report()["run"]["id"], id.as_str());
    assert_eq!(rewritten(), 2);
    assert_eq!(files(&desk.path("prompts"), ".prompt.md"), all);
}

#[test]
fn a_run_that_another_command_left_in_the_folder_is_named() {
    let desk = Desk::tiny();
    let arguments = ["--model", "folder:prompts", "--rewrites", "1", "--seeds", "0"];
    desk.run(desk.optimize(&arguments)).exits_with(5);
    let left = desk.events("resumed").len();
    let other = [arguments.as_slice(), &["--seed", "2"]].concat();
    desk.run(desk.optimize(&other)).exits_with(5).says("was left unfinished in this folder");
    assert_eq!(desk.events("resumed").len(), left, "it begins anew");
}

fn files(folder: &Path, end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
    names.sort();
    names
}

/// A key is sent to its server and stands nowhere else, even where the server gives it back.
#[test]
fn a_key_is_found_nowhere() {
    const KEY: &str = "sk-very-secret-0123456789abcdef";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let mut sent = String::new();
        for stream in listener.incoming().take(1) {
            let mut stream = stream.unwrap();
            sent = request(&mut stream);
            let body = format!("{{\"error\": {{\"message\": \"the key {KEY} is not valid\"}}}}");
            let length = body.len();
            let head =
                "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close";
            write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        }
        sent
    });
    // The candidate tells what its process can see of the environment.
    let desk = Desk::tiny();
    let model = format!("openai:scripted@http://127.0.0.1:{port}/v1");
    // Without recipes the search waits for the answer; with them it may be over before.
    let only = ["--moves", "rewrites", "--rewrites", "1"];
    let mut command = desk.optimize(&[["--model", &model].as_slice(), &only].concat());
    command.env("KERNELBRAIN_MODEL_KEY", KEY).env("KERNELBRAIN_LOG", "trace");
    let ran = desk.run(command);
    ran.exits_with(0).says("the language model gave no answer");
    assert!(server.join().unwrap().contains(KEY), "the server needs it");
    assert!(!ran.printed().contains(KEY));
    let mut looked = 0;
    for entry in walk(desk.folder()) {
        // A write-ahead log may go while one looks.
        let Ok(bytes) = std::fs::read(&entry) else { continue };
        looked += 1;
        let found = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!found, "{}", entry.display());
    }
    assert!(looked > 5, "database, report, journal");
}

/// A whole HTTP request: whoever answers before it is read resets the connection.
fn request(stream: &mut TcpStream) -> String {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 1 << 14]);
    loop {
        let read = stream.read(&mut chunk).unwrap();
        bytes.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if read == 0 {
            return text;
        }
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().ok())?
        });
        if length.is_none_or(|length| body.len() >= length) {
            return text;
        }
    }
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let entries = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let below = |path: std::path::PathBuf| if path.is_dir() { walk(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_started() {
    let desk = Desk::tiny();
    let refused = |arguments: &[&str], words: &str| {
        desk.run(desk.optimize(arguments)).exits_with(2).says(words);
    };
    refused(&["--tokens", "1000"], "--tokens needs a language model: name one with --model");
    refused(&["--model", "gemini:x"], "no provider is called `gemini`");
    refused(&["--model", "anthropic:claude-sonnet-4-5"], "ANTHROPIC_API_KEY");
    refused(&["--model", "folder:p", "--usd", "3"], "without a price: add \"folder:p\" =");
    refused(
        &["--model", "command:./nobody --fast"],
        "there is no program ./nobody; check the path",
    );
    refused(&["--model", "command:no-such-agent"], "installed and on the PATH");
    refused(&["--model", "replay:20200101-000000-x-0000"], "no run 20200101-000000-x-0000");
    desk.write("kernelbrain.toml", "[model]\nname = \"command:touch owned\"\n");
    let by_file = ["--config", "kernelbrain.toml"];
    refused(&by_file, "files that come with a checkout may neither start programs");
    assert!(!desk.path("owned").exists());
}
