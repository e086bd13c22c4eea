//! The REST and GraphQL calls a bot needs, answered from the world by GitHub's rules.

mod app;
mod checks;
mod contents;
mod git_data;
mod graphql;
mod issues;
mod pulls;
mod reviews;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::state::{Pull, Repository};
use super::world::World;

/// A request, read.
pub struct Call {
    pub method: String,
    /// Below the API's prefix, with its query.
    pub path: String,
    pub accept: String,
    pub authorization: Option<String>,
    pub user_agent: Option<String>,
    pub git_protocol: Option<String>,
    pub if_none_match: Option<String>,
    pub body: Vec<u8>,
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

pub type Outcome = Result<Answer, Answer>;

impl Answer {
    pub fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string().into_bytes() }
    }

    pub fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    pub fn raw(kind: &str, body: Vec<u8>) -> Self {
        Self { status: 200, headers: vec![("content-type".into(), kind.into())], body }
    }

    pub fn error(status: u16, message: &str) -> Self {
        let body = json!({
            "message": message, "documentation_url": "https://docs.github.com/rest",
            "status": status.to_string(),
        });
        Self::json(status, &body)
    }

    /// 422 with its reasons.
    pub fn invalid(reasons: &[&str]) -> Self {
        let errors: Vec<Value> = reasons
            .iter()
            .map(|reason| {
                json!({ "resource": "Request", "code": "custom", "field": "body", "message": reason })
            })
            .collect();
        let body = json!({
            "message": "Validation Failed", "errors": errors,
            "documentation_url": "https://docs.github.com/rest", "status": "422",
        });
        Self::json(422, &body)
    }

    pub fn with(mut self, name: &str, value: String) -> Self {
        self.headers.push((name.to_owned(), value));
        self
    }
}

impl Call {
    pub fn bearer(&self) -> Option<String> {
        let given = self.authorization.as_ref()?;
        let text = given.strip_prefix("Bearer ").or_else(|| given.strip_prefix("token "))?;
        Some(text.to_owned())
    }

    /// The password of basic authentication, as git sends a token.
    pub fn basic_password(&self) -> Option<String> {
        let given = self.authorization.as_ref()?.strip_prefix("Basic ")?;
        let plain = String::from_utf8(STANDARD.decode(given).ok()?).ok()?;
        plain.strip_prefix("x-access-token:").map(str::to_owned)
    }

    pub fn query(&self, name: &str) -> Option<String> {
        let query = self.path.split_once('?')?.1;
        let pair = query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            (key == name).then_some(value)
        })?;
        Some(percent_decoded(&pair.replace('+', " ")))
    }

    pub fn segments(&self) -> Vec<String> {
        let path = self.path.split('?').next().unwrap_or_default();
        path.split('/').filter(|part| !part.is_empty()).map(percent_decoded).collect()
    }

    /// The body, which has to be a JSON object.
    pub fn input(&self) -> Result<Value, Answer> {
        if self.body.is_empty() {
            return Ok(json!({}));
        }
        serde_json::from_slice(&self.body)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| Answer::error(400, "Problems parsing JSON"))
    }
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match hex {
            Some(byte) if bytes[at] == b'%' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Longest body of a comment, review, issue or pull request, in characters.
const LONGEST: usize = 65_536;

pub fn answer(world: &mut World, call: &Call) -> Answer {
    if call.user_agent.is_none() {
        return Answer::error(
            403,
            "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
        );
    }
    let segments = call.segments();
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    let method = call.method.as_str();
    let found = app::answer(world, call, method, &path)
        .or_else(|| pulls::answer(world, call, method, &path))
        .or_else(|| reviews::answer(world, call, method, &path))
        .or_else(|| issues::answer(world, call, method, &path))
        .or_else(|| checks::answer(world, call, method, &path))
        .or_else(|| contents::answer(world, call, method, &path))
        .or_else(|| git_data::answer(world, call, method, &path))
        .or_else(|| graphql::answer(world, call, method, &path));
    match found {
        Some(Ok(answer) | Err(answer)) => answer,
        None => Answer::error(404, "Not Found"),
    }
}

/// One page of a list, with GitHub's `Link` header.
pub fn page(world: &World, call: &Call, items: Vec<Value>) -> Answer {
    page_of(world, call, items, |items| Value::Array(items.to_vec()))
}

pub fn page_of(
    world: &World,
    call: &Call,
    items: Vec<Value>,
    shape: impl Fn(&[Value]) -> Value,
) -> Answer {
    let number = |name, otherwise: usize| {
        call.query(name).and_then(|text| text.parse().ok()).unwrap_or(otherwise).max(1)
    };
    let (size, at) = (number("per_page", 30).min(100), number("page", 1));
    let last = items.len().div_ceil(size).max(1);
    let first = (at - 1) * size;
    let shown = items.iter().skip(first).take(size).cloned().collect::<Vec<_>>();
    let answer = Answer::json(200, &shape(&shown));
    let link = |rel: &str, to: usize| format!("<{}>; rel=\"{rel}\"", page_address(world, call, to));
    let mut links = Vec::new();
    if at > 1 {
        links.extend([link("prev", at - 1), link("first", 1)]);
    }
    if at < last {
        links.extend([link("next", at + 1), link("last", last)]);
    }
    if links.is_empty() { answer } else { answer.with("link", links.join(", ")) }
}

fn page_address(world: &World, call: &Call, to: usize) -> String {
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    let kept = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("page="));
    let query: Vec<String> = kept.map(str::to_owned).chain([format!("page={to}")]).collect();
    format!("{}{path}?{}", world.api, query.join("&"))
}

pub fn text<'a>(input: &'a Value, field: &str) -> Option<&'a str> {
    input.get(field).and_then(Value::as_str)
}

pub fn required<'a>(input: &'a Value, field: &str) -> Result<&'a str, Answer> {
    text(input, field).ok_or_else(|| {
        Answer::error(422, &format!("Invalid request.\n\n\"{field}\" wasn't supplied."))
    })
}

/// The body of something people read: there, not blank, not too long.
pub fn readable<'a>(input: &'a Value, field: &str) -> Result<&'a str, Answer> {
    let body = required(input, field)?;
    if body.trim().is_empty() {
        return Err(Answer::invalid(&["body can't be blank"]));
    }
    short_enough(body)?;
    Ok(body)
}

pub fn short_enough(body: &str) -> Result<(), Answer> {
    if body.chars().count() > LONGEST {
        return Err(Answer::invalid(&["body is too long (maximum is 65536 characters)"]));
    }
    Ok(())
}

/// The pull request a path names.
pub fn pull_at(world: &World, repository: u64, number: &str) -> Result<(u64, Pull), Answer> {
    number
        .parse()
        .ok()
        .and_then(|number| Some((number, world.pull(repository, number)?.clone())))
        .ok_or_else(|| Answer::error(404, "Not Found"))
}

pub fn repository(world: &World, id: u64) -> &Repository {
    world.by_id(id).unwrap()
}
