//! What the documentation promises is what the program does: examples parse, lists are complete, and
//! what is shown of an output is that output.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use kernelbrain::{
    engine::project::Project,
    service::{
        command::{COMMANDS, PREFIX},
        config::{Environment, ServerConfig},
        event::{self, Event},
    },
};
use pulldown_cmark::{Event as Markdown, Tag};

const TABLES: [&str; 4] = ["github", "server", "policy", "runner"];

/// Keys that have no default worth showing: the page gives an example and says so.
const EXAMPLES: [(&str, &str); 8] = [
    ("github", "app_id"),
    ("github", "private_key_file"),
    ("github", "webhook_secret_file"),
    ("github", "git"),
    ("server", "details_url"),
    ("runner", "name"),
    ("runner", "service"),
    ("runner", "secret_file"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn page() -> String {
    read("docs/github-app.md")
}

/// What stands between two lines of the page.
fn between<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let start = page.find(from).unwrap_or_else(|| panic!("no {from:?}")) + from.len();
    let length = page[start..].find(to).unwrap_or_else(|| panic!("no {to:?} after {from:?}"));
    page[start..start + length].trim_matches('\n')
}

fn documented_configuration() -> String {
    between(&page(), "```toml\n# kernelbrain-server.toml\n", "```").to_owned()
}

fn parsed(text: &str) -> Result<ServerConfig, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernelbrain-server.toml");
    std::fs::write(&file, text).unwrap();
    let nothing = Environment::of([]);
    ServerConfig::read(Some(&file), &nothing).map_err(|error| error.to_string())
}

/// The keys of a table as the parser knows them: it lists them when it meets another.
fn keys_of(table: &str) -> BTreeSet<String> {
    let error = parsed(&format!("[{table}]\nno_such_key = 1\n")).unwrap_err();
    let (_, listed) = error.split_once("expected one of ").unwrap();
    let keys = listed.split('`').skip(1).step_by(2);
    keys.map(str::to_owned).collect()
}

#[test]
fn the_documented_configuration_is_the_default_but_for_its_examples() {
    let text = documented_configuration();
    parsed(&text).unwrap();
    let mut table: toml::Table = toml::from_str(&text).unwrap();
    for (section, key) in EXAMPLES {
        let line = text.lines().find(|line| line.starts_with(&format!("{key} = ")));
        assert!(line.is_some_and(|line| line.contains("# example")), "{key} is not marked");
        table[section].as_table_mut().unwrap().remove(key).unwrap();
    }
    let rest = parsed(&table.to_string()).unwrap();
    let default = ServerConfig::default();
    assert_eq!(format!("{:?}", rest.github), format!("{:?}", default.github));
    assert_eq!(format!("{:?}", rest.server), format!("{:?}", default.server));
    assert_eq!(format!("{:?}", rest.policy), format!("{:?}", default.policy));
    assert_eq!(format!("{:?}", rest.runner), format!("{:?}", default.runner));
}

#[test]
fn every_key_of_the_configuration_is_documented() {
    let written: toml::Table = toml::from_str(&documented_configuration()).unwrap();
    let tables: BTreeSet<&str> = written.keys().map(String::as_str).collect();
    assert_eq!(tables, BTreeSet::from(TABLES));
    for table in TABLES {
        let documented: BTreeSet<String> =
            written[table].as_table().unwrap().keys().cloned().collect();
        let known = keys_of(table);
        assert!(known.len() > 4, "{table}: {known:?}");
        assert_eq!(documented, known, "[{table}]");
    }
}

#[test]
fn every_variable_that_overrides_the_configuration_is_documented() {
    let source = read("src/service/config/mod.rs") + &read("src/service/config/secrets.rs");
    // Names of variables are the only literals of capitals there.
    let named =
        source.split('"').skip(1).step_by(2).filter(|text| {
            text.len() > 4 && text.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        });
    let named: BTreeSet<String> = named.map(|name| format!("| `{name}` |")).collect();
    assert!(named.len() >= 8, "{named:?}");
    let page = page();
    for name in named {
        assert!(page.contains(&name), "{name} is not in the table of variables");
    }
}

#[test]
fn the_commands_are_those_that_the_parser_knows() {
    let mut table = String::from("| command | what it does |\n| --- | --- |");
    for command in COMMANDS {
        let usage = format!("{PREFIX} {} {}", command.name, command.arguments);
        table += &format!("\n| `{}` | {} |", usage.trim_end(), command.what);
    }
    assert_eq!(between(&page(), "<!-- commands -->", "<!-- end -->"), table);
}

#[test]
fn the_kernels_that_are_shown_are_a_configuration() {
    for file in ["docs/github-app.md", "docs/contracts.md"] {
        let text = read(file);
        let shown = between(&text, "```toml\n[[kernel]]", "```");
        let project: Project = toml::from_str(&format!("[[kernel]]\n{shown}")).unwrap();
        assert_eq!(project.kernels.len(), 1, "{file}");
        assert!(!project.kernels[0].depends.is_empty(), "{file}");
    }
}

#[test]
fn the_shown_comment_is_one_that_is_made() {
    let page = page();
    let shown = between(&page, "<!-- comment -->", "<!-- end -->");
    let made = read(
        "src/report/tests/pull_request/snapshots/\
         kernelbrain__report__tests__pull_request__comment_suggestion.snap",
    );
    let mut ahead = made.lines();
    let mut lines = 0;
    for line in shown.lines().map(|line| line.trim_start_matches('>').trim()) {
        assert!(
            line.is_empty() || ahead.any(|made| made == line),
            "not made, or not there: {line}"
        );
        lines += 1;
    }
    assert!(lines > 5, "{lines} lines are shown");
}

#[test]
fn the_app_is_sent_the_events_that_are_acted_on() {
    let page = page();
    let manifest =
        between(&page, "<textarea name=\"manifest\" rows=\"30\" cols=\"80\">", "</textarea>");
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap();
    let events = manifest["default_events"].as_array().unwrap();
    // An empty body is no event that is acted on, but is not passed over either.
    let is_read = |name: &str| event::read(name, b"{}").is_err();
    for event in events {
        assert!(is_read(event.as_str().unwrap()), "{event} is of no use");
    }
    assert!(matches!(event::read("push", b"{}"), Ok(Event::Ignored(_))));
    // Sent to every App, asked for or not.
    let unasked = "installation";
    let source = read("src/service/event.rs");
    let arms = source.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" =>"));
    let acted_on: BTreeSet<&str> =
        arms.map(|(name, _)| name).filter(|name| is_read(name) && *name != unasked).collect();
    let asked_for: BTreeSet<&str> = events.iter().filter_map(|event| event.as_str()).collect();
    assert_eq!(asked_for, acted_on);
}

#[test]
fn files_that_the_documentation_links_to_are_there() {
    let mut links = 0;
    for file in ["README.md", "docs/github-app.md", "docs/design.md", "docs/contracts.md"] {
        let text = read(file);
        let folder = root().join(file).parent().unwrap().to_owned();
        for event in pulldown_cmark::Parser::new(&text) {
            let Markdown::Start(Tag::Link { dest_url: target, .. }) = event else { continue };
            let path = target.split('#').next().unwrap();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            assert!(folder.join(path).exists(), "{file} links to {target}");
            links += 1;
        }
    }
    assert!(links > 20, "{links} links");
}

#[test]
fn the_threat_model_names_files_that_are_there() {
    let page = page();
    let model = between(&page, "## 6. Threat model", "## 7.");
    let named = model.split('`').skip(1).step_by(2);
    let files = named.filter(|name| name.ends_with(".rs") && name.contains('/'));
    let mut seen = 0;
    for file in files {
        // Several of one room are named in short.
        let known = ["src", "src/service"];
        assert!(known.iter().any(|room| root().join(room).join(file).exists()), "{file}");
        seen += 1;
    }
    assert!(seen > 10, "{seen} files");
}
