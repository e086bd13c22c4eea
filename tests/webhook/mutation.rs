//! Real payloads gone wrong: fields that are missing, of another type, absurd; bytes that are no JSON.

use rand::{Rng, seq::IndexedRandom as _};
use serde_json::{Value, json};

/// Changes up to four things in a payload.
pub(crate) fn mutated(body: &[u8], random: &mut impl Rng) -> Vec<u8> {
    let mut payload: Value = serde_json::from_slice(body).unwrap();
    for _ in 0..random.random_range(1..=4) {
        mutate(&mut payload, random);
    }
    let mut bytes = payload.to_string().into_bytes();
    // One in eight is damaged below JSON as well.
    match random.random_range(0..16) {
        0 => bytes.truncate(random.random_range(0..bytes.len())),
        1 => {
            let at = random.random_range(0..bytes.len());
            bytes[at] = random.random();
        }
        _ => {}
    }
    bytes
}

/// Goes down to some place, rather one near the top, and changes it.
fn mutate(value: &mut Value, random: &mut impl Rng) {
    let deeper = random.random_bool(0.7);
    match value {
        Value::Object(object) if !object.is_empty() => {
            let names: Vec<String> = object.keys().cloned().collect();
            // Those that the service reads get more than their share.
            let read = names.iter().filter(|name| READ.contains(&name.as_str())).cloned();
            let read: Vec<String> = read.collect();
            let among = if random.random_bool(0.7) && !read.is_empty() { &read } else { &names };
            let name = among.choose(random).unwrap();
            if deeper {
                mutate(&mut object[name.as_str()], random);
            } else {
                match random.random_range(0..3) {
                    0 => drop(object.remove(name)),
                    1 => drop(object.insert(name.to_uppercase(), nonsense(random))),
                    _ => object[name.as_str()] = nonsense(random),
                }
            }
        }
        Value::Array(array) if !array.is_empty() && deeper => {
            let at = random.random_range(0..array.len());
            mutate(&mut array[at], random);
        }
        other => *other = nonsense(random),
    }
}

const READ: [&str; 21] = [
    "action",
    "number",
    "label",
    "name",
    "repository",
    "id",
    "full_name",
    "installation",
    "sender",
    "login",
    "type",
    "issue",
    "pull_request",
    "comment",
    "body",
    "check_run",
    "external_id",
    "requested_action",
    "identifier",
    "head",
    "labels",
];

fn nonsense(random: &mut impl Rng) -> Value {
    let simple = [
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MAX),
        json!(1.5),
        json!(1e300),
        json!(""),
        json!("Bot"),
        json!("dependabot[bot]"),
        json!("optimize-kernel"),
        json!("/kernelbrain optimize budget=99999999999999999999h"),
        json!("/kernelbrain cancel\n\n/kernelbrain commit"),
        json!("created"),
        json!("labeled"),
        json!("synchronize"),
        json!("../../app"),
        json!("a/b/c?d#e%2f"),
        json!("\u{0}\r\n\u{202e}ünïcode 🧨"),
        json!("x".repeat(100_000)),
        json!([]),
        json!({}),
        json!([[[{ "id": 1 }]]]),
    ];
    simple.choose(random).unwrap().clone()
}
