//! Git over HTTP, the reading half: protocol version 0 (stateless) and 2.

use std::collections::HashSet;

use git2::{ObjectType, Oid, Repository as Git};

use super::api::{Answer, Call};
use super::state::Repository;
use super::world::World;

const CAPABILITIES: &str = "multi_ack_detailed no-done side-band side-band-64k shallow \
    no-progress allow-tip-sha1-in-want allow-reachable-sha1-in-want allow-any-sha1-in-want \
    object-format=sha1 agent=git/mock";
/// Data of one side-band packet.
const CHUNK: usize = 65_515;

/// Answers if the address is a repository's; None for everything of the API.
pub fn answer(world: &World, call: &Call) -> Option<Answer> {
    let segments = call.segments();
    let [owner, name, rest @ ..] = segments.as_slice() else { return None };
    let name = name.strip_suffix(".git")?;
    let repository = match reach(world, call, owner, name) {
        Ok(repository) => repository,
        Err(refusal) => return Some(refusal),
    };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let version_2 = call.git_protocol.as_deref().is_some_and(|text| text.contains("version=2"));
    Some(match (call.method.as_str(), rest.as_slice()) {
        ("GET", ["info", "refs"])
            if call.query("service").as_deref() == Some("git-upload-pack") =>
        {
            let body = if version_2 { capabilities_2() } else { advertisement(repository) };
            Answer::raw("application/x-git-upload-pack-advertisement", body)
        }
        ("POST", ["git-upload-pack"]) => {
            let body =
                if version_2 { speak_2(repository, call) } else { speak_0(repository, call) };
            Answer::raw("application/x-git-upload-pack-result", body)
        }
        _ => Answer::error(403, "This mock gives, it does not take"),
    })
}

fn reach<'a>(
    world: &'a World,
    call: &Call,
    owner: &str,
    name: &str,
) -> Result<&'a Repository, Answer> {
    let unauthorised = || {
        Answer::error(401, "Authentication failed")
            .with("www-authenticate", "Basic realm=\"GitHub\"".into())
    };
    let repository = world.by_name(owner, name);
    if call.authorization.is_none() {
        return repository.filter(|one| !one.private).ok_or_else(unauthorised);
    }
    let token = world.token(call).map_err(|_| unauthorised())?;
    let repository = repository.ok_or_else(|| Answer::error(404, "Repository not found."))?;
    if !world.reaches(token, repository.id) {
        let public = !repository.private;
        return public
            .then_some(repository)
            .ok_or_else(|| Answer::error(404, "Repository not found."));
    }
    if !token.permissions.contains_key("contents") {
        return Err(Answer::error(403, "Resource not accessible by integration"));
    }
    Ok(repository)
}

// Packets.

fn line(out: &mut Vec<u8>, text: &str) {
    data(out, text.as_bytes());
}

fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(format!("{:04x}", bytes.len() + 4).as_bytes());
    out.extend_from_slice(bytes);
}

fn flush(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0000");
}

fn delimiter(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0001");
}

/// The lines of a request, without their newlines.
fn read_lines(mut body: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(length) = body.get(..4) {
        let length =
            std::str::from_utf8(length).ok().and_then(|t| usize::from_str_radix(t, 16).ok());
        let Some(length) = length else { break };
        let length = length.max(4).min(body.len());
        if length > 4 {
            let text = String::from_utf8_lossy(&body[4..length]);
            lines.push(text.trim_end_matches('\n').to_owned());
        }
        body = &body[length..];
    }
    lines
}

fn references(repository: &Repository) -> Vec<(Oid, String)> {
    let git = repository.git();
    let mut all = Vec::new();
    if let Some(head) = repository.branch(&repository.default_branch) {
        all.push((head, "HEAD".to_owned()));
    }
    for one in git.references().unwrap().flatten() {
        if let (Some(at), Ok(name)) = (one.target(), one.name()) {
            all.push((at, name.to_owned()));
        }
    }
    all
}

fn advertisement(repository: &Repository) -> Vec<u8> {
    let mut out = Vec::new();
    line(&mut out, "# service=git-upload-pack\n");
    flush(&mut out);
    let all = references(repository);
    let capabilities =
        format!("{CAPABILITIES} symref=HEAD:refs/heads/{}", repository.default_branch);
    if all.is_empty() {
        line(&mut out, &format!("{} capabilities^{{}}\0{capabilities}\n", Oid::ZERO_SHA1));
    }
    for (at, (id, name)) in all.iter().enumerate() {
        let more = if at == 0 { format!("\0{capabilities}") } else { String::new() };
        line(&mut out, &format!("{id} {name}{more}\n"));
    }
    flush(&mut out);
    out
}

fn capabilities_2() -> Vec<u8> {
    let mut out = Vec::new();
    line(&mut out, "# service=git-upload-pack\n");
    flush(&mut out);
    for text in [
        "version 2\n",
        "agent=git/mock\n",
        "ls-refs=unborn\n",
        "fetch=shallow\n",
        "object-format=sha1\n",
    ] {
        line(&mut out, text);
    }
    flush(&mut out);
    out
}

/// What a client asks for, in either version.
#[derive(Default)]
struct Wish {
    wants: Vec<Oid>,
    haves: Vec<Oid>,
    shallow: HashSet<Oid>,
    depth: Option<usize>,
    done: bool,
    side_band: bool,
}

fn wish(lines: &[String]) -> Result<Wish, String> {
    let mut wish = Wish::default();
    for text in lines {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let id = || Oid::from_str(rest.split(' ').next().unwrap_or_default());
        match word {
            "want" => {
                wish.wants.push(id().map_err(|_| format!("protocol error, expected oid: {rest}"))?);
                wish.side_band |= rest.contains("side-band-64k");
            }
            "have" => wish.haves.extend(id().ok()),
            "shallow" => wish.shallow.extend(id().ok()),
            "deepen" => wish.depth = rest.parse().ok(),
            "done" => wish.done = true,
            _ => {}
        }
    }
    Ok(wish)
}

fn refuse(out: &mut Vec<u8>, why: &str) {
    line(out, &format!("ERR upload-pack: {why}"));
}

fn speak_0(repository: &Repository, call: &Call) -> Vec<u8> {
    let (git, mut out) = (repository.git(), Vec::new());
    let wish = match wish(&read_lines(&call.body)).and_then(|wish| known(&git, wish)) {
        Ok(wish) => wish,
        Err(why) => {
            refuse(&mut out, &why);
            return out;
        }
    };
    let parcel = Parcel::of(&git, &wish);
    if wish.depth.is_some() {
        for id in &parcel.shallow {
            line(&mut out, &format!("shallow {id}\n"));
        }
        flush(&mut out);
    }
    // A client that has said nothing of what it has yet only wants to hear what will be shallow.
    if wish.done || !wish.haves.is_empty() {
        line(&mut out, "NAK\n");
    }
    if wish.done {
        let pack = parcel.pack(&git);
        if wish.side_band { side_band(&mut out, &pack) } else { out.extend_from_slice(&pack) }
    }
    out
}

fn speak_2(repository: &Repository, call: &Call) -> Vec<u8> {
    let (git, mut out) = (repository.git(), Vec::new());
    let lines = read_lines(&call.body);
    if lines.iter().any(|text| text == "command=ls-refs") {
        let prefixes: Vec<&str> =
            lines.iter().filter_map(|text| text.strip_prefix("ref-prefix ")).collect();
        for (id, name) in references(repository) {
            if prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                line(&mut out, &format!("{id} {name}\n"));
            }
        }
        flush(&mut out);
        return out;
    }
    let wish = match wish(&lines).and_then(|wish| known(&git, wish)) {
        Ok(wish) => wish,
        Err(why) => {
            refuse(&mut out, &why);
            return out;
        }
    };
    if !wish.done {
        line(&mut out, "acknowledgments\n");
        for id in wish.haves.iter().filter(|id| git.find_commit(**id).is_ok()) {
            line(&mut out, &format!("ACK {id}\n"));
        }
        line(&mut out, "ready\n");
        delimiter(&mut out);
    }
    let parcel = Parcel::of(&git, &wish);
    if wish.depth.is_some() {
        line(&mut out, "shallow-info\n");
        for id in &parcel.shallow {
            line(&mut out, &format!("shallow {id}\n"));
        }
        delimiter(&mut out);
    }
    line(&mut out, "packfile\n");
    side_band(&mut out, &parcel.pack(&git));
    out
}

/// Any commit of the network may be wanted by its SHA, as on GitHub.
fn known(git: &Git, wish: Wish) -> Result<Wish, String> {
    match wish.wants.iter().find(|want| git.find_commit(**want).is_err()) {
        Some(missing) => Err(format!("not our ref {missing}")),
        None => Ok(wish),
    }
}

fn side_band(out: &mut Vec<u8>, pack: &[u8]) {
    for chunk in pack.chunks(CHUNK) {
        data(out, &[&[1], chunk].concat());
    }
    flush(out);
}

/// What goes into a pack.
struct Parcel {
    objects: Vec<Oid>,
    /// Commits whose parents are left out.
    shallow: Vec<Oid>,
}

impl Parcel {
    fn of(git: &Git, wish: &Wish) -> Self {
        let mut there = HashSet::new();
        let mut behind: Vec<Oid> = wish.haves.clone();
        while let Some(id) = behind.pop() {
            let Ok(commit) = git.find_commit(id) else { continue };
            if there.insert(id) {
                objects_of(git, commit.tree_id(), &mut there, &mut Vec::new());
                if !wish.shallow.contains(&id) {
                    behind.extend(commit.parent_ids());
                }
            }
        }
        let (mut objects, mut shallow) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        let mut level = wish.wants.clone();
        let mut depth = 1;
        while !level.is_empty() {
            let last = wish.depth.is_some_and(|most| depth >= most);
            let mut next = Vec::new();
            for id in level {
                if !seen.insert(id) {
                    continue;
                }
                let commit = git.find_commit(id).unwrap();
                if last && commit.parent_count() > 0 {
                    shallow.push(id);
                }
                if there.insert(id) {
                    objects.push(id);
                    objects_of(git, commit.tree_id(), &mut there, &mut objects);
                }
                if !last {
                    next.extend(commit.parent_ids());
                }
            }
            level = next;
            depth += 1;
        }
        Self { objects, shallow }
    }

    fn pack(&self, git: &Git) -> Vec<u8> {
        let mut builder = git.packbuilder().unwrap();
        for id in &self.objects {
            builder.insert_object(*id, None).unwrap();
        }
        let mut pack = Vec::new();
        builder
            .foreach(|bytes| {
                pack.extend_from_slice(bytes);
                true
            })
            .unwrap();
        pack
    }
}

/// Adds a tree and what is below it, except what is `there` already.
fn objects_of(git: &Git, tree: Oid, there: &mut HashSet<Oid>, into: &mut Vec<Oid>) {
    if !there.insert(tree) {
        return;
    }
    into.push(tree);
    for entry in git.find_tree(tree).unwrap().iter() {
        match entry.kind() {
            Some(ObjectType::Tree) => objects_of(git, entry.id(), there, into),
            Some(ObjectType::Blob) if there.insert(entry.id()) => into.push(entry.id()),
            // What is there already; or a submodule's commit, which lives elsewhere.
            _ => {}
        }
    }
}
